"""A gate as docs/keeper.md tells it, for tests: the door, its connections, keys, tokens."""
import json
import os
import secrets
import socket
import struct

import wire
from conftest import Keeper

HELLO_GATE = 8
CONNECT, PEER = 1, 2


class GateWire(wire.Wire):
    """A connection of kind gate; requests carry `as` once somebody has been identified."""

    def __init__(self, sock, greet=True):
        self.sock = sock
        self.sock.settimeout(60)
        self.buffer = b""
        self.channel = 0
        self.token = None
        if greet:
            self.send(wire.frame(HELLO_GATE, 0, struct.pack("<II", wire.MAGIC, wire.VERSION)))
            assert self.frame()[0] == wire.WELCOME

    def begin(self, **value):
        if self.token and value.get("request") != "identify":
            value.setdefault("as", self.token)
        return super().begin(**value)

    def identify(self, **shown):
        """The reply; from now on requests are for whom it is."""
        reply = self.ask(request="identify", **shown)
        self.token = reply.get("ok", {}).get("token")
        return reply


class GateKeeper(Keeper):
    """A keeper with a door, as `snapcell serve` starts one. `state` is its folder."""

    def __init__(self, cli, folder, *options, tenants=None, state=None, **more):
        self.state = state or os.path.join(folder, "state")
        if tenants is not None:
            self.write_tenants(tenants)
        self.door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            super().__init__(cli, folder, "--gate-fd", str(theirs.fileno()), "--state", self.state, *options,
                             pass_fds=[theirs.fileno()], **more)
        finally:
            theirs.close()

    def write_tenants(self, tenants, standard=None):
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        path = os.path.join(self.state, "tenants.json")
        with open(path + ".mine", "w", encoding="utf-8") as f:
            json.dump({"version": 1, "standard": standard or {}, "tenants": tenants}, f)
        os.chmod(path + ".mine", 0o600)
        os.rename(path + ".mine", path)

    def through_the_door(self, what, sock, nonce=b"\0" * 16):
        socket.send_fds(self.door, [struct.pack("<I", what) + nonce], [sock.fileno()])

    def gate(self, greet=True):
        ours, theirs = socket.socketpair()
        self.through_the_door(CONNECT, theirs)
        theirs.close()
        return GateWire(ours, greet)

    def show_peer(self, sock):
        """The nonce under which the keeper keeps who is at the other end."""
        nonce = secrets.token_bytes(16)
        self.through_the_door(PEER, sock, nonce)
        return nonce.hex()

    def key(self, tenant, *options):
        """A new key's text."""
        done = self.cli("key", "add", "--state", self.state, "--tenant", tenant, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().strip()

    def tenant(self, name):
        """A connection that speaks for a tenant."""
        gate = self.gate()
        gate.identify(key=self.key(name))
        assert gate.token
        return gate
