"""`snapcell session pause` and `resume`: what is kept, what is refused, and what a killed keeper cannot take away."""
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from conftest import PATIENCE

MAKES = """
import os
os.makedirs("d/e/f"); open("d/e/a", "w").write("x" * 1000); os.link("d/e/a", "d/e/b"); os.symlink("/usr/bin/python3", "out")
os.symlink("nowhere", "d/gone"); open("n\\n\\udcff", "w").write("odd"); open("run.sh", "w").write("#!/bin/sh"); os.chmod("run.sh", 0o755)
open("/tmp/t", "w").write("of tmp"); os.makedirs("l" * 200 + "/" + "m" * 200); open("l" * 200 + "/" + "m" * 200 + "/z", "w").write("long")
with open("holes", "wb") as f:
    f.seek(40 << 20)
    f.write(b"end")
with open("bytes", "wb") as f:
    f.write(bytes(range(256)) * 4000)
os.utime("bytes", (5, 1e9)); os.chmod("d/e", 0o555); os.utime("d/e", (5, 1.1e9)); os.utime("d", (5, 1.2e9))
"""
TELLS = """
import os, hashlib
def tell(top):
    for folder, folders, files in sorted(os.walk(top)):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = os.readlink(path) if os.path.islink(path) else \
                hashlib.sha256(open(path, "rb").read()).hexdigest() if os.path.isfile(path) else ""
            print(ascii(path), oct(st.st_mode), st.st_size if what else 0, "" if os.path.islink(path) else int(st.st_mtime), what)
tell("."); tell("/tmp")
print(os.stat("d/e/a").st_ino == os.stat("d/e/b").st_ino, os.stat("holes").st_blocks < 100)
"""


@pytest.fixture
def keeper(keepers):
    return keepers()


def said(done):
    assert done.returncode == 0, done
    return done.stdout.decode()


def ok(done):
    assert (done.returncode, done.stderr) == (0, b""), done


def listed(keeper):
    return keeper.result("ls", "--json")["sessions"]


def stored(keeper, name):
    """The folder of the generation that counts."""
    return os.path.join(keeper.env["SNAPCELL_STORE"], "paused", name, "current")


def refused(done, *words):
    assert done.returncode == 2, done
    for word in words:
        assert word in done.stderr.decode(), done.stderr


def test_files_are_what_they_were(keeper):
    session = keeper.start("--name", "a")
    said(keeper.python(session, MAKES))
    before = said(keeper.python(session, TELLS))
    assert before.endswith("True True\n")
    ok(keeper("pause", session))
    assert not keeper.cells()
    ok(keeper("resume", session))
    assert said(keeper.python(session, TELLS)) == before


def test_variables_are_gone_and_the_next_run_is_told(keeper):
    session = keeper.start()
    said(keeper.python(session, "x = 6"))
    said(keeper("run", session, "--bash", "--context", "b", "-c", "y=7"))
    ok(keeper("pause", session))
    ok(keeper("resume", session))
    names = [(c["name"], c["language"], c["state"]) for c in keeper.result("info", session)["contexts"]]
    assert names == [("python", "python", "stopped"), ("b", "bash", "stopped")]
    first = keeper.result("run", session, "--json", "--python", "-c", "'x' in globals()")
    second = keeper.result("run", session, "--json", "--python", "-c", "1")
    assert (first["context_lost"], second["context_lost"]) == (True, False)
    assert first["value"]["text/plain"] == "False"
    refused(keeper("run", session, "--node", "--context", "b", "-c", "1"), "b: it is bash")


