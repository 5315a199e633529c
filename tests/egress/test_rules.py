"""Names, addresses, ports, protocols: what is allowed works, what is not fails as docs/egress.md says and is told."""
import pytest
from conftest import denials, records

ALLOWED = ["--allow", "allowed.test:*"]


def out(result):
    assert result["status"] == "ok", result
    return result["stdout"].splitlines()


def test_an_allowed_name_works_and_is_recorded(cells, lab):
    result = cells.python(ALLOWED, "print(get('http://allowed.test/hello'))")
    assert out(result) == ["origin-ok 198.51.100.10 80 allowed.test"]
    assert denials(result) == {}
    [record] = records(result, what="connection")
    assert record["verdict"] == "allowed" and record["name"] == "allowed.test" and record["address"] == "198.51.100.10"
    assert record["port"] == 80 and record["rule"] == "allowed.test:*" and record["count"] == 1
    assert record["bytes_out"] > 50 and record["bytes_in"] > 50
    assert {x[1] for x in lab.seen("dns")} == {"allowed.test"}


def test_without_rules_there_is_no_network_and_no_word_of_it(cells, lab):
    result = cells.snapcell("run", "--json", *cells.accept, "--python", "-c",
                            "import socket\ntry: socket.create_connection(('198.51.100.10', 80), 5)\nexcept OSError as e: print(e.errno)")
    assert b'"stdout": "101\\n"' in result.out and b'"network"' not in result.out.replace(b'"layer": "network"', b"")
    assert lab.seen() == []


def test_a_refused_name_is_not_found_and_nobody_is_asked(cells, lab):
    result = cells.python(ALLOWED, """
for name in ("denied.test", "secret.allowed.test", "a.b.exfil.test", "allowed.test.evil"):
    try: socket.getaddrinfo(name, 80)
    except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)
""")
    assert out(result) == ["True"] * 4
    assert set(denials(result, "resolve")) == {"denied.test", "secret.allowed.test", "a.b.exfil.test", "allowed.test.evil"}
    assert lab.seen() == []


def test_refused_can_be_the_answer(cells):
    question = """
q = bytes.fromhex("abcd01000001000000000000") + b"\\x06denied\\x04test\\x00\\x00\\x01\\x00\\x01"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20); s.connect(("9.9.9.9", 53)); s.send(q)
print(s.recv(512)[3] & 15)
"""
    rules = [{"allow": "allowed.test"}]
    assert out(cells.spec({"rules": rules}, question)) == ["3"]
    assert out(cells.spec({"rules": rules, "refuse_names": "refused"}, question)) == ["5"]


def test_other_ports_are_refused_at_once(cells, lab):
    result = cells.python(["--allow", "allowed.test:80"], "print(dial('allowed.test', 7)); print(get('http://allowed.test/hello')[:9])")
    assert out(result) == ["ECONNREFUSED", "origin-ok"]
    assert denials(result, "connect")["allowed.test:7"]["count"] >= 1
    assert lab.seen("tcp") == []


def test_a_port_that_another_name_has_is_reset(cells, lab):
    result = cells.python(["--allow", "allowed.test:80", "--allow", "both.test:7"], "print(outcome(dial('allowed.test', 7)))")
    assert out(result) == ["ECONNRESET"]
    assert "reset" in denials(result, "connect")["allowed.test:7"]["hint"]
    assert lab.seen("tcp") == []


def test_the_address_of_an_allowed_name_is_not_the_name(cells, lab):
    result = cells.python(ALLOWED, "print(dial('198.51.100.10', 80)); print(dial('198.51.100.20', 80)); print(dial('2001:db8:5::10', 80))")
    assert out(result) == ["ECONNREFUSED"] * 3
    assert "198.51.100.10:80" in denials(result, "connect")
    assert lab.seen() == []


def test_address_rules(cells, lab):
    result = cells.python(["--deny", "198.51.100.20", "--allow", "198.51.100.0/24:80", "--allow", "[2001:db8:5::/64]:80"], """
for host, port in (("198.51.100.10", 80), ("198.51.100.20", 80), ("198.51.100.10", 7), ("2001:db8:5::10", 80), ("203.0.113.9", 80)):
    print(outcome(dial(host, port), b"GET /hello HTTP/1.0\\r\\n\\r\\n")[:7])
""")
    assert out(result) == ["b'HTTP/", "ECONNRE", "ECONNRE", "b'HTTP/", "ECONNRE"]
    assert {(x[1], x[2]) for x in lab.seen("http")} == {("198.51.100.10", 80), ("2001:db8:5::10", 80)}


def test_only_tcp_leaves(cells):
    result = cells.python(["--network", "open"], """
for family, host in ((socket.AF_INET, "198.51.100.10"), (socket.AF_INET6, "2001:db8:5::10")):
    s = socket.socket(family, socket.SOCK_DGRAM)
    try: s.connect((host, 443)); s.send(b"x"); print("sent")
    except OSError as e: print(errno.errorcode[e.errno])
""")
    assert out(result) == ["EPERM", "EPERM"]
    assert set(denials(result, "send")) == {"198.51.100.10:443/udp", "2001:db8:5::10:443/udp"}


def test_own_loopback_stays_the_cells(cells, lab):
    result = cells.python(["--network", "open"], """
server = socket.create_server(("127.0.0.1", 5555)); print(isinstance(dial("127.0.0.1", 5555), socket.socket))
print(dial("127.0.0.1", 18555)); print(dial("::1", 18555)); print(outcome(dial("127.0.0.1", 64999)))
""")
    assert out(result) == ["True", "ECONNREFUSED", "ECONNREFUSED", "ECONNRESET"]
    assert lab.seen() == []


