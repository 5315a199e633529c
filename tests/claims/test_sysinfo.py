"""Layer 8: calls that are answered for the cell."""
import os
import shutil

import ahead
from cell import SCALE, all_are, claim, python, run, wall

LAYERS = ["filter"]
MEMORY = 200 << 20


def host_total():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@claim("proc-sysinfo", "`sysinfo` tells the cell's memory and uptime, and nothing of the host's memory, load or processes.", LAYERS)
def test_sysinfo(probes):
    told = ["total=%d" % MEMORY, "free=%d" % MEMORY, "idle", "uptime", "thread"]
    # No interpreter waits under the profile compute.
    for profile in ("default",) if ahead.START else ("default", "compute"):
        all_are(probes.run("sysinfo", told, "--memory", "200M", "--profile", profile), "ok")
    all_are(probes.run("sysinfo", ["total=%d" % host_total()], "--memory", "200M"), "ERANGE")


@claim("proc-sysinfo-pointer", "The answer of `sysinfo` goes only where its caller may have it; anything else is EFAULT.", LAYERS)
def test_pointer(probes):
    all_are(probes.run("sysinfo", ["null", "kernel", "wrapping", "beyond", "edge"]), "EFAULT")
    all_are(probes.run("sysinfo", ["page"]), "ok")


@claim("proc-sysinfo-programs", "Programs that size themselves by `sysinfo` see the cell's limits: Python, and Java where it is there.",
       LAYERS)
def test_programs():
    said = python("import os\n"
                  "print(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'), os.sysconf('SC_AVPHYS_PAGES') > 0,"
                  " *os.getloadavg())", "--memory", "200M")
    assert said.stdout.split() == [str(MEMORY), "True", "0.0", "0.0", "0.0"], said.describe()
    if not shutil.which("java"):
        print("no Java here: its heap is not looked at")
        return
    java = run(*wall(60), "--memory", "400M", "--", "java", "-Xshare:auto", "-XX:+PrintFlagsFinal", "-version", timeout=120)
    heap = [line.split()[3] for line in java.stdout.splitlines() if line.split()[1:2] == ["MaxHeapSize"]]
    assert len(heap) == 1 and 0 < int(heap[0]) <= 400 << 20, java.describe()


@claim("proc-sysinfo-flood", "A program that does nothing but ask is ended by its wall clock like any other.", LAYERS)
def test_flood(probes):
    flooded = run("--language", "native", "--wall", "%gs" % (0.5 * SCALE), probes.path("sysinfo"), "flood")
    assert flooded.status == "timeout", flooded.describe()
    assert flooded.usage["wall_ms"] < 2500 * SCALE, flooded.describe()


@claim("proc-sysinfo-charged", "Memory that answers are written to counts as the cell's.", LAYERS + ["cgroup"], needs=["memory"])
def test_charged(probes):
    filled = run("--language", "native", *wall(60), "--memory", "64M", probes.path("sysinfo"), "fill")
    assert filled.status == "out_of_memory", filled.describe()