def test_options_are_kept(keeper, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("first")
    session = keeper.start("--file", str(source), "--env", "GIVEN=yes", "--memory", "300M", "--idle", "90s", "--total", "2h", "--wall", "9s")
    said(keeper.python(session, "open('in.txt', 'w').write('changed')"))
    before = keeper.result("info", session)
    ok(keeper("pause", session))
    source.unlink()  # it is among the files that are kept
    ok(keeper("resume", session))
    after = keeper.result("info", session)
    assert after["left_ms"] > before["left_ms"] - 1000 and 80000 < after["idle_left_ms"] <= 90000
    code = "import os; print(open('in.txt').read(), os.environ['GIVEN'], open('/sys/fs/cgroup/memory.max').read())"
    assert said(keeper.python(session, code)) == "changed yes %d\n\n" % (300 << 20)
    ok(keeper("pause", session))
    ok(keeper("resume", session, "--idle", "20s"))
    assert keeper.result("info", session)["idle_left_ms"] <= 20000


def test_what_is_told(keeper):
    session = keeper.start("--name", "told")
    assert "state" not in listed(keeper)[0]
    said(keeper.python(session, "1"))
    ok(keeper("pause", session))
    (one,) = listed(keeper)
    assert (one["session"], one["state"], one["uid"]) == ("told", "paused", os.geteuid())
    assert abs(one["paused_ms"] / 1000 - time.time()) < PATIENCE and one["bytes"] > 1000
    assert one["contexts"] == [{"name": "python", "language": "python", "mode": "rich"}]
    assert said(keeper("ls")).startswith("told ") and "paused" in said(keeper("ls"))
    assert keeper.result("info", session) == one
    refused(keeper.python(session, "1"), "told: it is paused; resume it first")
    refused(keeper("pause", session), "it is paused")
    refused(keeper("start", *keeper.cli.accept, "--name", "told"), "a session of this name is paused")
    ok(keeper("resume", session))
    refused(keeper("resume", session), "a session of this name is alive")
    assert len(listed(keeper)) == 1 and "state" not in listed(keeper)[0]


def test_the_end_removes_it(keeper):
    for resume in (False, True):
        session = keeper.start("--name", "gone")
        ok(keeper("pause", session))
        if resume:
            ok(keeper("resume", session))
        ok(keeper("end", session))
        assert listed(keeper) == []
        assert os.listdir(os.path.join(keeper.env["SNAPCELL_STORE"], "paused")) == []
        refused(keeper("resume", session), "gone: none of this name is paused")


def test_another_end_leaves_it(keeper):
    """What was paused last is there again after a session's death."""
    session = keeper.start("--name", "twice")
    said(keeper.python(session, "open('f', 'w').write('one')"))
    ok(keeper("pause", session))
    ok(keeper("resume", session, "--total", "2s"))
    said(keeper.python(session, "open('f', 'w').write('two')"))
    until(lambda: listed(keeper)[0].get("state") == "paused")
    ok(keeper("resume", session))
    assert said(keeper.python(session, "print(open('f').read())")) == "one\n"


def until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_generations(keeper):
    """The one before goes when the next is proven; each pause is of the moment."""
    session = keeper.start("--name", "g")
    for number in range(3):
        said(keeper.python(session, "open('f', 'a').write('%d')" % number))
        ok(keeper("pause", session))
        names = [n for n in os.listdir(os.path.dirname(stored(keeper, "g"))) if not n.startswith(".")]
        assert sorted(names) == sorted([os.readlink(stored(keeper, "g")), "current"])
        ok(keeper("resume", session))
    assert said(keeper.python(session, "print(open('f').read())")) == "012\n"


# ---- what is refused, and leaves the session as it was ----

def goes_on(keeper, session):
    """State of before, and what stood still runs again."""
    assert said(keeper.python(session, "print(kept)")) == "6\n"
    assert "state" not in listed(keeper)[0]


@pytest.fixture
def session(keeper):
    session = keeper.start("--name", "s", "--disk", "32M", "--tmp", "16M", "--file-size", "64M", "--open-files", "64")
    said(keeper.python(session, "kept = 6"))
    return session


def test_while_something_runs(keeper, session):
    said(keeper("exec", session, "--background", "--", "sleep", "100"))
    refused(keeper("pause", session), "s: 1 requests or commands are under way")
    goes_on(keeper, session)
    ok(keeper("kill", session, "1"))
    until(lambda: said(keeper("ps", session)) == "")
    run = keeper.popen("run", session, "--python", "-c", "print(1, flush=True)\nwhile True: pass", stdout=subprocess.PIPE)
    assert run.stdout.read(1) == b"1"
    refused(keeper("pause", session), "under way")
    ok(keeper("interrupt", session))
    run.communicate(timeout=PATIENCE)
    goes_on(keeper, session)
    ok(keeper("pause", session))


def test_memory(keeper, session):
    done = keeper("pause", session, "--with-memory")
    assert done.returncode != 0 and b"cannot be stored" in done.stderr
    goes_on(keeper, session)


def test_what_cannot_be_packed(keeper, session):
    said(keeper.python(session, "import os; os.mkdir('d'); open('d/closed', 'w').close(); os.chmod('d/closed', 0)"))
    refused(keeper("pause", session), "d/closed: cannot be packed: Permission denied")
    goes_on(keeper, session)
    said(keeper.python(session, "os.chmod('d/closed', 0o600)"))
    ok(keeper("pause", session))


def test_too_much(keeper, session):
    said(keeper.python(session, "for n in range(3):\n    f = open('h%d' % n, 'wb'); f.truncate(60 << 20); f.close()"))
    refused(keeper("pause", session), "what is in /home/user takes more than")
    goes_on(keeper, session)
    said(keeper.python(session, "import os; os.unlink('h1'); os.unlink('h2')"))
    ok(keeper("pause", session))


def test_a_store_that_cannot_be_written(keeper, session):
    store = keeper.env["SNAPCELL_STORE"]
    with open(store, "w"):
        pass
    done = keeper("pause", session)
    assert done.returncode != 0 and done.stderr
    assert said(keeper.python(session, "print(kept)")) == "6\n"
    os.unlink(store)
    ok(keeper("pause", session))


def test_names(keeper):
    for name in (".hidden", "..", "."):
        session = keeper.start("--name", name)
        refused(keeper("pause", session), "does not begin with a dot")
        ok(keeper("end", session))


# ---- what is stored is not what was written ----

def flip(path):
    with open(path, "r+b") as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 1]))


