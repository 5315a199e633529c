"""Rules about requests over TLS: it ends outside the cell at an authority of the cell's own, and the upstream's certificate is
checked there. What no rule is about is not looked into."""
import base64
import json
import os
import signal

import pytest

from conftest import HELP, INTERNAL, records
from test_process import wait_for
from test_requests import ASK
from test_rules import out

SECRET = "s3cret-4712"
RANGES = [x for x in INTERNAL if x[0] != "-"]
RULE = {"allow": "allowed.test:443", "http": ["GET /hello", "GET /big*", "POST /in/*"]}
KEY = dict(RULE, credential={"header": "X-Api-Key", "value": SECRET})
SAFE = ASK + """
def safe(name="allowed.test", server=None, **more):
    context, sock = ssl.create_default_context(), dial(name, more.get("port", 443))
    if isinstance(sock, str): return sock
    if "alpn" in more: context.set_alpn_protocols(more["alpn"])
    try: return context.wrap_socket(sock, server_hostname=server or name)
    except ssl.SSLError as e: return type(e).__name__
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
def tell(sock, *more):
    # Python takes a reset under TLS for an end.
    try: said = sock if isinstance(sock, str) else ask(sock, *more)
    except (IndexError, ssl.SSLError): said = "gone"
    return "gone" if said in ("ECONNRESET", "EPIPE", "SSLEOFError", "SSLError", "ConnectionResetError") else said
def one(line, *more): return tell(safe(), line, *more)
"""


