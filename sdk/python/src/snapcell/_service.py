"""A service of this client's alone: `snapcell serve` on a unix socket in a folder that nobody else can enter."""
from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from typing import List, Optional

from snapcell._errors import HostError

# The child asks the kernel for SIGTERM at our death, so that no cell outlives a client that was killed.
_LAUNCH = """
import ctypes, os, signal, sys
if ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM, 0, 0, 0) or os.getppid() != int(sys.argv[1]):
    sys.exit(125)
os.execv(sys.argv[2], sys.argv[2:])
"""
_PATIENCE_S = 30


class OwnService:
    def __init__(self, binary: str, allow_degraded: List[str]) -> None:
        self.binary = binary
        self.allow_degraded = allow_degraded
        self.folder: Optional[str] = None
        self.child: Optional[asyncio.subprocess.Process] = None

    async def start(self) -> str:
        """The path of its HTTP socket."""
        self.folder = tempfile.mkdtemp(prefix="snapcell-")
        state, keeper, http = (os.path.join(self.folder, name) for name in ("state", "keeper.sock", "http.sock"))
        os.mkdir(state, 0o700)
        with open(os.path.join(state, "tenants.json"), "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            json.dump({"version": 1, "standard": {"cells": 1024, "allow_degraded": self.allow_degraded}}, file)
        self.child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), self.binary, "serve", "--http-socket", http, "--socket", keeper,
            "--state", state, "--drain", "0s", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE)
        assert self.child.stdout is not None and self.child.stderr is not None
        try:
            line = await asyncio.wait_for(self.child.stdout.readline(), _PATIENCE_S)
        except asyncio.TimeoutError:
            line = b""
        if not line.startswith(b"listening"):
            told = b"" if self.child.returncode is None else await self.child.stderr.read()
            await self.stop()
            raise HostError("snapcell serve did not start: %s" % told.decode(errors="replace").strip())
        # Nobody reads what it says from here on; it must not wait for that.
        self._drains = [asyncio.ensure_future(_drain(stream)) for stream in (self.child.stdout, self.child.stderr)]
        return http

    async def stop(self) -> None:
        child, self.child = self.child, None
        if child and child.returncode is None:
            child.send_signal(signal.SIGTERM)
            await child.wait()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        pass
