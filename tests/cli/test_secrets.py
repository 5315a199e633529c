"""Secrets of sessions: its programs have them; nothing that is shown, logged or stored does, and no copy without a word."""
import json
import os

import pytest
from wire import Wire

SECRET = "hush-4711-very"
TELLS = "import os\nprint(os.environ.get('TOKEN'))"


@pytest.fixture
def keeper(keepers):
    return keepers()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET + "\n")
    return "TOKEN=%s" % path


def said(done):
    assert done.returncode == 0, done
    return done.stdout.decode()


def refused(done, *words):
    assert done.returncode == 2, done
    for word in words:
        assert word in done.stderr.decode(), done.stderr
    assert SECRET not in done.stderr.decode()


def everything_below(folder):
    for place, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(place, name), "rb") as f:
                yield os.path.join(place, name), f.read()


def test_programs_have_it_and_nobody_is_told(keeper, file):
    session = keeper.start("--name", "s", "--secret", file)
    assert said(keeper.python(session, TELLS)) == SECRET + "\n"
    assert said(keeper("exec", session, "--", "sh", "-c", "echo $TOKEN")) == SECRET + "\n"
    for words in (("ls", "--json"), ("info", session), ("ls",)):
        assert SECRET not in said(keeper(*words))
    result = keeper("run", session, "--json", "--python", "-c", "1")
    assert result.returncode == 0 and SECRET not in result.stdout.decode()


def test_wrong_ones_are_refused_without_being_shown(keeper, cli, tmp_path, file):
    (tmp_path / "long").write_text(SECRET * 1200)
    (tmp_path / "empty").write_text("\n")
    for given, word in ((("--secret", "TOKEN"), "NAME=FILE"), (("--secret", "TOKEN=/none"), "cannot be read"),
                        (("--secret", "1x=%s" % file.split("=")[1]), "variable name"), (("--secret", "T=%s" % (tmp_path / "long")), "16384"),
                        (("--secret", "T=%s" % (tmp_path / "empty")), "1 to 16384"), (("--secret", file, "--secret", file), "twice"),
                        (("--env", "TOKEN=x", "--secret", file), "twice"), (("--secret", file, "--env", "TOKEN=x"), "secret already")):
        refused(keeper("start", *given), word)
    with Wire(keeper) as wire:
        error = wire.ask(request="session.start", spec={"secrets": ["TOKEN"]})["error"]
        assert (error["kind"], error["field"]) == ("usage", "spec.secrets")
        error = wire.ask(request="session.start", spec={"secrets": {"N%d" % i: "v" for i in range(65)}})["error"]
        assert error["kind"] == "usage" and "64" in error["message"]
        error = wire.ask(request="once", spec={"language": "python", "mode": "rich", "code": "1", "secrets": {"T": SECRET}})["error"]
        assert error["field"] == "secrets" and SECRET not in json.dumps(error)


def test_copies_have_it_only_with_a_word(keeper, file):
    session = keeper.start("--forkable", "--name", "s", "--secret", file)
    plain = keeper.start("--forkable", "--name", "p")
    said(keeper("snapshot", plain, "--name", "without"))
    said(keeper.python(session, "x = 1"))
    for words in (("fork", session), ("snapshot", session)):
        refused(keeper(*words), "inherit_secrets", "was given secrets")
    (copy,) = said(keeper("fork", session, "--inherit-secrets")).split()
    assert said(keeper.python(copy, TELLS)) == SECRET + "\n"
    said(keeper("snapshot", session, "--inherit-secrets", "--name", "then"))
    refused(keeper("start", "--from", "then"), "inherit_secrets")
    refused(keeper("rollback", session, "then"), "inherit_secrets")
    refused(keeper("rollback", plain, "then"), "inherit_secrets")
    (again,) = said(keeper("start", "--from", "then", "--inherit-secrets")).split()
    assert said(keeper.python(again, TELLS)) == SECRET + "\n"
    assert keeper("rollback", session, "--inherit-secrets", "then").returncode == 0
    assert said(keeper.python(session, TELLS + "\nprint(x)")) == SECRET + "\n1\n"
    refused(keeper("fork", session), "inherit_secrets")
    (other,) = said(keeper("start", "--from", "without")).split()
    assert said(keeper.python(other, TELLS)) == "None\n"
    with Wire(keeper) as wire:
        error = wire.ask(request="session.fork", session=session)["error"]
        assert (error["kind"], error["field"]) == ("not_forkable", "inherit_secrets")
        assert wire.ask(request="session.fork", session=session, inherit_secrets=True)["ok"]


def test_it_is_never_stored(keeper, file):
    session = keeper.start("--name", "s", "--secret", file, "--env", "A=b")
    assert keeper("pause", session).returncode == 0
    store = list(everything_below(keeper.env["SNAPCELL_STORE"]))
    assert store and not [path for path, content in store if SECRET.encode() in content]
    refused(keeper("resume", session), "TOKEN", "given again")
    assert keeper("resume", session, "--secret", file).returncode == 0
    assert said(keeper.python(session, TELLS + "\nprint(os.environ['A'])")) == SECRET + "\nb\n"
    with Wire(keeper) as wire:
        assert keeper("pause", session).returncode == 0
        assert wire.ask(request="session.resume", session=session)["error"]["field"] == "secrets"
        assert wire.ask(request="session.resume", session=session, secrets={"TOKEN": "other", "MORE": "m"})["ok"]
    assert said(keeper.python(session, TELLS + "\nprint(os.environ['MORE'])")) == "other\nm\n"
