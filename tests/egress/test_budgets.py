"""Budgets of single rules: what one rule lets pass does not count for another's."""
from conftest import denials, records
from test_rules import out


def test_connections_of_a_rule(cells):
    result = cells.spec({"rules": [{"allow": "allowed.test:7", "connections": 2}, {"allow": "both.test:7"}]}, """
held = [dial("allowed.test", 7) for _ in range(2)]
print([outcome(s) for s in held], outcome(dial("allowed.test", 7)), outcome(dial("both.test", 7)))
held[0].close()
while (last := outcome(dial("allowed.test", 7))) == "ECONNRESET": time.sleep(0.05)
print(last)
""")
    assert out(result) == ["[\"b'x'\", \"b'x'\"] ECONNRESET b'x'", "b'x'"]
    denied = denials(result, "connect")["allowed.test:7"]
    assert denied["rule"] == "allowed.test:7" and "budget of connections is used up" in denied["hint"]


def test_bytes_of_a_rule(cells):
    for field, way in (("bytes_in", "get('http://allowed.test/big?1000000')"), ("bytes_out", "outcome(dial('allowed.test', 10), b'x' * 30000)")):
        result = cells.spec({"rules": [{"allow": "allowed.test:7-80", field: 20000}, {"allow": "both.test:7"}]}, """
%s
while (last := outcome(dial("allowed.test", 7))) != "ECONNRESET": time.sleep(0.05)
print(last, outcome(dial("both.test", 7)))
""" % way)
        assert out(result) == ["ECONNRESET b'x'"]
        denied = denials(result, "connect")["allowed.test:7"]
        assert denied["rule"] == "allowed.test:7-80" and "budget of %s is used up" % field in denied["hint"]
        assert sum(x[field] for x in records(result, name="allowed.test", what="connection")) <= 20000


def test_a_rule_of_a_layer_below_has_its_budget(cells):
    result = cells.spec({"rules": [{"allow": "*:7"}], "within": {"internal": ["198.51.100.0/24"], "rules": [{"allow": "allowed.test:7", "connections": 1},
                                                                                      {"allow": "*:7"}]}}, """
held = dial("allowed.test", 7); print(outcome(held), outcome(dial("allowed.test", 7)), outcome(dial("both.test", 7)))
""")
    assert out(result) == ["b'x' ECONNRESET b'x'"]


def test_a_layer_below_has_budgets_for_all(cells):
    """A tenant's or a template's, which a request can not widen."""
    below = {"internal": ["198.51.100.0/24"], "rules": [{"allow": "*:7-80"}]}
    result = cells.spec({"rules": [{"allow": "*:7"}], "connections": 100, "within": dict(below, connections=1)}, """
held = dial("allowed.test", 7); print(outcome(held), outcome(dial("both.test", 7)))
""")
    assert out(result) == ["b'x' ECONNRESET"]
    result = cells.spec({"rules": [{"allow": "*:7-80"}], "bytes_in": 1000000, "within": dict(below, bytes_in=20000)}, """
get("http://allowed.test/big?1000000")
while (last := outcome(dial("both.test", 7))) != "ECONNRESET": time.sleep(0.05)
print(last)
""")
    assert out(result) == ["ECONNRESET"] and sum(x["bytes_in"] for x in records(result, what="connection")) <= 20000


def test_budgets_of_address_rules(cells):
    result = cells.spec({"rules": [{"allow": "198.51.100.10:7", "connections": 1}]}, """
held = dial("198.51.100.10", 7); print(outcome(held), outcome(dial("198.51.100.10", 7)))
""")
    assert out(result) == ["b'x' ECONNRESET"]


def test_bandwidth_of_a_rule(cells):
    """One rule is held up, the other is not: no time is measured but the held one's, which cannot be faster."""
    result = cells.spec({"rules": [{"allow": "allowed.test", "bytes_per_second": 1000000}, {"allow": "both.test"}]}, """
import threading
ends = {}
def load(host): ends[host] = (len(get("http://%s/big?2500000" % host, 50)), time.monotonic())
begun = time.monotonic()
threads = [threading.Thread(target=load, args=(host,)) for host in ("allowed.test", "both.test")]
for t in threads: t.start()
for t in threads: t.join()
print(ends["allowed.test"][0], ends["both.test"][0], ends["allowed.test"][1] - begun > 2.0)
""")
    assert out(result) == ["2500000 2500000 True"]
