"""What is said about an exception: the program's frames and lines, and none of the runner's."""
import os
import traceback

from .forms import OneSecond
from .patience import TimedOut, within
from .texts import cut

TRACEBACK_MAX = 64 << 10
MESSAGE_MAX = 16 << 10
SECONDS = 3.0
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
CHAIN_MAX = 100
_PROGRAM = ("<run ", "<prelude>")


def describe(error, file_name):
    """`error` of the protocol. `file_name` is the run's."""
    try:
        trace, line = within(SECONDS, _formatted, error, file_name)
    except TimedOut:
        trace, line = "%s: <traceback timed out>\n" % type(error).__name__, None
    except BaseException as trouble:
        trace, line = "%s: <traceback failed: %s>\n" % (type(error).__name__, type(trouble).__name__), None
    return {"name": cut(type(error).__name__, 200), "message": _message(error, file_name), "traceback": _halves(trace),
            "line": line}


def _words(error, file_name):
    """What str() says; of wrong code in this run without file and line, which are told beside it."""
    if type(error) in (SyntaxError, IndentationError, TabError) and error.filename == file_name and type(error.msg) is str:
        return error.msg
    return str(error)


def _message(error, file_name):
    try:
        return cut(str.__str__(OneSecond.call(_words, error, file_name)), MESSAGE_MAX)
    except TimedOut:
        return "<str timed out>"
    except BaseException as trouble:
        return "<str failed: %s>" % type(trouble).__name__


def _formatted(error, file_name):
    if error.__traceback__ is None:
        # It is about the text: nothing ran.
        lines = traceback.format_exception_only(type(error), error)
        return "".join(lines), getattr(error, "lineno", None)
    told = traceback.TracebackException(type(error), error, error.__traceback__)
    _prune(told)
    line = next((frame.lineno for frame in reversed(told.stack) if frame.filename == file_name), None)
    return "".join(told.format()), line


def _prune(told):
    """Takes the runner's frames out of it and of all that it is chained to."""
    waiting, seen = [told], set()
    while waiting and len(seen) < CHAIN_MAX:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack = traceback.StackSummary.from_list(_from_program(one.stack))
        waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]


def _from_program(stack):
    """Without the runner, and without what stands between it and the program: the event loop."""
    frames = list(stack)
    own = [at for at, frame in enumerate(frames) if frame.filename.startswith(_OWN)]
    if own and own[0] == 0:
        first = next((at for at, frame in enumerate(frames) if frame.filename.startswith(_PROGRAM)), len(frames))
        frames = frames[first:]
    return [frame for frame in frames if not frame.filename.startswith(_OWN)]


def _halves(text):
    if len(text) <= TRACEBACK_MAX:
        return text
    half = TRACEBACK_MAX // 2 - 20
    return text[:half] + "\n[... cut ...]\n" + text[-half:]
