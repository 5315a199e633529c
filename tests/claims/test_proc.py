"""Layer 2: what /proc and /sys answer."""
from cell import all_are, bash, claim, python

LAYERS = ["file system"]


@claim("proc-limits-shown", "Memory, processors and uptime are answered for the cell, so that programs size themselves by its limits.",
       LAYERS)
def test_limits_shown():
    said = python("import os, re\n"
                  "mem = int(re.search(r'MemTotal:\\s+(\\d+)', open('/proc/meminfo').read())[1])\n"
                  "cpus = open('/proc/cpuinfo').read().count('processor\\t')\n"
                  "stat = len(re.findall(r'^cpu\\d', open('/proc/stat').read(), re.M))\n"
                  "print(mem, cpus, stat, os.environ.get('OMP_NUM_THREADS'))",
                  "--memory", "200M", "--cpus", "1")
    assert said.stdout.split() == [str(200 * 1024), "1", "1", "1"], said.describe()


@claim("proc-sysctl", "No kernel setting can be written.", LAYERS + ["landlock"])
def test_sysctl(probes):
    settings = ["kernel/hostname", "kernel/core_pattern", "vm/overcommit_memory", "net/ipv4/ip_forward", "user/max_user_namespaces"]
    # The kernel asks for the right to the file before it looks at the mount, which is read-only.
    all_are(probes.run("paths", ["write=/proc/sys/" + s for s in settings]), "EACCES")
    all_are(probes.run("paths", ["chmod=/proc/sys/" + s for s in settings]), "EROFS")
    all_are(probes.run("paths", ["read=/proc/sys/kernel/pid_max"]), "ok")


@claim("proc-masked", "Host-wide files of /proc tell nothing.", LAYERS)
def test_masked(probes):
    masked = ["kcore", "keys", "key-users", "kallsyms", "kmsg", "timer_list", "sched_debug", "modules", "interrupts",
              "partitions", "diskstats", "iomem", "ioports", "vmallocinfo", "slabinfo", "pagetypeinfo"]
    got = probes.run("paths", ["read=/proc/" + name for name in masked])
    told = {k: v for k, v in got.items() if v not in ("EACCES", "ENOENT", "ENODATA", "EPERM")}
    assert told == {}
    writes = probes.run("paths", ["write=/proc/sysrq-trigger", "write=/proc/self/oom_score_adj", "write=/proc/timer_list"])
    assert "ok" not in writes.values(), writes


@claim("proc-sys", "/sys holds nothing of the host's devices and cannot be written.", LAYERS)
def test_sys(probes):
    hidden = ["/sys/kernel", "/sys/class", "/sys/block", "/sys/firmware", "/sys/bus", "/sys/module"]
    all_are(probes.run("paths", ["list=" + p for p in hidden]), "ENOENT")
    all_are(probes.run("paths", ["create=/sys/claim", "mkdir=/sys/claim"]), "EROFS")


@claim("proc-others", "Of other processes /proc tells a program nothing secret.", LAYERS + ["ids"])
def test_own_only():
    said = bash("cat /proc/1/environ /proc/1/maps 2>/dev/null | head -c 100; tr -d '\\0' < /proc/1/cmdline")
    assert "SNAPCELL" not in said.stdout and "/" not in said.stdout.replace("snapcell", ""), said.stdout
