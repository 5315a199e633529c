"""What a fork carries over, and what it cannot. Only memory goes along by itself: of open files those that can be opened
again are, at the same place; a process with threads, children, memory shared with others or open sockets is not forked."""
import fcntl
import os
import stat
import threading

WORDS_MAX = 45  # of a path or of names: the whole reason has room in an answer


class NotForkable(Exception):
    """Says why, in words for people."""


def _shown(text):
    """Its end, where a path says most."""
    return text if len(text) <= WORDS_MAX else "..." + text[-WORDS_MAX:]


class File:
    """An open file, folder or device, as it can be opened again."""

    __slots__ = ("number", "path", "kind", "flags", "offset", "descriptor_flags")

    def __init__(self, number):
        self.number = number
        self.path = os.readlink("/proc/self/fd/%d" % number)
        found = os.fstat(number)
        self.kind = stat.S_IFMT(found.st_mode)
        self.flags = fcntl.fcntl(number, fcntl.F_GETFL)
        self.descriptor_flags = fcntl.fcntl(number, fcntl.F_GETFD)
        self.offset = os.lseek(number, 0, os.SEEK_CUR) if self.kind == stat.S_IFREG else None
        if self.kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFCHR) or not _is_at(self.path, found):
            raise NotForkable("descriptor %d cannot be carried over: %s" % (number, _shown(self.path)))

    def reopen(self):
        """At the same number, in a process where that is free."""
        try:
            got = os.open(self.path, self.flags | os.O_CLOEXEC)
        except OSError as error:
            raise NotForkable("descriptor %d: %s: %s" % (self.number, _shown(self.path), error.strerror)) from None
        if stat.S_IFMT(os.fstat(got).st_mode) != self.kind:
            raise NotForkable("descriptor %d: %s is something else here" % (self.number, _shown(self.path)))
        if self.offset is not None:
            os.lseek(got, self.offset, os.SEEK_SET)
        if got != self.number:
            os.dup2(got, self.number)
            os.close(got)
        fcntl.fcntl(self.number, fcntl.F_SETFD, self.descriptor_flags)


def _is_at(path, found):
    """Whether this path leads to what is open: a file that was removed, or has no name, has none."""
    try:
        there = os.stat(path)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino)


def open_files(known):
    """File of every descriptor above 2 that is not in `known`. Raises NotForkable."""
    numbers = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    return [File(number) for number in numbers if number > 2 and number not in known and _is_open(number)]


def _is_open(number):
    """It is not if it was the listing's own."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def check_threads():
    """Raises NotForkable unless this is the process's only thread: a fork would have none of the others, and their locks."""
    tasks = os.listdir("/proc/self/task")
    if len(tasks) == 1:
        return
    names = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    known = ": " + _shown(", ".join(names)) if names else ""
    raise NotForkable("%d threads are running%s" % (len(tasks), known))


def check_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return
    raise NotForkable("other processes were started, and have not been waited for")


def check_strays():
    """What made itself independent of this process is its neighbour in the cell: below the shepherd that started it, or in a cell
    below another, where nobody has, below process 1. What was forked into cells further below has numbers there, too."""
    parent = os.getppid() or 1
    if parent != 1 and _status(parent).get("Name") != "shepherd":
        return
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        status = _status(name)
        is_ours = status.get("PPid") == str(parent) and len(status.get("NSpid", "").split()) == 1
        # An operation on files has the program's rights, and may just be ending.
        is_ours = is_ours and not (parent == 1 and status["Name"].startswith("memfd:snapcell"))
        if is_ours and _owner(name) == os.geteuid() and not status.get("State", "Z").startswith("Z"):
            raise NotForkable("another process runs: %s" % _shown(status["Name"]))


def _status(pid):
    try:
        with open("/proc/%s/status" % pid, encoding="utf-8", errors="replace") as file:
            return {line[0]: line[2].strip() for line in (line.partition(":") for line in file)}
    except OSError:
        return {}


def _owner(pid):
    """Root's, if it is one of the cell's own helpers."""
    try:
        return os.stat("/proc/%s" % pid).st_uid
    except OSError:
        return None


def check_memory():
    """Raises NotForkable if any is shared, for then a fork's writing would be seen here."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            words = line.split(None, 5)
            if "w" in words[1] and words[1][3] == "s":
                what = words[5].strip() if len(words) > 5 else "anonymous"
                raise NotForkable("memory is shared: %s" % _shown(what))
