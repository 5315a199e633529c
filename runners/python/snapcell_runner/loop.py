"""Top-level await: one event loop for a context, made when the first run waits."""
import signal

from .late import late_import

# Of asyncio's loops on selectors: what they keep open, and what makes it.
_OWN = ("_selector", "_ssock", "_csock", "_internal_fds", "_make_self_pipe", "_signal_handlers")


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

    # ---- forks: memory goes along, tasks and timers with it, but no descriptor ----

    @property
    def descriptors(self):
        """The loop's own, if it is one that can be made anew."""
        if not self._is_open():
            return set()
        return {self._loop._selector.fileno(), self._loop._ssock.fileno(), self._loop._csock.fileno()}

    def _is_open(self):
        loop = self._loop
        return loop is not None and not loop.is_closed() and all(hasattr(loop, name) for name in _OWN)

    def forget(self):
        """In a fork, before anything is opened at a low number: what the loop knows are numbers that will be others'."""
        if not self._is_open():
            return
        self._loop._ssock.detach()
        self._loop._csock.detach()
        try:
            self._loop._selector.close()
        except OSError:
            pass  # It has been closed.

    def renew(self):
        """In a fork, when all else is open again."""
        if not self._is_open():
            return
        loop = self._loop
        loop._selector = late_import("selectors").DefaultSelector()
        loop._internal_fds -= 1
        loop._make_self_pipe()
        if loop._signal_handlers:
            signal.set_wakeup_fd(loop._csock.fileno())

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
