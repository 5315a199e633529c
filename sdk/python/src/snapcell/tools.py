"""Two small faces that agents know: a tool with an async `run`, and an executor with `execute_python_code`."""
from __future__ import annotations

from typing import Any, Dict, Optional

from snapcell._async import AsyncSession, AsyncSnapcell
from snapcell._models import Result
from snapcell._sync import Session, Snapcell


def _said(result: Result) -> Dict[str, Any]:
    answer: Dict[str, Any] = {"stdout": result.stdout, "stderr": result.stderr, "locals": result.locals, "value": result.text,
                              "status": result.status}
    if result.ok:
        answer["success"] = True
    else:
        info = result.error_info
        answer["success"] = False
        answer["error"] = ("%s: %s" % (info.name, info.message) if info and result.status == "error" else result.message or result.status)
    return answer


class CodeExecutionTool:
    """Runs Python for a model; variables are kept between calls, in one session. Use it by `async with`, or close it."""

    name = "python"
    description = "Run Python code in a sealed cell. Variables and files are kept between calls; the last expression's value is returned."

    def __init__(self, client: Optional[AsyncSnapcell] = None, **options: Any) -> None:
        self._owns = client is None
        self._client = client or AsyncSnapcell(**options)
        self._session: Optional[AsyncSession] = None

    async def __aenter__(self) -> CodeExecutionTool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, code: str, timeout: float = 5) -> Dict[str, Any]:
        """stdout, locals, success, and error where there is one."""
        if self._session is None:
            self._session = await self._client.session()
        return _said(await self._session.run(code, timeout=timeout))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session:
            await session.end()
        if self._owns:
            await self._client.close()


class CodeExecutor:
    """The same without async. Use it by `with`, or close it."""

    def __init__(self, client: Optional[Snapcell] = None, **options: Any) -> None:
        self._owns = client is None
        self._client = client or Snapcell(**options)
        self._session: Optional[Session] = None

    def __enter__(self) -> CodeExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute_python_code(self, code: str, timeout: float = 5) -> Dict[str, Any]:
        if self._session is None:
            self._session = self._client.session()
        return _said(self._session.run(code, timeout=timeout))

    def close(self) -> None:
        session, self._session = self._session, None
        if session:
            session.end()
        if self._owns:
            self._client.close()
