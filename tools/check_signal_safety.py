#!/usr/bin/env python3
"""Holds what may be called between vfork and exec.

The supervisor's child shares its memory until it execs the agent, and the supervisor may have threads of its caller.
There, only calls are allowed that take no lock and allocate nothing. Looked at are the undefined symbols of the
objects that run there. glibc's set*id wrappers are async-signal-safe by the standard and still wrong here: they
signal every thread of the process, so raw system calls stand in for them.

  check_signal_safety.py BUILDDIR
"""
import os
import subprocess
import sys

# Sources whose whole object runs between vfork and exec, relative to src/. A call into another file of ours is only
# allowed when that file is in this list too.
RUNS_THERE = ["cell/spawn_child.c", "base/sys.c"]

ALLOWED = set("""
    _exit close close_range dup2 dup3 execve execveat fchdir chdir fcntl fstat fstatat ftruncate getpid getppid gettid
    ioctl kill lseek open openat pipe2 prctl pread pwrite read readv recvmsg sendmsg setsid setpgid sigaction
    setns sigprocmask pthread_sigmask sigemptyset sigfillset sigaddset sigdelset syscall waitpid write writev umask unlinkat
    clock_gettime
    open64 openat64 fcntl64 fstat64 fstatat64 lseek64 pread64 pwrite64 ftruncate64 prlimit64 prlimit
    memcpy memmove memset memcmp strlen strnlen strcmp strncmp
    __memcpy_chk __memmove_chk __memset_chk __read_chk __open_2 __openat_2 __open64_2 __openat64_2
    __errno_location environ __environ __stack_chk_fail _GLOBAL_OFFSET_TABLE_
""".split())
# What instrumented builds add; their runtime is not ours to judge.
ALLOWED_PREFIXES = ("__asan_", "__ubsan_", "__sanitizer_", "__gcov_", "__llvm_")


def objects(build):
    """{source: [objects]}: one source may be built into several targets."""
    found = {source: [] for source in RUNS_THERE}
    for folder, _, names in os.walk(build):
        for name in names:
            for source in RUNS_THERE:
                if name == source.replace("/", "_") + ".o" or name == os.path.basename(source) + ".o":
                    found[source].append(os.path.join(folder, name))
    return found


def symbols(path):
    """(undefined, defined) names of an object."""
    out = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    undefined, defined = set(), set()
    for line in out.splitlines():
        fields = line.split()
        if len(fields) >= 2 and fields[-2] in ("U", "w", "v"):
            undefined.add(fields[-1])
        elif len(fields) == 3:
            defined.add(fields[-1])
    return undefined, defined


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip())
        return 2
    found, wrong = objects(sys.argv[1]), []
    ours = set()
    for paths in found.values():
        for path in paths:
            ours |= symbols(path)[1]
    for source, paths in found.items():
        if not paths:
            wrong.append("%s: no object of it in %s" % (source, sys.argv[1]))
        for path in paths:
            for name in sorted(symbols(path)[0]):
                plain = name.split("@")[0]
                if plain not in ALLOWED and plain not in ours and not plain.startswith(ALLOWED_PREFIXES):
                    wrong.append("%s: calls %s, which may lock or allocate between vfork and exec" % (path, plain))
    for line in wrong:
        print(line)
    print("signal safety: %d objects looked at, %d wrong" % (sum(map(len, found.values())), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
