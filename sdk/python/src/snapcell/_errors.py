"""What can go wrong with a request. What becomes of code is never an exception but a result."""
from __future__ import annotations

from typing import Any, Optional


class SnapcellError(Exception):
    """`kind` is the word of docs/http.md, `field` the path of what is wrong in the request, or ""."""

    kind = "sandbox"

    def __init__(self, message: str, *, kind: Optional[str] = None, field: str = "", code: str = "") -> None:
        super().__init__(message)
        self.kind = kind or self.kind
        self.field = field
        self.code = code


class UsageError(SnapcellError, ValueError):
    """The request is wrong; the message names field, value and what is allowed."""

    kind = "usage"


class AuthError(SnapcellError):
    """No such key, or this key may not."""

    kind = "unauthorized"


class NotFoundError(SnapcellError):
    kind = "not_found"


class EndedError(SnapcellError):
    """The session has ended: by request, by its times, or with its cell."""

    kind = "ended"


class BusyError(SnapcellError):
    """Too many requests, or no room, and `retry_after_s` says when to ask again; or something else is under way in the session."""

    kind = "too_many"
    retry_after_s: Optional[float] = None


class NotForkableError(SnapcellError):
    """The session holds what cannot be copied, was not started `forkable`, or was given secrets; the message says which."""

    kind = "not_forkable"


class UnsupportedError(SnapcellError):
    kind = "unsupported"


class HostError(SnapcellError):
    """This host lacks something; the message names it, and how to accept less."""

    kind = "host"


class CellFileError(SnapcellError, OSError):
    """The cell's own files answered; `code` is the errno's name."""

    kind = "file"

    def __str__(self) -> str:
        return str(self.args[0])


_BY_KIND: dict[str, type[SnapcellError]] = {
    "usage": UsageError, "framing": UsageError, "too_large": UsageError, "media_type": UsageError, "method": UsageError,
    "unauthorized": AuthError, "forbidden": AuthError, "origin": AuthError, "host_header": AuthError, "not_found": NotFoundError,
    "ended": EndedError, "too_many": BusyError, "overloaded": BusyError, "draining": BusyError, "busy": BusyError,
    "not_forkable": NotForkableError, "unsupported": UnsupportedError,
    "host": HostError, "file": CellFileError,
}


def from_problem(problem: dict[str, Any], retry_after: Optional[str] = None) -> SnapcellError:
    """A problem document of the service."""
    kind = str(problem.get("type", "")).rpartition(":")[2] or "sandbox"
    message = str(problem.get("detail") or problem.get("title") or kind)
    error = _BY_KIND.get(kind, SnapcellError)(message, kind=kind, field=str(problem.get("field", "")), code=str(problem.get("code", "")))
    if isinstance(error, BusyError) and retry_after and retry_after.isdigit():
        error.retry_after_s = float(retry_after)
    return error
