"""Credentials: put into the requests of their rule outside the cell, and to be found nowhere in it or in what it leaves."""
import json
import os
import signal

from conftest import INTERNAL
from test_process import children, status_of, wait_for
from test_requests import ASK
from test_rules import out

SECRET = "s3cret-4711"
KEY = {"allow": "allowed.test:80", "http": ["GET /hello", "POST /in/*"], "credential": {"header": "X-Api-Key", "value": SECRET}}
REST = {"allow": "allowed.test:80"}
RANGES = [x for x in INTERNAL if x[0] != "-"]


def given(lab):
    """(path, field, values) of what the origins were shown."""
    return [tuple(x[1:3]) + (x[3],) for x in lab.seen("credential")]


def test_requests_of_the_rule_get_it_and_others_do_not(cells, lab):
    result = cells.spec({"rules": [KEY, REST]}, ASK + """
s = dial("allowed.test", 80)
print(ask(s, "GET /hello"), ask(s, "GET /big?1"), ask(s, "POST /in/x", "Content-Length: 1\\r\\n", "z"))
print(one("GET /hello", "X-Api-Key: mine\\r\\nx_api_key: mine\\r\\nX-API-KEY: mine\\r\\n"), one("GET /big?2", "X-Api-Key: mine\\r\\n"))
print(get("http://allowed.test/hello")[:9])
""")
    assert out(result) == ["200 200 200", "200 200", "origin-ok"]
    assert given(lab) == [("/hello", "X-Api-Key", [SECRET]), ("/in/x", "X-Api-Key", [SECRET]), ("/hello", "X-Api-Key", [SECRET]),
                          ("/big?2", "X-Api-Key", ["mine"]), ("/hello", "X-Api-Key", [SECRET])]
    assert SECRET not in json.dumps(result)


def test_basic_and_the_layer_below(cells, lab):
    within = {"internal": RANGES, "rules": [{"allow": "allowed.test:80", "credential": {"basic": "user:pass"}}]}
    result = cells.spec({"rules": [{"allow": "*"}], "within": within}, ASK + 'print(one("GET /hello", "Authorization: Bearer mine\\r\\n"))')
    assert out(result) == ["200"]
    assert given(lab) == [("/hello", "Authorization", ["Basic dXNlcjpwYXNz"])]


def test_it_goes_to_its_name_only(cells, lab):
    """Neither another name at the same address, nor a Host that says so, nor what is no request."""
    result = cells.spec({"rules": [{"allow": "allowed.test:7-80", "credential": {"header": "X-Api-Key", "value": SECRET}}, {"allow": "both.test:7-80"}]}, ASK + """
print(get("http://both.test/hello")[:9], outcome(dial("both.test", 80), b"GET /hello HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n"))
print(one("GET /hello", "X: y\\nZ: z\\r\\n"), one("GET /hello", "Connection: x-api-key\\r\\n"), one("TRACE /hello"))
print(outcome(dial("allowed.test", 7), b"hello\\n"))
""")
    assert out(result) == ["origin-ok ECONNRESET", "ECONNRESET ECONNRESET ECONNRESET", "ECONNRESET"]
    assert given(lab) == []


def test_the_cell_does_not_hold_it(cells):
    """All that a program can read of itself and of the others in its cell."""
    result = cells.spec({"rules": [KEY]}, ASK + """
one("GET /hello")
found = 0
for pid in [x for x in os.listdir("/proc") if x.isdigit()]:
    for name in ("environ", "cmdline", "maps"):
        try: found += (b"s3cret" + b"-4711") in open("/proc/%s/%s" % (pid, name), "rb").read()
        except OSError: pass
print(found, "s3cret" in json.dumps(dict(os.environ)))
""")
    assert out(result)[-1] == "0 False"


def plan_of(cells, network):
    path = os.path.join(cells.folder, "spec.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"command": ["/bin/true"], "network": network}, f)
    return [cells.snapcell("plan", *more, *cells.accept, "--spec", path) for more in ([], ["--json"])]


def test_a_plan_withholds_it(cells):
    for done in plan_of(cells, {"rules": [KEY]}):
        assert done.code == 0, done.err
        assert SECRET.encode() not in done.out + done.err
        assert b"allowed.test:80" in done.out


def test_what_was_withheld_is_refused(cells):
    path = os.path.join(cells.folder, "spec.json")
    network = {"rules": [dict(KEY, credential={"header": "X-Api-Key", "withheld": True})]}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"command": ["/bin/true"], "network": network}, f)
    done = cells.snapcell("run", *cells.accept, "--spec", path)
    assert done.code == 2 and b"its credential was withheld" in done.err, (done.code, done.err)


def test_a_session_has_it_and_cannot_be_paused(cells, lab):
    env = {"SNAPCELL_SOCKET": os.path.join(cells.folder, "keeper.sock")}
    keeper = cells.lab.order(start=[cells.binary, "keeper"], env=env)["pid"]
    path = os.path.join(cells.folder, "session.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"network": {"rules": [{"allow": "*"}], "internal": RANGES, "within": {"rules": [KEY, REST], "internal": RANGES}}}, f)
    try:
        wait_for(lambda: cells.snapcell("session", "ls", env=env).code == 0)
        done = cells.snapcell("session", "start", *cells.accept, "--spec", path, env=env)
        assert done.code == 0, done.err
        name = done.out.decode().strip()
        done = cells.snapcell("session", "exec", "--json", name, "--", "curl", "-sS", "http://allowed.test/hello", env=env)
        assert json.loads(done.out)["stdout"].startswith("origin-ok") and SECRET.encode() not in done.out
        assert given(lab) == [("/hello", "X-Api-Key", [SECRET])]
        egress = [pid for pid, status in children(keeper) if status["Name"] == "snapcell-egress"]
        assert len(egress) == 1
        for pid in (keeper, egress[0]):
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                assert SECRET.encode() not in f.read()
        done = cells.snapcell("session", "pause", name, env=env)
        assert done.code != 0 and b"credentials" in done.err and SECRET.encode() not in done.err, done.err
        done = cells.snapcell("session", "exec", "--json", name, "--", "curl", "-sS", "http://allowed.test/hello", env=env)
        assert json.loads(done.out)["stdout"].startswith("origin-ok")
        done = cells.snapcell("session", "network", *INTERNAL, "--allow", "allowed.test", name, env=env)
        assert done.code == 0, done.err
        lab.seen()
        done = cells.snapcell("session", "exec", "--json", name, "--", "curl", "-sS", "http://allowed.test/hello", env=env)
        assert json.loads(done.out)["stdout"].startswith("origin-ok")
        # What stood within stays in force, and so does its credential.
        assert given(lab) == [("/hello", "X-Api-Key", [SECRET])]
    finally:
        os.kill(keeper, signal.SIGTERM)
        wait_for(lambda: not status_of(keeper) or status_of(keeper)["State"].startswith("Z"))
