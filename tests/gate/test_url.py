"""`snapcell run --url`: a client of the service from the command line, and answers that are none."""
import json
import os
import signal
import socket
import subprocess
import threading

import pytest
from conftest import DEGRADED, PATIENCE, until

ACCEPT = [x for name in DEGRADED for x in ("--allow-degraded", name)]


@pytest.fixture
def cli(binary, tmp_path):
    def run(*args, **more):
        more.setdefault("stdin", subprocess.DEVNULL if "input" not in more else None)
        if more["stdin"] is None:
            del more["stdin"]
        return subprocess.run([binary, "run", *args], cwd=tmp_path, capture_output=True, timeout=PATIENCE, **more)
    return run


@pytest.fixture
def key_file(shared, tmp_path):
    path = tmp_path / "key"
    path.write_text(shared.key + "\n")
    path.chmod(0o600)
    return str(path)


def unix(service):
    return "unix://" + service.socket


def tcp(service, name="127.0.0.1"):
    return "http://%s:%d" % (name, service.port)


def test_output_comes_out_as_of_any_run(shared, cli):
    done = cli("--url", unix(shared), *ACCEPT, "--python", "-c", "import sys\nprint('é')\nprint('bad', file=sys.stderr)\nsys.exit(3)")
    assert (done.returncode, done.stdout, done.stderr) == (3, "é\n".encode(), b"bad\n")


def test_rich_runs_tell_their_value(shared, cli):
    done = cli("--url", unix(shared), *ACCEPT, "--mode", "rich", "--python", "-c", "print('x', end='')\n6 * 7")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"x\n42\n", b"")


def test_exact_bytes(shared, cli):
    done = cli("--url", unix(shared), *ACCEPT, "--python", "-c", "import os\nos.write(1, bytes(range(256)))")
    assert (done.returncode, done.stdout) == (0, bytes(range(256)))


def test_files_stdin_arguments_and_limits(shared, cli, tmp_path):
    (tmp_path / "in.bin").write_bytes(b"\xff\0")
    (tmp_path / "main.py").write_text("import sys\nprint(open('in.bin', 'rb').read(), sys.stdin.read(), sys.argv[1:])\n")
    done = cli("--url", unix(shared), *ACCEPT, "--file", "in.bin", "main.py", "a", "--json", input=b"line")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"b'\\xff\\x00' line ['a', '--json']\n", b"")
    done = cli("--url", unix(shared), *ACCEPT, "--wall", "300ms", "--python", "-c", "while True: pass")
    assert done.returncode == 124, done.stderr


def test_commands_and_json(shared, cli):
    done = cli("--url", unix(shared), *ACCEPT, "--json", "--", "sh", "-c", "echo $0; exit 4")
    result = json.loads(done.stdout)
    assert done.returncode == 4 and result["stdout"] == "sh\n" and result["status"] == "error"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_key_by_tcp(shared, cli, key_file, name):
    done = cli("--url", tcp(shared, name), "--key-file", key_file, *ACCEPT, "--python", "-c", "print(1)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")
    done = cli("--url", tcp(shared, name), *ACCEPT, "--python", "-c", "print(1)")
    assert (done.returncode, done.stdout) == (2, b"") and done.stderr.startswith(b"snapcell: "), done.stderr


def test_a_key_file_is_its_owners(shared, cli, key_file, tmp_path):
    args = ("--python", "-c", "1")
    for mode in (0o644, 0o640, 0o604):
        os.chmod(key_file, mode)
        done = cli("--url", tcp(shared), "--key-file", key_file, *args)
        assert done.returncode == 2 and b"--key-file " in done.stderr and b"mode 0600" in done.stderr
    for text in ("", "\n", "a\nb", "a b", "a\r", "x" * 257, "\x7f"):
        path = tmp_path / "other"
        path.write_bytes(text.encode())
        path.chmod(0o600)
        done = cli("--url", tcp(shared), "--key-file", str(path), *args)
        assert done.returncode == 2 and b"one line" in done.stderr, (text, done.stderr)
    assert b"--key-file /none: " in cli("--url", tcp(shared), "--key-file", "/none", *args).stderr
    done = cli("--key-file", key_file, *args)
    assert done.returncode == 2 and b"--key-file allowed with --url" in done.stderr


