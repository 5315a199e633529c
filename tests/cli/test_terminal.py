"""What reaches the caller's terminal, and the terminal that `snapcell shell` makes."""
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import time

from person import PATIENCE


def shell(cli, *args):
    return ("shell", *cli.accept, *args)


ATTACK = r"import os; os.write(1, b'a\x1b]0;pwned\x07\x1b[5n\xc2\x9b6n\x9b\r\nb\xe2\x80\xae c\xc3\xa4\n')"


def test_escapes_are_shown(cli, sit):
    person = sit("run", *cli.accept, "--python", "-c", ATTACK)
    status, seen = person.leave()
    assert status == 0
    assert seen == "a^[]0;pwned^G^[[5n<U+009B>6n\\x9b\r\nb<U+202E> cä\r\n".encode()


def test_raw(cli, sit):
    person = sit("run", *cli.accept, "--raw", "--python", "-c", ATTACK)
    status, seen = person.leave()
    assert status == 0
    assert b"\x1b]0;pwned\x07\x1b[5n\xc2\x9b6n\x9b" in seen


def test_escapes_in_messages(cli, sit):
    """What Snapcell itself says may quote the program's words: a name of a file."""
    person = sit("run", *cli.accept, "--out", "*", "--python", "-c",
                 r"import os; os.symlink('/etc/passwd', b'\x1b]0;x\x07\nsnapcell: ok')")
    _, seen = person.leave()
    assert b"\x1b" not in seen and b"\x07" not in seen
    assert b"not saved: ^[]0;x^G^Jsnapcell: ok" in seen


def test_json_on_a_terminal(cli, sit):
    person = sit("run", *cli.accept, "--json", "--python", "-c", ATTACK)
    _, seen = person.leave()
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]", seen)


def test_message_starts_its_own_line(cli, sit):
    person = sit("run", *cli.accept, "--wall", "300ms", "--bash", "-c", "printf unfinished; sleep 60")
    status, seen = person.leave()
    assert status == 124
    assert re.match(rb"unfinished\r\nsnapcell: [^\n]*\r\n$", seen), seen


def test_terminal_is_not_the_programs_stdin(cli, sit):
    person = sit("run", *cli.accept, "--python", "-c", "import sys; print(repr(sys.stdin.read()), sys.stdin.isatty())")
    status, seen = person.leave()
    assert (status, seen) == (0, b"'' False\r\n")


def test_interrupt_key(cli, sit):
    person = sit("run", *cli.accept, "--wall", "60s", "--bash", "-c", "echo up; sleep 60")
    person.await_text(b"up\r\n")
    person.type(b"\x03")
    status, _ = person.leave()
    assert status == 130


# ---- shell ----

def test_shell(cli, sit):
    person = sit(*shell(cli))
    person.type(b"echo $((6 * 7)); tty; pwd\r")
    person.await_text(rb"42\r\n/dev/pts/\d+\r\n/home/user\r\n")
    person.type(b"exit 5\r")
    status, _ = person.leave()
    assert status == 5
    assert person.modes() == person.before


def test_shell_has_job_control(cli, sit):
    person = sit(*shell(cli))
    person.type(b"echo rea''dy; cat\r")
    person.await_text(b"ready\r\n")
    person.type(b"typed\r")
    person.await_text(b"typed\r\ntyped\r\n")
    person.type(b"\x1a")
    person.await_text(b"Stopped")
    person.type(b"jobs; fg\r")
    person.await_text(b"Stopped.*cat.*cat\r\n")
    person.type(b"again\r")
    person.await_text(b"again\r\nagain\r\n")  # it has the terminal by now
    person.type(b"\x03")
    person.await_text(rb"\^C.*\$ ")  # what is typed before that, the interrupt throws away
    person.type(b"echo status $?\r")
    person.await_text(b"status 130\r\n")
    person.type(b"exit 4\r")
    assert person.leave()[0] == 4


def test_shell_is_not_the_callers_terminal(cli, sit):
    """Input that a program pushes back must not reach the caller's shell, nor may the caller's terminal be opened."""
    person = sit(*shell(cli, "--", "python3", "-c",
                        "import fcntl, termios, os\n"
                        "print('ids', os.fstat(0).st_rdev, os.ttyname(0))\n"
                        "try:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x')\n    print('pushed')\n"
                        "except OSError as e:\n    print('refused', e.errno)\n"))
    ids = person.await_text(rb"ids (\d+) (\S+)\r\n")
    own = os.fstat(person.terminal)
    status, seen = person.leave()
    assert status == 0
    assert b"refused" in seen
    assert ids.group(2) == b"/dev/pts/0" or int(ids.group(1)) != own.st_rdev


def test_shell_size(cli, sit):
    person = sit(*shell(cli), rows=33, columns=99)
    person.type(b"stty size\r")
    person.await_text(b"33 99\r\n")
    fcntl.ioctl(person.master, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 111, 0, 0))
    person.type(b"while [ \"$(stty size)\" != '44 111' ]; do :; done; echo resized to $(stty size)\r")
    person.await_text(b"resized to 44 111\r\n")
    person.type(b"exit\r")
    assert person.leave()[0] == 0


def test_shell_wall(cli, sit):
    person = sit(*shell(cli, "--wall", "1s"))
    status, seen = person.leave()
    assert status == 124
    assert b"snapcell: " in seen
    assert person.modes() == person.before


def test_shell_ends_with_sigterm(cli, sit):
    person = sit(*shell(cli))
    person.type(b"echo u''p\r")
    person.await_text(b"up\r\n")
    person.child.send_signal(signal.SIGTERM)
    status, _ = person.leave()
    assert status == 130
    assert person.modes() == person.before


def test_shell_killed_leaves_the_terminal_sane(cli, sit):
    person = sit(*shell(cli))
    person.type(b"echo u''p\r")
    person.await_text(b"up\r\n")
    assert person.modes() != person.before
    person.child.kill()
    person.child.wait()
    end = time.monotonic() + PATIENCE
    while person.modes() != person.before:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_shell_from_a_pipe(cli):
    done = cli(*shell(cli), input=b"echo $((6 * 7))\nexit 3\n")
    assert done.returncode == 3
    assert b"42\r\n" in done.stdout


def test_shell_end_of_pipe(cli):
    done = cli(*shell(cli, "--", "cat"), input=b"one\ntwo")
    assert done.returncode == 0
    assert done.stdout.endswith(b"one\r\ntwo") or b"twotwo" in done.stdout
