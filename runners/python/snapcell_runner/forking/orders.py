"""Orders to fork, which come on a socket of their own (docs/runner-protocol.md)."""
import ctypes
import os
import select
import sys

from ..channel import high_copy
from . import carried
from .apart import Apart
from .carried import NotForkable
from .library import CHILD, END, Library

CANNOT_COMPLY = 70
RUNNER_FD, SOCKET_FD = 3, 4


class Orders:
    def __init__(self, fd, between_runs):
        self._fd = fd
        self._between_runs = between_runs
        self._library = None
        self._context = None
        self._is_zygote = False
        self._apart = None
        self._refusal = None
        self._files = []
        self._folder = None
        self._is_to_be_zygote = False

    @classmethod
    def take(cls, fd, between_runs):
        """Takes descriptor `fd`. `between_runs`: orders are answered there, as a session's are."""
        orders = cls(high_copy(fd), between_runs)
        _reserve()
        return orders

    # ---- zygotes ----

    def prepare(self, context):
        """Looks at all that could hinder a fork, once: nothing changes from here on. Raises NotForkable."""
        self._context = context
        self._library = Library(lambda: self._refusal)
        self._is_to_be_zygote = True
        self._look()
        self._apart = Apart(instances=True)
        context.before_fork()
        self._is_zygote = True

    def serve(self, channel):
        """Carries out orders until the socket's end: then returns False; in each fork returns True."""
        while True:
            got = self._take(channel)
            if got in (END, CHILD):
                return got == CHILD

    # ---- sessions ----

    def answer_until_readable(self, context, channel):
        """Carries out orders until there is something to read for `channel`."""
        while self._between_runs and not channel.holds_something:
            poll = select.poll()
            poll.register(channel.fileno(), select.POLLIN)
            poll.register(self._fd, select.POLLIN)
            ready = {fd for fd, _ in poll.poll()}
            if channel.fileno() in ready:
                return
            self._answer_one(context, channel)

    def _answer_one(self, context, channel):
        self._context = context
        if self._library is None:
            self._library = Library(lambda: self._refusal)
        self._refusal = self._hindrance()
        if self._take(channel) == END:
            os.close(self._fd)
            self._fd, self._between_runs = -1, False

    # ---- one order ----

    def _take(self, channel):
        got, birth = self._library.take(self._fd)
        if got == CHILD:
            self._be_born(channel, birth)
        return got

    def _hindrance(self):
        """Why this process cannot be forked now, or None. Asked before an order is taken, which brings descriptors along."""
        try:
            self._look()
            self._context.before_fork()
            self._apart = Apart(instances=False)
            return None
        except NotForkable as why:
            return str(why)
        except BaseException as trouble:
            return "it could not be seen whether this can be forked: %r" % trouble

    def _look(self):
        carried.check_threads()
        carried.check_children()
        carried.check_strays()
        carried.check_memory()
        self._folder = None if self._is_to_be_zygote else _folder()
        self._files = carried.open_files(self._context.descriptors | {self._fd, RUNNER_FD, SOCKET_FD})

    def _be_born(self, channel, birth):
        """The fork's first steps. One that fails is its last, before any code of a request has come."""
        channel.forget()
        try:
            # First, for modules may close theirs after a fork, by numbers.
            problem = self._reopen()
            ctypes.pythonapi.PyOS_AfterFork_Child()
            channel.renew(RUNNER_FD)
            self._take_socket(birth.has_socket)
            if problem is not None:
                raise problem
            self._context.after_fork()
            self._context.resume()
            self._apart.become()
            if self._is_zygote:
                self._context.rehearse()
                self._is_zygote = self._is_to_be_zygote = False
            channel.send(self._context.ready)
        except BaseException as trouble:
            _say_so(channel, trouble)
            os._exit(CANNOT_COMPLY)

    def _reopen(self):
        """The program's files. Returns what went wrong."""
        try:
            if self._folder is not None:
                os.chdir(self._folder)
            for file in self._files:
                file.reopen()
            return None
        except (NotForkable, OSError) as problem:
            return problem

    def _take_socket(self, has_socket):
        """A fork that has one may be forked between its own runs."""
        self._between_runs = bool(has_socket)
        if has_socket:
            self._fd = high_copy(SOCKET_FD)
            _reserve()


def _reserve():
    """No file of the program's gets the numbers that a fork's own descriptors will have."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in (RUNNER_FD, SOCKET_FD):
        if number != null:
            os.dup2(null, number, inheritable=False)
    if null not in (RUNNER_FD, SOCKET_FD):
        os.close(null)


def _folder():
    """Where the program stands; a fork of a zygote stands where it was told to."""
    try:
        return os.getcwd()
    except OSError:
        raise NotForkable("the current folder was removed") from None


def _say_so(channel, trouble):
    reason = str(trouble) if isinstance(trouble, NotForkable) else "%s: %s" % (type(trouble).__name__, trouble)
    if channel.lost:
        print("runner: %s" % reason, file=sys.stderr, flush=True)
    channel.send({"op": "not_forkable", "reason": reason})
