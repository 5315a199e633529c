"""The fork library, runners/fork/fork.h, which lies beside the runners."""
import ctypes
import os

from .carried import NotForkable

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "fork", "libsnapcell-fork.so")
END, CHILD, PARENT = 0, 1, 2
_Refuse = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


class _Hooks(ctypes.Structure):
    _fields_ = [("refuse", _Refuse), ("before", ctypes.c_void_p), ("parent", ctypes.c_void_p),
                ("idle_threads", ctypes.c_int)]


class Birth(ctypes.Structure):
    """What a child is told of its birth."""

    _fields_ = [("randomness", ctypes.c_uint8 * 64), ("wall_ns", ctypes.c_int64), ("has_runner", ctypes.c_int32),
                ("has_socket", ctypes.c_int32)]


class Library:
    """refuse() returns a text when the process cannot be forked, else None."""

    def __init__(self, refuse):
        try:
            # PyDLL: the interpreter's lock is kept, as for os.fork.
            self._library = ctypes.PyDLL(os.path.normpath(PATH))
        except OSError as error:
            raise NotForkable("the fork library cannot be loaded: %s" % error) from None
        python = ctypes.pythonapi

        def refuse_in_c(reason, size):
            words = refuse()
            if words is None:
                return 0
            told = words.encode("utf-8", "replace")[:size - 1] + b"\0"
            ctypes.memmove(reason, told, len(told))
            return 1
        self._hooks = _Hooks(_Refuse(refuse_in_c), _address(python.PyOS_BeforeFork), _address(python.PyOS_AfterFork_Parent), 0)

    def take(self, socket):
        """Waits for one order and carries it out. Returns END, CHILD or PARENT, and the Birth if it is the child."""
        birth = Birth()
        got = self._library.sc_fork_take(socket, ctypes.byref(self._hooks), ctypes.byref(birth))
        if got < 0:
            raise OSError(-got, os.strerror(-got))
        return got, birth


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p)
