"""The synchronous client: the asynchronous one, on a loop in a thread of its own."""
from __future__ import annotations

import asyncio
import threading
from typing import Any, AsyncIterator, Awaitable, Coroutine, Iterable, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from snapcell._async import AsyncSession, AsyncSnapcell, Event, Files, Progress
from snapcell._models import CheckReport, FileInfo, Limits, Result, SandboxExecutionRequest, SandboxExecutionResult, SessionInfo, SnapshotInfo

T = TypeVar("T")


class _Portal:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="snapcell", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            # Also KeyboardInterrupt: what runs is cancelled.
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        async def following() -> T:
            return await items.__anext__()

        try:
            while True:
                try:
                    yield self.call(following())
                except StopAsyncIteration:
                    return
        finally:
            close = getattr(items, "aclose", None)
            if close:
                self.call(_await(close()))

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


async def _await(work: Awaitable[T]) -> T:
    return await work


async def _made(*args: Any, **more: Any) -> AsyncSnapcell:
    return AsyncSnapcell(*args, **more)


class Session:
    """A cell that stays: files, processes, and the variables of its contexts."""

    def __init__(self, portal: _Portal, session: AsyncSession) -> None:
        self._portal = portal
        self._session = session
        self.id = session.id

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(self, code: str, language: str = "python", *, context: Optional[str] = None, mode: Optional[str] = None, validate: Any = None,
            stdin: Union[str, bytes, None] = None, limits: Optional[Limits] = None, timeout: Optional[float] = None) -> Result:
        """Runs code in a context, which keeps its variables."""
        return self._portal.call(self._session.run(code, language, context=context, mode=mode, validate=validate, stdin=stdin,
                                                   limits=limits, timeout=timeout))

    def stream(self, code: str, language: str = "python", **more: Any) -> Iterator[Event]:
        """The same, with output as it comes; the last item is the result."""
        return self._portal.iterate(self._session.stream(code, language, **more))

    def exec(self, command: Union[str, Sequence[str]], *, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None,
             stdin: Union[str, bytes, None] = None, limits: Optional[Limits] = None, timeout: Optional[float] = None) -> Result:
        """Runs a program and waits for its end. A text is a command line of Bash."""
        return self._portal.call(self._session.exec(command, env=env, cwd=cwd, stdin=stdin, limits=limits, timeout=timeout))

    def interrupt(self, context: Optional[str] = None) -> int:
        return self._portal.call(self._session.interrupt(context))

    def restart(self, context: str) -> None:
        self._portal.call(self._session.restart(context))

    def contexts(self) -> List[Any]:
        return self._portal.call(self._session.contexts())

    def info(self) -> SessionInfo:
        return self._portal.call(self._session.info())

    def keepalive(self) -> None:
        self._portal.call(self._session.keepalive())

    def end(self) -> None:
        self._portal.call(self._session.end())

    def forks(self, copies: int, *, name: Optional[str] = None, forkable: bool = False, idle_s: Optional[float] = None,
              total_s: Optional[float] = None, metadata: Optional[Mapping[str, str]] = None,
              inherit_secrets: bool = False) -> List[Session]:
        """So many copies, each with its files and its Python interpreter's memory; all or none. `NotForkableError` says what cannot be copied."""
        made = self._portal.call(self._session.forks(copies, name=name, forkable=forkable, idle_s=idle_s, total_s=total_s,
                                                     metadata=metadata, inherit_secrets=inherit_secrets))
        return [Session(self._portal, one) for one in made]

    def fork(self, *, name: Optional[str] = None, forkable: bool = False, idle_s: Optional[float] = None, total_s: Optional[float] = None,
             metadata: Optional[Mapping[str, str]] = None, inherit_secrets: bool = False) -> Session:
        """One copy."""
        return Session(self._portal, self._portal.call(self._session.fork(
            name=name, forkable=forkable, idle_s=idle_s, total_s=total_s, metadata=metadata, inherit_secrets=inherit_secrets)))

    def snapshot(self, name: Optional[str] = None, *, metadata: Optional[Mapping[str, str]] = None, inherit_secrets: bool = False) -> str:
        """Keeps what the session is now; its id is for `rollback` and for `session(from_snapshot=)`."""
        return self._portal.call(self._session.snapshot(name, metadata=metadata, inherit_secrets=inherit_secrets))

    def rollback(self, snapshot: str, *, inherit_secrets: bool = False) -> None:
        """The session is what the snapshot kept; what it was is gone."""
        self._portal.call(self._session.rollback(snapshot, inherit_secrets=inherit_secrets))

    def pause(self) -> int:
        """Its files go to disk and its cell ends; variables are not kept. How many bytes that are."""
        return self._portal.call(self._session.pause())

    def resume(self, *, idle_s: Optional[float] = None, total_s: Optional[float] = None, secrets: Optional[Mapping[str, str]] = None) -> None:
        """A new cell with those files. Secrets were not stored, and are given again."""
        self._portal.call(self._session.resume(idle_s=idle_s, total_s=total_s, secrets=secrets))

    def read(self, path: str, *, offset: Optional[int] = None, length: Optional[int] = None) -> bytes:
        return self._portal.call(self._session.read(path, offset=offset, length=length))

    def read_text(self, path: str) -> str:
        return self._portal.call(self._session.read_text(path))

    def write(self, path: str, data: Union[str, bytes], *, mode: Optional[str] = None, append: bool = False, parents: bool = True) -> None:
        self._portal.call(self._session.write(path, data, mode=mode, append=append, parents=parents))

    def list(self, path: str = ".") -> List[FileInfo]:
        return self._portal.call(self._session.list(path))

    def stat(self, path: str) -> FileInfo:
        return self._portal.call(self._session.stat(path))

    def mkdir(self, path: str, *, parents: bool = True) -> None:
        self._portal.call(self._session.mkdir(path, parents=parents))

    def rename(self, path: str, to: str) -> None:
        self._portal.call(self._session.rename(path, to))

    def remove(self, path: str, *, recursive: bool = False) -> None:
        self._portal.call(self._session.remove(path, recursive=recursive))

    def upload(self, folder: str, path: str = ".") -> None:
        self._portal.call(self._session.upload(folder, path))

    def download(self, path: str, folder: str) -> None:
        self._portal.call(self._session.download(path, folder))