def test_a_refusal_before_all_was_sent(shared, cli, tmp_path):
    """The service hangs up on a stranger's large body; its answer is told all the same, or that it went away."""
    (tmp_path / "large").write_bytes(b"x" * (30 << 20))
    done = cli("--url", tcp(shared), "--file", "large", "--python", "-c", "1")
    assert done.returncode in (2, 125) and done.stderr.startswith(b"snapcell: "), done


@pytest.mark.parametrize("url", [
    "nope", "https://127.0.0.1:1", "http://127.0.0.1", "http://10.0.0.1:80", "http://localhost.evil.example:80", "http://127.0.0.1:80/x",
    "http://127.0.0.1:123456", "http://127.0.0.1:", "http://u@127.0.0.1:80", "unix://relative", "unix://", "",
])
def test_wrong_urls(cli, url):
    done = cli("--url", url, "--python", "-c", "1")
    assert done.returncode == 2 and done.stderr.startswith(b"snapcell: --url ") and b"allowed are" in done.stderr, done.stderr


def test_nobody_serves(cli, tmp_path):
    done = cli("--url", "unix://%s/none" % tmp_path, "--python", "-c", "1")
    assert done.returncode == 125 and b"nobody serves there" in done.stderr


@pytest.mark.parametrize("options,field", [
    (("--out", "x"), b"out"), (("--root", "/tmp"), b"root"), (("--wall", "1ms"), b"wall"), (("--warm",), b"url"), (("--socket", "/x"), b"url"),
])
def test_what_a_service_does_not_take_is_named(shared, cli, options, field):
    done = cli("--url", unix(shared), *ACCEPT, *options, "--python", "-c", "1")
    assert done.returncode == 2 and field in done.stderr, done.stderr


def test_interrupted_it_cancels(shared, binary):
    child = subprocess.Popen([binary, "run", "--url", unix(shared), *ACCEPT, "--wall", "1h", "--python", "-c",
                              "import time\nprint('on', flush=True)\ntime.sleep(3000)"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"on\n"
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE) == 130
    child.stdout.close()
    child.stderr.close()
    until(lambda: shared.get("/v1/sessions").json() == {"sessions": []}, "its cell to be gone")


# ---- what answers is no service of ours ----

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("answer", [
    b"", b"x", b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"HTTP/1.1 2 OK\r\nContent-Length: 2\r\n\r\n{}",
    HEAD + b"\r\n{}", HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", HEAD + b"Content-Length: -1\r\n\r\n{}",
    HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", HEAD + b"Transfer-Encoding: gzip\r\n\r\n{}",
    HEAD + b"Content-Length: 9\r\n\r\n{}", HEAD + b"no colon\r\n\r\n", HEAD + b"A: " + b"x" * 70000, HEAD + b"A: \0\r\n\r\n",
    HEAD + b"Content-Length: 2\r\n\r\n{}", HEAD + b"Content-Length: 0\r\n\r\n", b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
    CHUNKED, CHUNKED + b"0\r\n\r\n", CHUNKED + b"x\r\n", CHUNKED + b"1\r\nxx\r\n", CHUNKED + b"1 \r\nx\r\n0\r\n\r\n", CHUNKED + b"1\nx",
    CHUNKED + b"ffffffffffffffffff\r\n", CHUNKED + b"2\r\nx\n\r\n0\r\n\r\n", CHUNKED + b"3\r\n{}\n\r\n0\r\n\r\n",
    CHUNKED + b"11\r\n{\"event\":\"end\"}\n\r\n0\r\n\r\n",
])
def test_answers_of_strangers(cli, tmp_path, answer):
    """Each ends with an error, and none is taken for a result."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()

    def serve():
        peer = listener.accept()[0]
        data = b""
        while b'"code"' not in data:
            data += peer.recv(65536)
        try:
            peer.sendall(answer)
        except OSError:
            pass  # the client may have hung up on what it was sent already
        peer.close()
    thread = threading.Thread(target=serve)
    thread.start()
    done = cli("--url", "unix://%s/s" % tmp_path, "--python", "-c", "1")
    thread.join()
    listener.close()
    assert (done.returncode, done.stdout) == (125, b""), done
    assert done.stderr.startswith(b"snapcell: url: ") and done.stderr.count(b"\n") == 1, done.stderr
