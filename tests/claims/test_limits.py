"""Layer 5: what control groups do not count."""
import glob
import os

from cell import all_are, bash, claim, expect


@claim("limits-open-files", "A process can hold so many descriptors and no more.", ["rlimits"])
def test_open_files(probes):
    expect(probes.run("limits", ["files=40"], "--open-files", "64"), files="ok")
    expect(probes.run("limits", ["files=70"], "--open-files", "64"), files="EMFILE")


@claim("limits-file-size", "A file can grow to its limit; writing beyond ends the process with SIGXFSZ.", ["rlimits"])
def test_file_size(probes):
    expect(probes.run("limits", ["file_size=900000"], "--file-size", "1M"), file_size="ok")
    expect(probes.run("limits", ["file_size=1048576"], "--file-size", "1M"), file_size="SIG25")


@claim("limits-core", "A crash leaves no core file, in the cell or on the host.", ["rlimits"])
def test_core(probes):
    before = set(glob.glob("/tmp/core*") + glob.glob("/core*") + glob.glob("core*"))
    expect(probes.run("limits", ["crash"]), crash="SIG6")
    cell = bash("bash -c 'kill -ABRT $$' 2>/dev/null; ls -A")
    assert "core" not in cell.stdout, cell.describe()
    assert set(glob.glob("/tmp/core*") + glob.glob("/core*") + glob.glob("core*")) == before


@claim("limits-raise", "No limit can be raised again.", ["rlimits", "capabilities"])
def test_raise(probes):
    all_are(probes.run("limits", ["raise_files", "raise_core"]), "EPERM")
    all_are(probes.run("others", ["self_prlimit"]), "ok")


@claim("limits-pin", "A cell that is pinned runs on the named processors only.", ["placement"])
def test_pin():
    first = str(min(os.sched_getaffinity(0)))
    code = "grep -h Cpus_allowed_list /proc/self/status | cut -f2"
    assert bash(code, "--pin", first).stdout.strip() == first
    # Seen from inside by asking where it runs, after asking to move away.
    cell = bash("taskset -p 0xffff $$ >/dev/null 2>&1; for i in 1 2 3 4 5; do cut -d' ' -f39 /proc/self/stat; done", "--pin", first)
    assert set(cell.stdout.split()) == {first}, cell.describe()
