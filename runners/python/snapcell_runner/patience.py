"""Bounds in time for code that objects bring along, such as a __repr__. A loop that never comes back to the interpreter
(in C) cannot be ended from here; the supervisor's limits end it."""
import signal
import threading
import time

ONE_S = 1.0
AGAIN_S = 0.05
_signal, _setitimer, _monotonic, _get_ident = signal.signal, signal.setitimer, time.monotonic, threading.get_ident
_ALARM, _TIMER = signal.SIGALRM, signal.ITIMER_REAL
_main_thread = threading.main_thread().ident


class TimedOut(BaseException):
    """Not an Exception: what is bounded often catches those."""


def _ring(_number, _frame):
    raise TimedOut


def _quiet(handler, remaining, interval):
    _setitimer(_TIMER, 0)
    _signal(_ALARM, signal.SIG_DFL if handler is None else handler)
    if remaining:
        # The program's own alarm goes on, late by what was spent here.
        _setitimer(_TIMER, remaining, interval)


def within(seconds, function, *arguments):
    """function(*arguments); raises TimedOut after `seconds`. Only the main thread can be bounded."""
    if _get_ident() != _main_thread:
        return function(*arguments)
    handler = _signal(_ALARM, _ring)
    # Again and again, for the first may be caught by what is bounded.
    remaining, interval = _setitimer(_TIMER, seconds, AGAIN_S)
    try:
        try:
            return function(*arguments)
        finally:
            _quiet(handler, remaining, interval)
    except TimedOut:
        # It may have come in the midst of making quiet.
        _quiet(handler, remaining, interval)
        raise


class Patience:
    """A second for each object, and `total_s` for all together."""

    def __init__(self, total_s):
        self._left_s = total_s

    def call(self, function, *arguments):
        """As `within`."""
        if self._left_s <= 0:
            raise TimedOut
        began = _monotonic()
        try:
            return within(min(ONE_S, self._left_s), function, *arguments)
        finally:
            self._left_s -= _monotonic() - began
