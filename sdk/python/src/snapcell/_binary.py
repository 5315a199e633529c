"""The program itself: found, and driven for what needs no service."""
from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from typing import Any, Dict, List, Optional, Tuple

from snapcell._errors import HostError, SnapcellError, UsageError

_EXIT_USAGE = 2


def find(binary: Optional[str]) -> str:
    """The given one, $SNAPCELL, or `snapcell` in PATH."""
    path = binary or os.environ.get("SNAPCELL") or shutil.which("snapcell")
    if not path or not os.path.exists(path):
        raise HostError("snapcell: the program was not found; give its path, set SNAPCELL, or name a service by url")
    return os.path.abspath(path)


def _told(stderr: bytes) -> str:
    text = stderr.decode(errors="replace").strip()
    return text[len("snapcell: "):] if text.startswith("snapcell: ") else text


async def _communicate(line: List[str], fd: int) -> Tuple[int, bytes, bytes]:
    child = await asyncio.create_subprocess_exec(*line, stdin=fd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        out, err = await child.communicate()
    except asyncio.CancelledError:
        # It buries its cell before it goes.
        child.send_signal(signal.SIGTERM)
        await child.communicate()
        raise
    return child.returncode if child.returncode is not None else -1, out, err


async def _json_of(line: List[str], stdin: bytes) -> Dict[str, Any]:
    # A file of its own in memory: the program opens it by name.
    with os.fdopen(os.memfd_create("snapcell"), "w+b") as file:
        file.write(stdin)
        file.seek(0)
        status, out, err = await _communicate(line, file.fileno())
    if status == _EXIT_USAGE and not out:
        raise UsageError(_told(err), field=_told(err).partition(":")[0])
    if not out:
        raise SnapcellError(_told(err) or "%s ended with status %d" % (line[0], status))
    value = json.loads(out)
    if not isinstance(value, dict):
        raise SnapcellError("the program answered with no object")
    return value


async def run(binary: str, spec: Dict[str, Any]) -> Dict[str, Any]:
    """`snapcell run` with a whole request: no daemon has part in it."""
    # The request holds stdin, so that the program's own may carry the request.
    result = await _json_of([binary, "run", "--json", "--spec", "/dev/stdin"], json.dumps(spec).encode())
    if result.get("status") == "sandbox_error" and "--allow-degraded" in str(result.get("message")):
        raise HostError(str(result["message"]))
    return result


async def check(binary: str, code: str, language: str, options: List[str]) -> Dict[str, Any]:
    return await _json_of([binary, "check", "--json", "--language", language, *options, "-"], code.encode())
