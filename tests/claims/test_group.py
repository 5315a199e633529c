"""Layer 4: what the control group limits."""
import time

import ahead
from cell import SCALE, bash, claim, expect, run, wall


@claim("group-memory", "A program that uses more memory than the cell has is killed, and the verdict is out_of_memory.",
       ["cgroup"], needs=["memory"])
def test_memory(probes):
    assert probes.cell("limits", ["memory=40"], "--memory", "64M").said() == {"memory=40": 0}
    cell = probes.cell("limits", ["memory=90"], "--memory", "64M")
    assert cell.status == "out_of_memory" and "memory" in cell.limits_hit, cell.describe()


@claim("group-memory-children", "Memory is counted for the whole tree, and the whole cell is killed.", ["cgroup"], needs=["memory"])
def test_memory_of_children(probes):
    expect({k: "ok" for k in probes.cell("limits", ["memory_of_children=4,8"], "--memory", "96M").said()}, memory_of_children="ok")
    cell = probes.cell("limits", ["memory_of_children=4,30"], "--memory", "96M")
    assert cell.status == "out_of_memory", cell.describe()


@claim("group-memory-files", "Files in /tmp, /dev/shm and memory files are memory of the cell.", ["cgroup"], needs=["memory"])
def test_files_are_memory(probes):
    cell = probes.cell("limits", ["memfd=90"], "--memory", "64M", "--file-size", "1G")
    assert cell.status == "out_of_memory", cell.describe()
    used = probes.cell("limits", ["memfd=30"], "--memory", "64M", "--file-size", "1G").usage["memory_peak_bytes"]
    assert used > 30 << 20, used


@claim("group-tasks", "Processes and threads together are limited, and refused with EAGAIN.", ["cgroup", "rlimits"])
def test_tasks(probes):
    for call in ("forks", "threads"):
        cell = probes.cell("limits", [call + "=40"], "--tasks", "20")
        assert cell.said() == {call + "=40": 11}, cell.describe()
        assert probes.cell("limits", [call + "=10"], "--tasks", "20").said() == {call + "=10": 0}


@claim("group-tasks-verdict", "A program that fails after it met the task limit has the verdict process_limit.", ["cgroup"],
       needs=["memory"])  # the same groups tell; a process limit alone refuses and counts nothing
def test_tasks_verdict():
    cell = bash("exec perl -e 'for (1..40) { my $p = fork; exit 3 unless defined $p; sleep 30 unless $p }'", "--tasks", "12")
    assert cell.status == "process_limit" and "tasks" in cell.limits_hit, cell.describe()


@claim("group-cpu-rate", "A cell gets no more processor time per second than it was given.", ["cgroup"], needs=["cpus"])
def test_cpu_rate(probes):
    cell = probes.cell("limits", ["burn=%d" % (1500 * SCALE)], "--cpus", "0.25")
    cell.said()
    rate = cpu_ms(cell) / cell.usage["wall_ms"]
    assert 0.05 < rate < 0.4, cell.describe()


@claim("group-cpu-time", "Processor time is counted for the whole tree, children that are gone included, and ends the run as cpu_timeout.",
       ["cgroup", "clocks"], needs=["cpu"])
def test_cpu_time(probes):
    cell = probes.cell("limits", ["burn_children=40,100"], "--cpu", "800ms")
    assert cell.status == "cpu_timeout" and "cpu" in cell.limits_hit, cell.describe()
    assert 700 <= cpu_ms(cell) <= 800 + 700 * SCALE, cell.describe()
    assert probes.cell("limits", ["burn=100"], "--cpu", "2s").status == "ok"


@claim("group-wall", "The wall clock ends a run that sleeps, and what it had written is kept.", ["clocks"])
def test_wall():
    start = time.monotonic()
    cell = run("--bash", "--wall", "%dms" % (700 * SCALE), "-c", "echo before; sleep 60")
    assert cell.status == "timeout" and cell.stdout == "before\n" and "wall" in cell.limits_hit, cell.describe()
    # What the keeper makes ahead takes its time, too.
    assert cell.code == 124 and time.monotonic() - start < (30 if ahead.START else 5) * SCALE
    assert run("--bash", *wall(20), "-c", "sleep 0.1").status == "ok"


def cpu_ms(cell):
    return cell.usage["cpu_user_ms"] + cell.usage["cpu_system_ms"]


@claim("group-io", "A disk-backed work folder is written no faster than --io-write says.", ["cgroup"],
       needs=["root", "disk"])
def test_io_rate():
    write = "dd if=/dev/zero of=x bs=256K count=8 conv=fsync 2>/dev/null"
    disk = ["--disk", "32M", "--disk-backing", "image", *wall(60)]
    free = bash(write, *disk)
    held = bash(write, *disk, "--io-write", "1M")
    assert free.status == held.status == "ok", held.describe()
    assert held.usage["wall_ms"] > 1500 and held.usage["wall_ms"] > free.usage["wall_ms"], (free.usage, held.usage)