def cut(path):
    os.truncate(path, os.path.getsize(path) - 1)


def grow(path):
    with open(path, "ab") as f:
        f.write(b"\0")


def empty(path):
    os.truncate(path, 0)


def link(path):
    os.rename(path, path + "x")
    os.symlink(path + "x", path)


def folder(path):
    os.unlink(path)
    os.mkdir(path)


@pytest.mark.parametrize("harm", [flip, cut, grow, empty, os.unlink, link, folder], ids=lambda f: f.__name__)
@pytest.mark.parametrize("piece", ["manifest.json", "work.tar", "tmp.tar"])
def test_damaged(keeper, session, piece, harm):
    said(keeper.python(session, "open('f', 'wb').write(bytes(range(256)) * 999)"))
    ok(keeper("pause", session))
    path = stored(keeper, "s")
    shutil.copytree(path, path + ".whole")
    harm(os.path.join(path, piece))
    done = keeper("resume", session)
    assert done.returncode != 0 and piece.encode() in done.stderr, done
    until(lambda: not keeper.cells())
    if piece == "manifest.json":
        assert listed(keeper)[0]["state"] == "damaged"
        refused(keeper.python(session, "1"), "it is paused")
    # The twin: what was written is taken.
    target = os.path.realpath(path)
    shutil.rmtree(target)
    os.rename(path + ".whole", target)
    ok(keeper("resume", session))
    assert said(keeper.python(session, "print(len(open('f', 'rb').read()))")) == "255744\n"


def test_a_damaged_link(keeper, session):
    ok(keeper("pause", session))
    path = stored(keeper, "s")
    os.unlink(path)
    os.symlink("../../../../etc", path)
    refused(keeper("resume", session), "current: what is stored is not what was written")
    ok(keeper("end", session))
    assert listed(keeper) == []


