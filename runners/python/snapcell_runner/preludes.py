"""What a template has loaded before the first run."""
from .program import source_text
from .tracebacks import describe

PRELUDE_NAME = "<prelude>"


def load_prelude(prelude, run):
    """Loads one piece, code by run(text). Returns the answer; an error is told, whatever it is."""
    try:
        text = source_text(prelude.body)
        if prelude.kind == "import":
            __import__(text)
        else:
            run(text)
    except BaseException as error:
        if error.__traceback__ is not None and prelude.kind == "import":
            # From the module's first line on.
            error = error.with_traceback(error.__traceback__.tb_next)
        return {"op": "prelude", "status": "error", "error": describe(error, PRELUDE_NAME)}
    return {"op": "prelude", "status": "ok", "error": None}
