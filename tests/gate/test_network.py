"""Tenants and the network: the operator's rules are the ceiling of what requests ask for. Nothing leaves the host: names are only
looked up, and those are answered inside."""
import json

from conftest import DEGRADED, until

LOOK = "import socket\nfor name in ('a.example', 'b.example'):\n    try: print(socket.gethostbyname(name))\n    except OSError: print('refused')"


def look(service, key, session=None, **more):
    body = dict({"language": "python", "code": LOOK}, **more)
    answer = service.post(session + "/run" if session else "/v1/run", body if session else service.cell(**body), headers=key)
    return answer.json()["stdout"].split() if answer.status == 200 else answer


def test_a_tenant_has_no_network_of_its_own_making(shared):
    for network in ({"mode": "open"}, {"rules": [{"allow": "a.example"}]}, {"rules": [{"allow": "127.0.0.1:*"}]}):
        shared.post("/v1/run", shared.cell(language="python", code="1", network=network)).problem(422, "usage", "network")
        shared.post("/v1/sessions", shared.cell(network=network)).problem(422, "usage", "network")


def test_the_operators_rules_are_the_ceiling(services):
    service = services()
    key = {"X-API-Key": service.key}
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "standard": {"network": {"rules": [{"allow": "a.example"}]}, "allow_degraded": DEGRADED}}, f)
    until(lambda: isinstance(look(service, key, network={"mode": "open"}), list), "the new row")
    assert look(service, key, network={"mode": "open"}) == ["198.18.0.1", "refused"]
    assert look(service, key, network={"rules": [{"allow": "b.example"}]}) == ["refused", "refused"]
    assert look(service, key) == ["refused", "refused"]
    session = "/v1/sessions/" + service.post("/v1/sessions", service.cell(network={"rules": [{"allow": "*"}]}), headers=key).json()["session"]
    assert look(service, key, session) == ["198.18.0.1", "refused"]
    for network, seen in (({"mode": "none"}, ["refused", "refused"]), ({"mode": "open"}, ["198.18.0.1", "refused"])):
        changed = service("PUT", session + "/network", {"network": network}, headers=key)
        assert changed.status == 204, changed.body
        assert look(service, key, session) == seen
    service("PUT", session + "/network", {"network": {"mode": "all"}}, headers=key).problem(422, "usage", "network.mode")
    service("PUT", session + "/network", {}, headers=key).problem(422, "usage", "network")
