"""Two tenants, one of them hostile: it can not name, read, change or tell apart from nothing what is the other's, nor can its programs."""
import json
import os
import statistics
import subprocess
import time

import pytest
from conftest import DEGRADED, PATIENCE, Service, make_folder, until

SECRET = "victims-secret-4711"
# What a request of each kind needs to get as far as the session; those without a row need nothing.
BODIES = {
    "/run": {"language": "python", "code": "1"}, "/exec": {"command": ["true"]}, "/commands": {"command": ["true"]}, "/interrupt": {},
    "/keepalive": {}, "/network": {"network": {"mode": "none"}}, "/fork": {}, "/snapshot": {}, "/rollback": {"snapshot": "none"},
    "/contexts/{context}/restart": {}, "/commands/{process}/stdin": b"x", "/commands/{process}/resize": {"rows": 10, "cols": 10},
    "/commands/{process}/signal": {"signal": "KILL"}, "PUT /files/{path}": b"x", "PATCH /files/{path}": {"to": "y"}, "PUT /tar": b"x",
}
# What the victim leaves wherever a program may leave something; it stays as long as its session.
LEAVE = """
import os, socket, subprocess, mmap
for path in ("/home/user/left", "/tmp/left", "/dev/shm/left"):
    open(path, "w").write("%s")
os.environ["SECRET"] = "%s"
kept = socket.socket(socket.AF_UNIX); kept.bind("\\0left"); kept.listen()
port = socket.socket(); port.bind(("127.0.0.1", 4711)); port.listen()
child = subprocess.Popen(["/bin/sleep", "1000"])
fd = os.memfd_create("left"); os.write(fd, b"%s")
print(os.getpid())
""" % (SECRET, SECRET, SECRET)
# What the hostile one finds of it.
LOOK = """
import os, socket
found = [x for x in ("/home/user/left", "/tmp/left", "/dev/shm/left") if os.path.exists(x)]
def reached(family, where):
    s = socket.socket(family)
    try: s.connect(where)
    except OSError: return []
    return [where]
found += reached(socket.AF_UNIX, "\\0left") + reached(socket.AF_INET, ("127.0.0.1", 4711))
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("cmdline", "environ"):
        try: text = open("/proc/%s/%s" % (pid, name), "rb").read()
        except OSError: continue
        if b"4711" in text or b"sleep" in text: found.append((pid, name))
for folder in ("/proc/sysvipc/shm", "/proc/net/unix"):
    try: found += [x for x in open(folder).read().splitlines()[1:] if "left" in x or "sysvipc" in folder]
    except OSError: pass
for above, folders, names in os.walk("/", onerror=None):
    folders[:] = [x for x in folders if os.path.join(above, x) not in ("/proc", "/sys", "/usr")]
    found += [os.path.join(above, x) for x in names if x == "left"]
print(found)
"""