@pytest.mark.parametrize("name, why", [("loopback.test", "loopback"), ("metadata.test", "link-local"), ("private.test", "private"),
                                       ("nat64.test", "loopback"), ("own.test", "reserved")])
def test_names_that_lie_where_they_should_not(cells, lab, name, why):
    result = cells.python(["--allow", "*"], "print(outcome(dial('%s', 80)))" % name)
    assert out(result) == ["ECONNRESET"]
    [record] = records(result, what="connection", verdict="denied")
    assert record["name"] == name and why in record["reason"]
    assert lab.seen("http") == []


def test_the_hosts_own_addresses_are_refused_though_public(cells, lab):
    """In no special range, but the lab's own."""
    ask = "print(outcome(dial('%s', 80), b'GET /hello HTTP/1.0\\r\\n\\r\\n')[:6])"
    for rules, host in ((["--allow", "ours.test"], "ours.test"), (["--allow", "198.51.99.9"], "198.51.99.9"), (["--network", "open"], "198.51.99.9")):
        result = cells.python(rules, ask % host)
        assert out(result) == ["ECONNR"]
        assert records(result, what="connection", verdict="denied")[0]["reason"] == "this host's own address"
        assert lab.seen("http") == []
    assert out(cells.python(["--allow", "ours.test", "--internal", "198.51.99.9"], ask % "ours.test")) == ["b'HTTP"]


def test_rebinding(cells, lab):
    result = cells.python(["--allow", "rebind.test"], """
seen = [get("http://rebind.test/hello")[:24] for _ in range(6)]
print(json.dumps(sorted(set(seen))))
""")
    assert result["status"] == "ok"
    assert all(x[1] == "198.51.100.10" for x in lab.seen("http"))


def test_redirects_are_judged_like_any_connection(cells, lab):
    result = cells.python(["--allow", "allowed.test"], """
for to in ("http://denied.test/hello", "http://198.51.100.20/hello", "http://127.0.0.1:18555/hello", "http://allowed.test/hello"):
    print(get("http://allowed.test/redirect?to=" + to)[:9])
""")
    assert out(result) == ["failed: [", "failed: [", "failed: [", "origin-ok"]
    assert {x[1] for x in lab.seen("http")} == {"198.51.100.10"}


def test_an_origin_with_v6_only(cells, lab):
    assert out(cells.python(["--allow", "six.test"], "print(get('http://six.test/hello'))")) == ["origin-ok 2001:db8:5::10 80 six.test"]


def test_dead_origins_and_missing_names_are_resets_with_a_reason(cells):
    result = cells.python(["--allow", "*:81", "--allow", "*"], "print(outcome(dial('allowed.test', 81))); print(outcome(dial('missing.test', 80)))")
    assert out(result) == ["ECONNRESET", "ECONNRESET"]
    assert records(result, name="allowed.test")[0]["reason"] == "allowed, but there was no connection to be had"
    assert records(result, name="missing.test")[0]["reason"] == "allowed, but the name does not resolve"


def test_two_layers_must_allow(cells, lab):
    network = {"mode": "open", "within": {"rules": [{"allow": "allowed.test"}], "internal": ["198.51.100.0/24"]}}
    result = cells.spec(network, "print(get('http://allowed.test/hello')[:9]); print(get('http://denied.test/hello')[:6])")
    assert out(result) == ["origin-ok", "failed"]
    network["within"]["internal"] = []
    assert out(cells.spec(network, "print(get('http://allowed.test/hello')[:6])")) == ["failed"]
    assert len(lab.seen("http")) == 1


def test_ten_thousand_questions(cells, lab):
    result = cells.python(["--allow", "*.allowed.test", "--allow", "allowed.test"], """
def ask(name, kind=1):
    return b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\\0" + struct.pack(">HH", kind, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(30); s.connect(("192.0.2.53", 53))
bad, addresses = 0, set()
for i in range(10000):
    refused = i % 2
    s.send(ask("n%d.%s.test" % (i % 3000, "denied" if refused else "allowed")))
    a = s.recv(512)
    bad += (a[3] & 15) != (3 if refused else 0)
    if not refused: addresses.add(a[-4:])
print(bad, len(addresses), all(a[:2] == b"\\xc6\\x12" for a in addresses))
t = socket.create_connection(("192.0.2.53", 53), 30); q = ask("allowed.test", 28); t.sendall(struct.pack(">H", len(q)) + q)
n = struct.unpack(">H", t.recv(2))[0]; a = t.recv(n); print(a[3] & 15, a[-16:-12].hex())
t.sendall(b"\\xff\\xff" + b"x" * 600)
try: print(t.recv(10))
except OSError: print(b"")
s.send(ask("allowed.test", 16)); a = s.recv(512); print(a[3] & 15, a[7])
for junk in (b"", b"x", b"\\0" * 12, b"\\xff" * 512, ask("a" * 63 + ".allowed.test")[:-3]): s.send(junk)
s.send(ask("allowed.test")); s.settimeout(5)
answers = [s.recv(512)]
while answers[-1][-4:-2] != b"\\xc6\\x12": answers.append(s.recv(512))
print("still there")
""")
    assert out(result) == ["0 1500 True", "0 20010002", "b''", "0 0", "still there"]
    assert lab.seen() == []
    assert sum(x["count"] for x in result["denials"]) >= 5000
