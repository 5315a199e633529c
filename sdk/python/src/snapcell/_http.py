"""Calls of the service (docs/http.md): JSON, bytes, and streams of events."""
from __future__ import annotations

import json
from typing import Any, AsyncIterator, Dict, Optional, Tuple

import httpx

from snapcell._errors import SnapcellError, from_problem

Json = Dict[str, Any]


def client(url: Optional[str], socket: Optional[str], api_key: Optional[str]) -> httpx.AsyncClient:
    headers = {"Authorization": "Bearer " + api_key} if api_key else {}
    transport = httpx.AsyncHTTPTransport(uds=socket) if socket else None
    # Runs take as long as their limits say: the service ends them, not a clock of ours.
    timeout = httpx.Timeout(None, connect=30)
    return httpx.AsyncClient(base_url=url or "http://snapcell", transport=transport, headers=headers, timeout=timeout, trust_env=False)


def _problem_of(answer: httpx.Response) -> SnapcellError:
    try:
        problem = json.loads(answer.content)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or not problem:
        problem = {"detail": "the service answered with status %d" % answer.status_code}
    return from_problem(problem, answer.headers.get("Retry-After"))


class Calls:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def close(self) -> None:
        await self.http.aclose()

    async def bytes(self, method: str, path: str, *, params: Optional[Json] = None, content: Optional[bytes] = None,
                    body: Optional[Json] = None) -> bytes:
        try:
            answer = await self.http.request(method, path, params=params, content=content, json=body)
        except httpx.HTTPError as error:
            raise SnapcellError("the service cannot be reached: %s" % (error or type(error).__name__), kind="unreachable") from error
        if answer.status_code >= 400:
            raise _problem_of(answer)
        return answer.content

    async def json(self, method: str, path: str, **more: Any) -> Json:
        content = await self.bytes(method, path, **more)
        value = json.loads(content) if content else {}
        return value if isinstance(value, dict) else {"value": value}

    async def events(self, path: str, body: Json) -> AsyncIterator[Tuple[str, Json]]:
        """Pairs of event and data; the last is `end`, or it raises."""
        ended = False
        try:
            async with self.http.stream("POST", path, json=body, headers={"Accept": "application/x-ndjson"}) as answer:
                if answer.status_code >= 400:
                    await answer.aread()
                    raise _problem_of(answer)
                async for line in answer.aiter_lines():
                    told = json.loads(line) if line else {}
                    if told.get("event") == "error":
                        raise from_problem(told.get("data") or {})
                    if told:
                        ended = told.get("event") == "end"
                        yield str(told["event"]), told.get("data") or {}
        except httpx.HTTPError as error:
            raise SnapcellError("the stream was cut: %s" % (error or type(error).__name__), kind="unreachable") from error
        if not ended:
            raise SnapcellError("the stream was cut before its end", kind="unreachable")