class Snapcell:
    """Runs code in cells. Arguments as of AsyncSnapcell; use it by `with`, or close it."""

    def __init__(self, *, url: Optional[str] = None, http_socket: Optional[str] = None, api_key: Optional[str] = None,
                 binary: Optional[str] = None, limits: Optional[Limits] = None, template: Optional[str] = None,
                 env: Optional[Mapping[str, str]] = None, allow_degraded: Iterable[str] = ()) -> None:
        self._portal = _Portal()
        try:
            self._client = self._portal.call(_made(url=url, http_socket=http_socket, api_key=api_key, binary=binary, limits=limits,
                                                   template=template, env=env, allow_degraded=allow_degraded))
        except BaseException:
            self._portal.close()
            raise
        self._closed = False

    def __enter__(self) -> Snapcell:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends what this client has started."""
        if not self._closed:
            self._closed = True
            self._portal.call(self._client.close())
            self._portal.close()

    def run(self, code: str, language: str = "python", *, files: Optional[Files] = None, stdin: Union[str, bytes, None] = None,
            limits: Optional[Limits] = None, timeout: Optional[float] = None, mode: str = "rich", validate: Any = None,
            env: Optional[Mapping[str, str]] = None) -> Result:
        """Runs code in a fresh cell, which is gone with the answer."""
        return self._portal.call(self._client.run(code, language, files=files, stdin=stdin, limits=limits, timeout=timeout, mode=mode,
                                                  validate=validate, env=env))

    def stream(self, code: str, language: str = "python", **more: Any) -> Iterator[Event]:
        """The same, with output as it comes; the last item is the result."""
        return self._portal.iterate(self._client.stream(code, language, **more))

    def batch(self, codes: Iterable[str], language: str = "python", *, concurrency: Optional[int] = None,
              progress: Union[bool, Progress] = False, **more: Any) -> List[Result]:
        return self._portal.call(self._client.batch(codes, language, concurrency=concurrency, progress=progress, **more))

    def check(self, code: str, language: str = "python", *, rules: Sequence[str] = (), deny_modules: Sequence[str] = (),
              deny_calls: Sequence[str] = ()) -> CheckReport:
        """Reads code by rules, runs nothing."""
        return self._portal.call(self._client.check(code, language, rules=rules, deny_modules=deny_modules, deny_calls=deny_calls))

    def session(self, *, name: Optional[str] = None, limits: Optional[Limits] = None, files: Optional[Files] = None,
                idle_s: Optional[float] = None, total_s: Optional[float] = None, env: Optional[Mapping[str, str]] = None,
                metadata: Optional[Mapping[str, str]] = None, forkable: bool = False, secrets: Optional[Mapping[str, str]] = None,
                from_snapshot: Optional[str] = None, inherit_secrets: bool = False) -> Session:
        """A new session. Use it by `with`, or end it. Arguments as of AsyncSnapcell.session."""
        return Session(self._portal, self._portal.call(self._client.session(
            name=name, limits=limits, files=files, idle_s=idle_s, total_s=total_s, env=env, metadata=metadata, forkable=forkable,
            secrets=secrets, from_snapshot=from_snapshot, inherit_secrets=inherit_secrets)))

    def attach(self, session: str) -> Session:
        return Session(self._portal, self._portal.call(self._client.attach(session)))

    def snapshots(self) -> List[SnapshotInfo]:
        return self._portal.call(self._client.snapshots())

    def drop_snapshot(self, snapshot: str) -> None:
        """What was made from it stays."""
        self._portal.call(self._client.drop_snapshot(snapshot))

    def sessions(self) -> List[SessionInfo]:
        return self._portal.call(self._client.sessions())

    def execute(self, request: SandboxExecutionRequest) -> SandboxExecutionResult:
        """A Python script with two limits and a small answer."""
        return self._portal.call(self._client.execute(request))