@pytest.fixture(scope="module")
def two(binary):
    """A service and a function that asks it as one of two tenants."""
    folder = make_folder()
    service = Service(binary, folder)
    with open(folder + "/dev/tenants.new", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "standard": {"allow_degraded": DEGRADED}}, f)
    os.chmod(folder + "/dev/tenants.new", 0o600)
    os.rename(folder + "/dev/tenants.new", folder + "/dev/tenants.json")
    keys = {}
    for name in ("victim", "hostile"):
        done = subprocess.run([binary, "key", "add", "--state", folder + "/dev", "--tenant", name], capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        keys[name] = {"X-API-Key": done.stdout.decode().strip()}

    def ask(who, method, path, body=None, **more):
        headers = dict(keys[who], **({"Content-Type": "application/octet-stream"} if isinstance(body, bytes) else {}))
        return service(method, path, body, headers=headers, **more)
    ask.service, ask.keys = service, keys
    until(lambda: ask("victim", "POST", "/v1/run", service.cell(language="python", code="1")).status == 200, "the tenants")
    yield ask
    assert service.end() == 0
    service.errors.close()
    subprocess.run(["rm", "-r", folder], check=True)


@pytest.fixture(scope="module")
def session(two):
    """The victim's, with what it has left everywhere."""
    made = two("victim", "POST", "/v1/sessions", two.service.cell(metadata={"note": SECRET})).json()["session"]
    ran = two("victim", "POST", "/v1/sessions/%s/run" % made, {"language": "python", "code": LEAVE}).json()
    assert ran["status"] == "ok", ran
    return made


def routes(two):
    """(method, path below a session, body) of all that the service's own document has."""
    document = two.service.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        below = path.partition("/v1/sessions/{session}")[2]
        for method in methods if "/v1/sessions/{session}" in path else ():
            method = method.upper()
            if method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                yield method, below, BODIES.get(method + " " + below, BODIES.get(below) if method in ("POST", "PUT") else None)


@pytest.fixture(scope="module")
def command(two, session):
    """The number of a command of the victim's that somebody follows."""
    connection = two.service.connect()
    headers = {"Content-Type": "application/json", **two.keys["victim"]}
    connection.request("POST", "/v1/sessions/%s/commands" % session, json.dumps({"command": ["cat"], "stdin": True}).encode(), headers)
    response = connection.getresponse()
    assert response.status == 200, response.read()
    number = json.loads(response.readline())["data"]["process"]
    yield number
    assert two("victim", "POST", "/v1/sessions/%s/commands/%d/stdin?end=true" % (session, number), b"the victim's").status == 204
    # Nobody else's words came to it, and nobody has ended it.
    events = [json.loads(x) for x in response.read().splitlines()]
    assert "".join(x["data"]["text"] for x in events if x["event"] == "stdout") == "the victim's"
    assert events[-1]["data"]["status"] == "ok"
    connection.close()


def test_ones_session_is_nothing_to_another(two, session, command):
    """Each route answers for it as for one that never was, to the letter."""
    never, asked = "0" * len(session), 0
    for method, below, body in routes(two):
        filled = below.replace("{context}", "default").replace("{process}", str(command)).replace("{path}", "left").replace("{port}", "8080/")
        answers = [two("hostile", method, "/v1/sessions/" + name + filled, body) for name in (session, never)]
        assert answers[0].status == answers[1].status == 404, (method, below, answers[0].body, answers[1].body)
        texts = [json.dumps({k: v for k, v in x.headers.items() if k not in ("date", "x-request-id")}, sort_keys=True) + x.body.decode()
                 for x in answers]
        assert texts[0] == texts[1].replace(never, session), (method, below)
        asked += 1
    assert asked > 25
    assert two("victim", "GET", "/v1/sessions/%s/files/left" % session).body == SECRET.encode()


def test_lists_and_figures_tell_ones_own_only(two, session):
    for path in ("/v1/sessions", "/v1/sessions?name=" + session, "/v1/snapshots", "/metrics"):
        answer = two("hostile", "GET", path)
        assert answer.status in (200, 422) and session.encode() not in answer.body and SECRET.encode() not in answer.body, path
    assert b"victim" not in two("hostile", "GET", "/metrics").body
    assert [x["session"] for x in two("victim", "GET", "/v1/sessions").json()["sessions"]] == [session]


def test_how_long_it_takes_tells_nothing(two, session):
    """Answers about the two come one after the other, so that noise meets both: half of the time, and a millisecond, is more than
    a look at what is there would show."""
    times = {session: [], "0" * len(session): []}
    connection = two.service.connect()
    for _ in range(150):
        for name, taken in times.items():
            began = time.perf_counter()
            assert two("hostile", "GET", "/v1/sessions/" + name, connection=connection).status == 404
            taken.append(time.perf_counter() - began)
    connection.close()
    first, second = map(statistics.median, times.values())
    assert abs(first - second) < 0.5 * max(first, second) + 0.001, (first, second)


def test_a_program_finds_nothing_of_anothers(two, session):
    """In a single run and in a session, while the victim's programs live."""
    ran = two("hostile", "POST", "/v1/run", two.service.cell(language="python", code=LOOK)).json()
    assert (ran["status"], ran["stdout"]) == ("ok", "[]\n"), ran
    own = "/v1/sessions/" + two("hostile", "POST", "/v1/sessions", two.service.cell()).json()["session"]
    ran = two("hostile", "POST", own + "/run", {"language": "python", "code": LOOK}).json()
    assert (ran["status"], ran["stdout"]) == ("ok", "[]\n"), ran
    assert two("hostile", "DELETE", own).status == 200
    ran = two("victim", "POST", "/v1/sessions/%s/run" % session, {"language": "python", "code": LOOK}).json()
    assert ran["status"] == "ok" and ran["stdout"].count("left") >= 4 and "4711" in ran["stdout"], ran  # it does find what is there