def give_to(keeper, name, uid):
    """Another owner in the manifest, with the hash that belongs to it."""
    path = stored(keeper, name)
    folder = os.path.realpath(path)
    with open(os.path.join(folder, "manifest.json"), "r+", encoding="utf-8") as f:
        value = json.load(f)
        value["uid"] = uid
        text = json.dumps(value)
        f.seek(0)
        f.write(text)
        f.truncate()
    digest = hashlib.sha256(text.encode()).hexdigest()
    os.rename(folder, os.path.join(os.path.dirname(folder), digest))
    os.unlink(path)
    os.symlink(digest, path)


def test_whose_it_is(keeper, session):
    ok(keeper("pause", session))
    give_to(keeper, "s", os.geteuid() + 1)
    if os.geteuid() == 0:  # root may use everybody's
        assert listed(keeper)[0]["uid"] == 1
        ok(keeper("resume", session))
        return
    assert listed(keeper) == []
    for word in ("resume", "info", "end"):
        refused(keeper(word, session), "s: ")
    give_to(keeper, "s", os.geteuid())
    ok(keeper("resume", session))


# ---- a keeper that is killed ----

def test_a_killed_keeper_leaves_what_was_paused(keepers):
    first = keepers()
    session = first.start("--name", "k")
    said(first.python(session, "open('f', 'w').write('one')"))
    ok(first("pause", session))
    ok(first("resume", session))
    said(first.python(session, "open('f', 'w').write('two')"))
    first.end(signal.SIGKILL)
    second = keepers(store=first.env["SNAPCELL_STORE"])
    until(lambda: second("resume", session).returncode == 0)
    assert said(second.python(session, "print(open('f').read())")) == "one\n"


def test_one_of_it(keepers):
    """Two keepers of one user: what one has resumed the other cannot."""
    first = keepers()
    second = keepers(store=first.env["SNAPCELL_STORE"])
    session = first.start("--name", "k")
    ok(first("pause", session))
    ok(second("resume", session))
    refused(first("resume", session), "it is alive, or being paused or resumed, elsewhere")
    refused(first("end", session), "elsewhere")
    ok(second("end", session))
    refused(first("resume", session), "none of this name")


def test_kills_at_random_moments(keepers):
    """Whatever a SIGKILL interrupts: the last whole pause, or the one under way, never less."""
    store = None
    expected = {""}
    chance = random.Random(20)
    for turn in range(12):
        keeper = keepers(store=store)
        store = keeper.env["SNAPCELL_STORE"]
        if turn == 0:
            session = keeper.start("--name", "r")
            said(keeper.python(session, "open('f', 'w').close(); open('bulk', 'wb').write(bytes(8 << 20))"))
            ok(keeper("pause", session))
        until(lambda: keeper("resume", "r").returncode == 0)
        found = said(keeper.python("r", "print(open('f').read())")).strip()
        assert found in expected, (turn, found, expected)
        assert said(keeper.python("r", "import os; print(os.path.getsize('bulk'))")) == "%d\n" % (8 << 20)
        said(keeper.python("r", "open('f', 'w').write('%d')" % turn))
        pause = keeper.popen("pause", "r", stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * 0.15)
        keeper.end(signal.SIGKILL)
        whole = pause.wait(PATIENCE) == 0
        expected = {str(turn)} if whole else {found, str(turn)}


def test_requests_that_are_wrong(keeper):
    from wire import Wire
    with Wire(keeper) as wire:
        assert wire.ask(request="session.resume")["error"]["field"] == "session"
        assert wire.ask(request="session.resume", session="none")["error"]["kind"] == "not_found"
        assert wire.ask(request="session.pause", session="none")["error"]["kind"] == "not_found"
        assert "unknown field" in json.dumps(wire.ask(request="session.resume", session="a", spec={}))
