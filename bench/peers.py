"""The programs that are measured and the ways of running them: bare, cells, and the peers with their command lines."""

import dataclasses
import os
import pathlib
import shutil
import subprocess

# What runs: argv inside, with {bin} for the folder of the static program, and what it must print.
PROGRAMS = {
    "true": (["{bin}/true"], b""),
    "bash": (["/usr/bin/bash", "-c", ":"], b""),
    "python": (["/usr/bin/python3", "-I", "-c", "print(1)"], b"1\n"),
}
INSIDE = "/opt/bench"  # where cells and peers with a root of their own see the static program
FILTER_FD = 9
AHEAD = 2  # cells that the library keeps ready, filled up after each run


@dataclasses.dataclass
class Way:
    name: str
    argv: list
    cell: bool = False
    ahead: int = 0
    filter: str = ""


def which(name):
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")


def environment():
    """The same few variables for everything that is started, so that nobody pays for the caller's environment."""
    kept = ("SNAPCELL_CGROUP_PARENT", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp",
            **{name: os.environ[name] for name in kept if name in os.environ}}


def bubblewrap(out):
    """All namespaces that a cell has and bubblewrap can make, the same root, and the very filter that cells load."""
    etc = [word for name in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime") if os.path.exists(name)
           for word in ("--ro-bind", name, name)]
    links = [word for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32") if os.path.islink("/" + name)
             for word in ("--symlink", "usr/" + name, "/" + name)]
    return ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup",
            "--die-with-parent", "--new-session", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL",
            "--ro-bind", "/usr", "/usr", *links, *etc, "--ro-bind", str(out), INSIDE, "--proc", "/proc", "--dev", "/dev",
            "--tmpfs", "/tmp", "--tmpfs", "/home/user", "--chdir", "/home/user", "--hostname", "cell",
            "--seccomp", str(FILTER_FD)]


# name: (words before the command, whether it sees INSIDE, whether it takes the filter)
def peer_table(out):
    rootless = [] if os.getuid() == 0 else ["--rootless"]
    return {
        "bwrap": (bubblewrap(out), True, True),
        "firejail": (["--quiet", "--noprofile", "--net=none", "--private-tmp", "--private-dev", "--seccomp",
                      "--caps.drop=all", "--nonewprivs"], False, False),
        "unshare": (["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--user", "--map-root-user", "--cgroup",
                     "--mount-proc"], False, False),
        "runsc": ([*rootless, "--platform=ptrace", "--network=none", "--ignore-cgroups", "do"], False, False),
    }


class Setup:
    """What is there on this host: which peers, and what cells must go without."""

    def __init__(self, out, cli, without):
        self.out, self.cli, self.without = out, cli, without
        self.bin = pathlib.Path(out) / "bin"
        self.bin.mkdir(exist_ok=True)
        shutil.copy2(pathlib.Path(out) / "true", self.bin / "true")
        self.missing, self.broken, self.degraded = [], {}, ""
        self.table = peer_table(self.bin)
        for name in list(self.table):
            if not which(name):
                self.missing.append(name)
                del self.table[name]
        self.options = [("add", "dir", f"{self.bin}:{INSIDE}:ro"), ("set", "wall", "30s")]
        self._settle_degraded()

    def _settle_degraded(self):
        """Asks for everything first; only an ordinary user is then let off, and it is said."""
        plan = [str(self.cli), "plan", "--", "/usr/bin/bash", "-c", ":"]
        asked = subprocess.run(plan, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if asked.returncode == 0:
            return
        if os.getuid() == 0:
            raise SystemExit(f"bench/run: {asked.stderr.strip()}")
        self.degraded = asked.stderr.strip()
        self.options.append(("add", "allow-degraded", "memory,cpu,cpus"))

    def _cli_words(self):
        words = ["run"]
        for kind, name, value in self.options:
            words += ["--" + name, value]
        return words + ["--"]

    def ways(self, program):
        words, expected = PROGRAMS[program]
        outside = [word.format(bin=self.bin) for word in words]
        inside = [word.format(bin=INSIDE) for word in words]
        ways = [Way("bare", outside), Way("cell-ahead", inside, cell=True, ahead=AHEAD),
                Way("cell-asked", inside, cell=True),
                Way("cli", [str(self.cli), *self._cli_words(), *inside])]
        for name, (options, own_root, filtered) in self.table.items():
            argv = [which(name), *options, *(inside if own_root else outside)]
            ways.append(Way(name, argv, filter=f"{self.out}/filter.bpf" if filtered else ""))
        return [way for way in ways if way.name not in self.without and self._works(program, way, expected)]

    def _works(self, program, way, expected):
        """A way that does not run the program right is named with its reason and left out of the rounds."""
        if way.cell:
            return True  # the harness itself stops when a cell does not end well
        argv, passed = way.argv, ()
        if way.filter:
            descriptor = os.open(way.filter, os.O_RDONLY)
            os.dup2(descriptor, FILTER_FD)
            passed = (FILTER_FD,)
        try:
            done = subprocess.run(argv, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
                                  pass_fds=passed)
            why = "" if done.returncode == 0 and done.stdout == expected else (
                done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        finally:
            for descriptor in {FILTER_FD, descriptor} if way.filter else ():
                os.close(descriptor)
        if why and way.name in ("bare", "cli"):
            raise SystemExit(f"bench/run: {way.name} does not run {program}: {why}")
        if why:
            self.broken[f"{way.name} ({program})"] = why
            print(f"DOES NOT RUN HERE: {way.name} with {program}: {why}")
        return not why

    def text(self):
        lines = [f"missing here, not measured: {', '.join(self.missing) or 'no peer'}"]
        if self.without:
            lines.append(f"left out on request: {', '.join(self.without)}")
        if self.degraded:
            lines += [f"cells go without limits of the whole tree: {self.degraded}",
                      "    (--allow-degraded memory,cpu,cpus)"]
        return "\n".join(lines)

    def json(self):
        return {"measured": {name: [which(name), *words[0]] for name, words in self.table.items()},
                "missing": self.missing, "do_not_run": self.broken, "left_out": self.without,
                "cells_degraded": self.degraded, "cli": [str(self.cli), *self._cli_words()]}
