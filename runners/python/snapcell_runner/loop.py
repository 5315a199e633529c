"""Top-level await: one event loop for a context, made when the first run waits."""
from .late import late_import


class Loop:
    def __init__(self):
        self._loop = None

    def run(self, program, namespace):
        """Runs body and last expression in one task, and returns the expression's value."""
        loop = self._ready()
        task = loop.create_task(_as_coroutine(program, namespace))
        try:
            return loop.run_until_complete(task)
        except BaseException:
            self._drop(task)
            raise

    def _ready(self):
        if self._loop is None or self._loop.is_closed():
            asyncio = late_import("asyncio")
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop

    def _drop(self, task):
        """An interrupted task must not go on in the next run."""
        if task.done():
            if not task.cancelled():
                task.exception()  # Asked for, so that the loop does not complain about it, too.
            return
        task.cancel()
        try:
            self._loop.run_until_complete(task)
        except BaseException:
            pass  # What it says to its end is not what ended the run.


async def _as_coroutine(program, namespace):
    for code in (program.body, program.last):
        value = None
        if code is not None:
            value = eval(code, namespace)
            if code.co_flags & program.CO_COROUTINE:
                value = await value
    return value
