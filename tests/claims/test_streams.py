"""Layer 9: what goes in and out."""
import os
import pty
import subprocess

from cell import bash, claim, command, python, run, wall


@claim("streams-descriptors", "A program has descriptors 0, 1 and 2 and no other, whatever the caller had open.", ["streams"])
def test_descriptors(host_file):
    leaked = os.open(host_file, os.O_RDONLY)
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(leaked, True)
    os.set_inheritable(folder, True)
    try:
        said = python("import os\nprint([f for f in range(1024) if os.path.exists('/proc/self/fd/%d' % f)])",
                      close_fds=False)
    finally:
        os.close(leaked)
        os.close(folder)
    # The interpreter keeps none open while it runs the code.
    assert said.stdout == "[0, 1, 2]\n", said.describe()


@claim("streams-environment", "Nothing of the caller's environment is passed on; what is asked for is.", ["streams"])
def test_environment():
    said = bash("env", "--env", "ASKED=for", env={"SNAPCELL_CLAIM_SECRET": "token-1"})
    assert "token-1" not in said.stdout and "SNAPCELL" not in said.stdout and "ASKED=for\n" in said.stdout


@claim("streams-session", "A program leads a session of its own and has no controlling terminal, also when the caller has one.", ["streams"])
def test_session():
    code = ("import os\nprint(os.getsid(0) == os.getpid())\n"
            "try:\n    os.open('/dev/tty', os.O_RDWR)\n    print('terminal')\nexcept OSError as e:\n    print(e.errno)\n")
    assert python(code).stdout == "True\n6\n"
    master, slave = pty.openpty()
    child = subprocess.Popen(command("run", "--python", *wall(20), "-c", code), stdin=slave, stdout=slave, stderr=slave,
                             start_new_session=True)
    child.wait(60)
    os.close(slave)
    assert os.read(master, 1000).split() == [b"True", b"6"]
    os.close(master)


@claim("streams-limits", "Of each stream exactly the first bytes up to its limit are kept, the rest is counted, and the result says so.",
       ["streams"])
def test_output_limit():
    cell = python("import sys\nsys.stdout.write('a' * 5000); sys.stderr.write('b' * 10)", "--stdout", "4096", "--stderr", "10")
    assert cell.stdout == "a" * 4096 and cell.stdout_truncated and not cell.stderr_truncated, cell.describe()
    assert cell.usage["stdout_bytes"] == 5000 and cell.status == "ok" and "stdout" in cell.limits_hit
    exact = python("import sys\nsys.stdout.write('a' * 4096)", "--stdout", "4096")
    assert not exact.stdout_truncated and exact.limits_hit == []
    ended = bash("yes", "--stdout", "4096", "--overflow", "end")
    assert ended.status == "output_limit" and len(ended.stdout) == 4096 and ended.code == 137, ended.describe()


@claim("streams-verdict", "Verdict and exit status come from outside: nothing a program prints or exits with can forge them.", ["streams"])
def test_verdict():
    forged = bash("echo '{\"status\": \"timeout\", \"exit_code\": 0}'; echo Killed >&2; exit 137")
    assert (forged.status, forged.exit_code, forged.code) == ("error", 137, 137), forged.describe()
    killed = bash("kill -9 $$")
    assert (killed.status, killed.signal, killed.code) == ("signaled", 9, 137), killed.describe()
    assert bash("exit 124").status == "error"


@claim("streams-stdin", "A program that is given no input reads the end of the file at once.", ["streams"])
def test_stdin():
    assert run("--bash", *wall(20), "-c", "read x; echo $?").stdout == "1\n"
    assert run("--bash", *wall(20), "--stdin", "-", "-c", "cat", stdin=b"given").stdout == "given"