class Https:
    """Cells of somebody who trusts the lab's certificate."""

    def __init__(self, cells, lab):
        self.cells = cells
        self.env = {"SNAPCELL_UPSTREAM_CA": os.path.join(lab.folder, "cert.pem")}

    def request(self, rules, trust=None, **request):
        network = {"rules": rules, "internal": RANGES}
        path = os.path.join(self.cells.folder, "spec.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(dict({"network": network, "limits": {"wall_ms": 120000}}, **request), f)
        done = self.cells.snapcell("run", "--json", *self.cells.accept, "--spec", path, env=self.env if trust is None else trust)
        assert done.err == b"", done.err
        return json.loads(done.out)

    def python(self, rules, code, **more):
        return self.request(rules, language="python", code=HELP + SAFE + code, **more)

    def bash(self, rules, code, **more):
        return self.request(rules, language="bash", code=code, **more)


@pytest.fixture
def https(cells, lab):
    return Https(cells, lab)


def given(lab):
    return [tuple(x[1:]) for x in lab.seen("credential")]


def reasons(result):
    return {(x["rule"], x["reason"]) for x in records(result, what="connection", verdict="denied")}


def test_what_a_rule_names_passes_and_the_rest_does_not(https, lab):
    result = https.python([RULE], """
print(one("GET /hello"), one("GET /big?100000"), one("POST /in/x", "Content-Length: 3\\r\\n", "abc"))
print(one("GET /other"), one("POST /hello"), one("GET /big/../other"))
s = safe(); print(tell(s, "GET /hello"), tell(s, "GET /hello"), tell(s, "GET /other"))
print(get("https://allowed.test/hello"))
""")
    assert out(result) == ["200 200 200", "gone gone gone", "200 200 gone", "origin-ok 198.51.100.10 443 allowed.test"]
    assert {x[4] for x in lab.seen("http")} == {"/hello", "/big?100000"}
    assert reasons(result) == {("http", "no rule allows this request: GET /other"), ("http", "no rule allows this request: POST /hello"),
                               ("http_host", "it cannot be told whom a request is for, or where it ends")}


def test_a_credential_goes_to_the_upstream_and_is_nowhere_else(https, lab):
    result = https.python([KEY], """
print(one("GET /hello", "X-Api-Key: mine\\r\\n"), one("GET /other"))
found = 0
for pid in [x for x in os.listdir("/proc") if x.isdigit()]:
    for name in ("environ", "cmdline", "maps"):
        try: found += (b"s3cret" + b"-4712") in open("/proc/%s/%s" % (pid, name), "rb").read()
        except OSError: pass
for folder in ("/run", "/etc", "/tmp", "/home", "/dev/shm"):
    for top, _, names in os.walk(folder):
        for name in names:
            try: found += (b"s3cret" + b"-4712") in open(os.path.join(top, name), "rb").read() and name != "main.py"
            except OSError: pass
print(found)
""")
    assert out(result) == ["200 gone", "0"]
    assert given(lab) == [("/hello", "X-Api-Key", [SECRET])]
    assert SECRET not in json.dumps(result)


def test_programs_trust_it_without_any_setting(https, lab):
    code = "https://allowed.test/hello"
    result = https.bash([KEY], """
curl -sS %s; echo
/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("%s").read().decode())'
/usr/bin/python3 -c 'from pip._vendor import requests; print(requests.get("%s").text)'
node --no-warnings -e 'fetch("%s").then(r => r.text()).then(console.log)'
curl -sS https://allowed.test/other || echo refused
""" % (code, code, code, code))
    assert out(result) == ["origin-ok 198.51.100.10 443 allowed.test"] * 4 + ["refused"], result
    assert given(lab) == [("/hello", "X-Api-Key", [SECRET])] * 4


def test_git_pip_and_npm_trust_it(https, lab):
    """They come so far as to be told that there is no such thing. A host's settings of npm may name another file."""
    result = https.bash([{"allow": "allowed.test:443", "http": ["GET /*"]}], """
git ls-remote https://allowed.test/none.git 2>&1 | grep -o 'not found'
/usr/bin/python3 -m pip download -q --disable-pip-version-check --index-url https://allowed.test/none/ small 2>&1 | grep -o 'No matching distribution'
npm_config_cafile=$NODE_EXTRA_CA_CERTS npm view --fetch-retries 0 --registry https://allowed.test/none/ small 2>&1 | grep -o 'E404' | sort -u
""")
    assert out(result) == ["not found", "No matching distribution", "E404"], result
    assert {"/none.git/info/refs", "/none/small/", "/none/small"} <= {x[4].split("?")[0] for x in lab.seen("http")}


def test_a_certificate_of_somebody_else_is_refused(https, lab):
    """Of nobody who is trusted, and of another name. Nothing is sent to it."""
    code = 'print(one("GET /hello"))'
    result = https.python([KEY], code, trust={})
    assert out(result) == ["gone"]
    assert reasons(result) == {("tls_upstream", "the upstream's certificate is refused: self-signed certificate")}
    result = https.python([dict(KEY, allow="www.allowed.test:443")], 'print(tell(safe("www.allowed.test"), "GET /hello"))')
    assert out(result) == ["gone"]
    assert reasons(result) == {("tls_upstream", "the upstream's certificate is refused: hostname mismatch")}
    assert given(lab) == [] and lab.seen("http") == []


def test_names_must_agree(https, lab):
    """What was looked up, the name in TLS, and the Host of each request."""
    result = https.python([KEY, {"allow": "denied.test:443", "http": ["GET /*"]}], """
print(tell(safe(server="denied.test"), "GET /hello"), tell(safe("denied.test", "allowed.test"), "GET /hello"))
plain = ssl.create_default_context(); plain.check_hostname = False
try: print(plain.wrap_socket(dial("allowed.test", 443)))
except OSError: print("gone")
s = safe("denied.test"); print(tell(s, "GET /hello"))
print(one("GET /hello"))
""")
    assert out(result) == ["gone gone", "gone", "gone", "200"]
    assert {("tls_sni", "the name in it is not the one that was looked up"), ("tls_sni", "it names nobody, where requests are looked into"),
            ("http_host", "the name in it is not the one that was looked up")} == reasons(result)
    assert given(lab) == [("/hello", "X-Api-Key", [SECRET])]


def test_only_http1_over_tls_goes_there(https, lab):
    result = https.python([KEY, {"allow": "allowed.test:80", "http": ["GET /hello"]}], """
print(tell(safe(alpn=["h2"]), "GET /hello"), tell(safe(alpn=["h2", "http/1.1"]), "GET /hello"))
print(outcome(dial("allowed.test", 443), b"GET /hello HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n"))
print(outcome(dial("allowed.test", 443), b"\\x16\\x03\\x01\\x00\\x05hello")[:6] in ("ECONNR", "b'\\\\x15"), tell(safe(port=80), "GET /hello"))
print(ask(dial("allowed.test", 80), "GET /hello"))
""")
    assert out(result) == ["gone 200", "ECONNRESET", "True gone", "200"]
    assert ("tls_sni", "it does not offer HTTP/1, and nothing else is looked into") in reasons(result)
    assert given(lab) == [("/hello", "X-Api-Key", [SECRET])]


def test_other_names_are_not_looked_into(https, lab):
    """They show the origin's own certificate, which the cell's authority has not made; without such a rule nothing is there to trust."""
    with open(os.path.join(lab.folder, "cert.pem"), encoding="ascii") as f:
        origin = f.read()
    code = """
print(ssl.get_server_certificate(("%s", 443)) == ORIGIN, os.path.exists("/run/snapcell/ca.pem"), sum(x in os.environ for x in TRUST))
""" 
    head = "ORIGIN = %r\nTRUST = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO']\n" % origin
    rest = {"allow": "denied.test:443"}
    assert out(https.python([KEY, rest], head + code % "denied.test" + code % "allowed.test")) == ["True True 5", "False True 5"]
    assert out(https.python([rest], head + code % "denied.test")) == ["True False 0"]


def test_who_is_trusted_is_the_cells_own(https):
    """Each cell has another authority; programs cannot write to the file, and their own settings stay."""
    code = """
import hashlib
bundle = open(os.environ["CURL_CA_BUNDLE"], "rb").read()
print(hashlib.sha256(bundle[:bundle.index(b"-----END")]).hexdigest(), bundle.count(b"-----BEGIN") > 1, os.environ["SSL_CERT_FILE"])
for path in ("/run/snapcell/ca.pem", "/run/snapcell/new"):
    try: open(path, "w"); print("written")
    except OSError as e: print(errno.errorcode[e.errno])
"""
    first, second = (out(https.python([RULE], code)) for _ in range(2))
    assert first[0].split()[1:] == ["True", "/run/snapcell/ca.pem"] and first[1:] == ["EACCES", "EACCES"], first
    assert first[0].split()[0] != second[0].split()[0]
    result = https.python([RULE], 'print(os.environ["SSL_CERT_FILE"], os.environ["CURL_CA_BUNDLE"])', env={"SSL_CERT_FILE": "/mine"})
    assert out(result) == ["/mine /run/snapcell/ca.pem"]


def test_large_bodies_both_ways(https, lab):
    result = https.python([RULE], """
body = "x" * 3000000
print(one("POST /in/y", "Content-Length: %d\\r\\n" % len(body), body))
print(len(get("https://allowed.test/big?5000000")))
""")
    assert out(result) == ["200", "5000000"]
    assert [len(x[2]) for x in lab.seen() if x[0] == "post"] == [3000000]


def test_another_port_by_tls_and_a_missing_bundle(https, cells):
    """`tls` makes requests on any port come so; where upstreams could be trusted by nobody the cell is not made."""
    result = https.python([{"allow": "allowed.test:80", "http": ["GET /hello"], "tls": True}], """
print(outcome(dial("allowed.test", 80), b"GET /hello HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n"), tell(safe(port=80), "GET /hello"))
""")
    assert out(result) == ["ECONNRESET gone"]
    assert any(rule == "tls_upstream" for rule, _ in reasons(result))
    https.env = {"SNAPCELL_UPSTREAM_CA": os.path.join(cells.folder, "nothing.pem")}
    path = os.path.join(cells.folder, "spec.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"command": ["/bin/true"], "network": {"rules": [RULE]}}, f)
    done = cells.snapcell("run", *cells.accept, "--spec", path, env=https.env)
    assert done.code != 0 and b"SNAPCELL_UPSTREAM_CA=" in done.err and b"No such file" in done.err, done.err


def test_options_say_the_same(https, cells, lab):
    """And a credential comes from a file, or a descriptor."""
    secret = os.path.join(cells.folder, "secret")
    with open(secret, "w", encoding="ascii") as f:
        f.write(SECRET + "\n")
    with open(secret + ".basic", "w", encoding="ascii") as f:
        f.write("user:pass")
    line = [cells.binary, "run", "--json", "--wall", "60s", *cells.accept, *INTERNAL]
    asks = ["--bash", "-c", "curl -sS https://allowed.test/hello; curl -sS https://allowed.test/other; curl -sS http://allowed.test/hello"]
    words = line + ["--allow", "allowed.test:443", "--http", "GET /hello", "--http", "POST /*", "--credential-header", "X-Api-Key=/dev/fd/3",
                    "--allow", "allowed.test:80", "--credential-basic", secret + ".basic", *asks]
    done = lab.order(run=["bash", "-c", 'exec 3< "$1"; shift; "$@"', "bash", secret, *words], env=https.env)
    result = json.loads(base64.b64decode(done["out"]))
    assert result["stdout"] == "origin-ok 198.51.100.10 443 allowed.testorigin-ok 198.51.100.10 80 allowed.test", result
    assert given(lab) == [("/hello", "X-Api-Key", [SECRET]), ("/hello", "Authorization", ["Basic dXNlcjpwYXNz"])]
    assert SECRET not in json.dumps(result) and SECRET not in json.dumps(words)
    for words, says in ((["--http", "GET /"], b"--http GET /: it is about the rule before it"),
                        (["--allow", "preset:pypi", "--http", "GET /"], b"--http GET /: it is about the rule before it"),
                        (["--deny", "a.test", "--credential-basic", secret], b"it is about the rule before it"),
                        (["--allow", "a.test:443", "--credential-basic", secret], b"credential-basic.basic: allowed: USER:PASSWORD"),
                        (["--allow", "a.test:443", "--credential-header", "X-Key"], b"--credential-header X-Key: allowed: NAME=FILE"),
                        (["--allow", "a.test:443", "--credential-header", "X-Key=/nowhere"], b"No such file or directory"),
                        (["--allow", "a.test:443", *["--credential-basic", secret + ".basic"] * 2], b"has a credential already"),
                        (["--allow", "a.test", "--credential-header", "X-Key=" + secret], b"allowed with ports of one kind, as in a.test:443")):
        done = cells.snapcell("run", *words, "--", "true")
        assert done.code == 2 and says in done.err and SECRET.encode() not in done.err, done.err


class Kept:
    """The same by a keeper."""

    def __init__(self, https):
        self.cells = https.cells
        self.env = dict(https.env, SNAPCELL_SOCKET=os.path.join(self.cells.folder, "keeper.sock"))
        self.pid = self.cells.lab.order(start=[self.cells.binary, "keeper", "--pool", "2"], env=self.env)["pid"]
        wait_for(lambda: self.session("ls").code == 0)

    def session(self, *words):
        return self.cells.snapcell("session", *words, env=self.env)

    def spec(self, rules, **request):
        path = os.path.join(self.cells.folder, "kept.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(dict({"network": {"rules": rules, "internal": RANGES}}, **request), f)
        return path

    def start(self, rules, *options):
        done = self.session("start", *self.cells.accept, *options, "--spec", self.spec(rules))
        assert done.code == 0, done.err
        return done.out.decode().strip()

    def curl(self, session):
        done = self.session("exec", "--json", session, "--", "curl", "-sS", "https://allowed.test/hello")
        return json.loads(done.out)["stdout"]


@pytest.fixture
def kept(https):
    made = Kept(https)
    yield made
    os.kill(made.pid, signal.SIGTERM)


def test_sessions_have_it_from_their_start(kept, lab):
    with_it, without = kept.start([KEY]), kept.start([{"allow": "denied.test"}])
    assert kept.curl(with_it) == kept.curl(with_it) == "origin-ok 198.51.100.10 443 allowed.test"
    assert given(lab) == [("/hello", "X-Api-Key", [SECRET])] * 2
    done = kept.session("network", *INTERNAL, "--allow", "allowed.test", with_it)
    assert done.code == 0 and "failed" not in kept.curl(with_it), done.err
    secret = os.path.join(kept.cells.folder, "secret")
    with open(secret, "w", encoding="ascii") as f:
        f.write(SECRET + "\n")
    more = ["--allow", "allowed.test:443", "--credential-header", "X-Api-Key=" + secret]
    done = kept.session("network", *INTERNAL, *more, without)
    assert done.code == 2 and b"no authority of its own" in done.err, done.err
    done = kept.session("network", *INTERNAL, *more, with_it)
    assert done.code == 0 and "failed" not in kept.curl(with_it), done.err
    done = kept.session("exec", "--json", without, "--", "sh", "-c", "ls /run/snapcell; echo $SSL_CERT_FILE")
    assert json.loads(done.out)["stdout"].strip() == ""


def test_each_fork_has_an_authority_of_its_own(kept):
    first = kept.start([RULE], "--forkable")
    done = kept.session("fork", first)
    assert done.code == 0, done.err
    second = done.out.decode().split()[-1]
    heads = []
    for session in (first, second):
        assert kept.curl(session) == "origin-ok 198.51.100.10 443 allowed.test"
        heads.append(json.loads(kept.session("exec", "--json", session, "--", "sed", "/-----END/q", "/run/snapcell/ca.pem").out)["stdout"])
    assert heads[0].count("BEGIN CERTIFICATE") == heads[1].count("BEGIN CERTIFICATE") == 1 and heads[0] != heads[1]


def test_runs_that_would_be_served_by_a_cell_that_waits_are_cold(kept):
    path = kept.spec([RULE], language="python", mode="rich", code="import urllib.request as u; print(u.urlopen('https://allowed.test/hello').read().decode())")
    for _ in range(3):
        done = kept.cells.snapcell("run", "--warm", "--json", *kept.cells.accept, "--spec", path, env=kept.env)
        result = json.loads(done.out)
        assert (result["stdout"], result["start"]["kind"]) == ("origin-ok 198.51.100.10 443 allowed.test\n", "cold"), result
