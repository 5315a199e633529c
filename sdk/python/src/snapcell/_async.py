"""The asynchronous client."""
from __future__ import annotations

import asyncio
import base64
import importlib
import io
import os
import tarfile
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Type, Union
from urllib.parse import quote

from snapcell import _binary
from snapcell._errors import HostError, SnapcellError, UsageError
from snapcell._http import Calls, Json, client
from snapcell._models import (CheckReport, Display, FileInfo, Limits, Output, Result, SandboxExecutionRequest,
                              SandboxExecutionResult, SessionInfo, SnapshotInfo)
from snapcell._service import OwnService

Files = Mapping[str, Union[str, bytes]]
Event = Union[Output, Display, Result]
Progress = Callable[[int, int], None]


def _put(spec: Json, **fields: Any) -> Json:
    spec.update({name: value for name, value in fields.items() if value is not None})
    return spec


def _files(files: Optional[Files]) -> Optional[List[Json]]:
    if not files:
        return None
    return [{"path": path, "content": data} if isinstance(data, str) else {"path": path, "content_b64": base64.b64encode(data).decode()}
            for path, data in files.items()]


def _times(idle_s: Optional[float], total_s: Optional[float]) -> Json:
    return _put({}, idle_ms=idle_s * 1000 if idle_s is not None else None, total_ms=total_s * 1000 if total_s is not None else None)


def _stdin(stdin: Union[str, bytes, None]) -> Json:
    if stdin is None:
        return {}
    return {"stdin": stdin} if isinstance(stdin, str) else {"stdin_b64": base64.b64encode(stdin).decode()}


def _limits(limits: Optional[Limits], timeout: Optional[float], cpus: float = 1) -> Optional[Json]:
    """`timeout` is the wall clock, and with it the processor's time that goes with it."""
    wire = limits.wire() if limits else {}
    if timeout is not None:
        wire["wall_ms"] = timeout * 1000
        wire.setdefault("cpu_ms", timeout * 1000 * max(1.0, wire.get("cpus", cpus)))
    return wire or None


async def _collect(events: AsyncIterator[Event]) -> Result:
    async for event in events:
        if isinstance(event, Result):
            return event
    raise SnapcellError("the stream had no end")


async def _events(calls: Calls, path: str, body: Json) -> AsyncIterator[Event]:
    """Output and displays as they come; last the result, which holds them as well."""
    told: Dict[str, List[str]] = {"stdout": [], "stderr": []}
    displays: List[Json] = []
    async for name, data in calls.events(path, body):
        if name in ("stdout", "stderr"):
            told[name].append(str(data.get("text", "")))
            yield Output(stream="stdout" if name == "stdout" else "stderr", text=told[name][-1])
        elif name == "display":
            displays.append(data)
            yield Display(forms=data)
        elif name == "end":
            data = dict(data)
            for stream, texts in told.items():
                data[stream] = "".join(texts) or data.get(stream) or ""
            data["displays"] = displays or data.get("displays") or []
            yield Result.model_validate(data)


class AsyncSession:
    """A cell that stays: files, processes, and the variables of its contexts."""

    def __init__(self, owner: AsyncSnapcell, calls: Calls, session: str) -> None:
        self._owner = owner
        self._calls = calls
        self.id = session
        self._path = "/v1/sessions/" + quote(session, safe="")

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.end()

    def _code(self, code: str, language: str, context: Optional[str], mode: Optional[str], validate: Any, stdin: Union[str, bytes, None],
              limits: Optional[Limits], timeout: Optional[float]) -> Json:
        body = _put({"language": language, "code": code}, context=context, mode=mode, validate=validate, limits=_limits(limits, timeout))
        return {**body, **_stdin(stdin)}

    async def run(self, code: str, language: str = "python", *, context: Optional[str] = None, mode: Optional[str] = None,
                  validate: Any = None, stdin: Union[str, bytes, None] = None, limits: Optional[Limits] = None,
                  timeout: Optional[float] = None) -> Result:
        """Runs code in a context, which keeps its variables."""
        body = self._code(code, language, context, mode, validate, stdin, limits, timeout)
        return Result.model_validate(await self._calls.json("POST", self._path + "/run", body=body))

    def stream(self, code: str, language: str = "python", *, context: Optional[str] = None, mode: Optional[str] = None,
               validate: Any = None, stdin: Union[str, bytes, None] = None, limits: Optional[Limits] = None,
               timeout: Optional[float] = None) -> AsyncIterator[Event]:
        """The same, with output as it comes; the last item is the result."""
        body = self._code(code, language, context, mode, validate, stdin, limits, timeout)
        return _events(self._calls, self._path + "/run", body)

    async def exec(self, command: Union[str, Sequence[str]], *, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None,
                   stdin: Union[str, bytes, None] = None, limits: Optional[Limits] = None, timeout: Optional[float] = None) -> Result:
        """Runs a program and waits for its end. A text is a command line of Bash."""
        argv = ["/bin/bash", "-c", command] if isinstance(command, str) else list(command)
        body = _put({"command": argv}, env=dict(env) if env else None, cwd=cwd, limits=_limits(limits, timeout))
        return Result.model_validate(await self._calls.json("POST", self._path + "/exec", body={**body, **_stdin(stdin)}))

    async def interrupt(self, context: Optional[str] = None) -> int:
        """Interrupts what runs; state stays. How many runs that were."""
        told = await self._calls.json("POST", self._path + "/interrupt", body=_put({}, context=context))
        return int(told.get("interrupted", 0))

    async def restart(self, context: str) -> None:
        """Forgets a context's variables."""
        await self._calls.bytes("POST", "%s/contexts/%s/restart" % (self._path, quote(context, safe="")), body={})

    async def contexts(self) -> List[Json]:
        told = await self._calls.json("GET", self._path + "/contexts")
        return list(told.get("contexts", []))

    async def info(self) -> SessionInfo:
        return SessionInfo.model_validate(await self._calls.json("GET", self._path))

    async def keepalive(self) -> None:
        await self._calls.bytes("POST", self._path + "/keepalive", body={})

    async def end(self) -> None:
        """Ends it and all that is in it; one that has ended is fine."""
        try:
            await self._calls.bytes("DELETE", self._path)
        except SnapcellError as error:
            if error.kind not in ("not_found", "ended"):
                raise

    # ---- copies ----

    async def forks(self, copies: int, *, name: Optional[str] = None, forkable: bool = False, idle_s: Optional[float] = None,
                    total_s: Optional[float] = None, metadata: Optional[Mapping[str, str]] = None,
                    inherit_secrets: bool = False) -> List[AsyncSession]:
        """So many copies, each with its files and its Python interpreter's memory; all or none. `NotForkableError` says what cannot be copied."""
        body = _put(_times(idle_s, total_s), copies=copies, name=name, forkable=forkable or None, metadata=dict(metadata) if metadata else None,
                    inherit_secrets=inherit_secrets or None)
        told = await self._calls.json("POST", self._path + "/fork", body=body)
        return [AsyncSession(self._owner, self._calls, str(one)) for one in told["sessions"]]

    async def fork(self, *, name: Optional[str] = None, forkable: bool = False, idle_s: Optional[float] = None,
                   total_s: Optional[float] = None, metadata: Optional[Mapping[str, str]] = None,
                   inherit_secrets: bool = False) -> AsyncSession:
        """One copy."""
        copies = await self.forks(1, name=name, forkable=forkable, idle_s=idle_s, total_s=total_s, metadata=metadata,
                                  inherit_secrets=inherit_secrets)
        return copies[0]

    async def snapshot(self, name: Optional[str] = None, *, metadata: Optional[Mapping[str, str]] = None, inherit_secrets: bool = False) -> str:
        """Keeps what the session is now; its id is for `rollback` and for `session(from_snapshot=)`."""
        body = _put({}, name=name, metadata=dict(metadata) if metadata else None, inherit_secrets=inherit_secrets or None)
        return str((await self._calls.json("POST", self._path + "/snapshot", body=body))["snapshot"])

    async def rollback(self, snapshot: str, *, inherit_secrets: bool = False) -> None:
        """The session is what the snapshot kept; what it was is gone."""
        body = _put({"snapshot": snapshot}, inherit_secrets=inherit_secrets or None)
        await self._calls.json("POST", self._path + "/rollback", body=body)

    async def pause(self) -> int:
        """Its files go to disk and its cell ends; variables are not kept. How many bytes that are."""
        return int((await self._calls.json("POST", self._path + "/pause", body={}))["bytes"])

    async def resume(self, *, idle_s: Optional[float] = None, total_s: Optional[float] = None, secrets: Optional[Mapping[str, str]] = None) -> None:
        """A new cell with those files. Secrets were not stored, and are given again."""
        body = _put(_times(idle_s, total_s), secrets=dict(secrets) if secrets else None)
        await self._calls.json("POST", self._path + "/resume", body=body)

    # ---- files ----

    async def read(self, path: str, *, offset: Optional[int] = None, length: Optional[int] = None) -> bytes:
        return await self._calls.bytes("GET", self._path + "/files/" + quote(path), params=_put({}, offset=offset, length=length))

    async def read_text(self, path: str) -> str:
        return (await self.read(path)).decode()

    async def write(self, path: str, data: Union[str, bytes], *, mode: Optional[str] = None, append: bool = False,
                    parents: bool = True) -> None:
        """In one step: whoever reads sees the old or the new. `parents`: folders above it are made."""
        folder = os.path.dirname(path)
        if parents and folder and folder != "/":
            await self.mkdir(folder)
        params = _put({}, mode=mode, append="true" if append else None)
        await self._calls.bytes("PUT", self._path + "/files/" + quote(path), params=params, content=data.encode() if isinstance(data, str) else data)

    async def list(self, path: str = ".") -> List[FileInfo]:
        told = await self._calls.json("GET", self._path + "/folders", params={"path": path})
        return [FileInfo.model_validate(entry) for entry in told["entries"]]

    async def stat(self, path: str) -> FileInfo:
        return FileInfo.model_validate(await self._calls.json("GET", self._path + "/stat/" + quote(path)))

    async def mkdir(self, path: str, *, parents: bool = True) -> None:
        await self._calls.bytes("PUT", self._path + "/folders/" + quote(path), params={"parents": "true"} if parents else {})

    async def rename(self, path: str, to: str) -> None:
        await self._calls.bytes("PATCH", self._path + "/files/" + quote(path), body={"to": to})

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        await self._calls.bytes("DELETE", self._path + "/files/" + quote(path), params={"recursive": "true"} if recursive else {})

    async def upload(self, folder: str, path: str = ".") -> None:
        """A folder of yours into one of the session's: files and folders, no links."""
        if path != ".":
            await self.mkdir(path)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(folder, arcname=".", filter=lambda member: member if member.isfile() or member.isdir() else None)
        await self._calls.bytes("PUT", self._path + "/tar", params={"path": path}, content=buffer.getvalue())

    async def download(self, path: str, folder: str) -> None:
        """A folder of the session's into a new folder of yours. Only files and folders are taken, and no name leads out."""
        data = await self._calls.bytes("GET", self._path + "/tar", params={"path": path})
        os.mkdir(folder)
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                _unpack(tar, member, folder)


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: str) -> None:
    parts = [part for part in member.name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise SnapcellError("the archive names %r" % member.name)
    target = os.path.join(folder, *parts)
    if member.isdir():
        os.makedirs(target, exist_ok=True)
    elif member.isfile() and parts:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        source = tar.extractfile(member)
        # Nothing here is a link: whatever is below `folder`, this has made.
        with open(target, "xb") as file:
            file.write(source.read() if source else b"")


class AsyncSnapcell:
    """Runs code in cells: on this machine by the program itself, or by a service.

    Without `url` and `http_socket` nothing has to run beforehand. Single runs are then `snapcell run`; sessions and
    streams have a service of this client's own, which is started when it is needed and ends with it.
    """

    def __init__(self, *, url: Optional[str] = None, http_socket: Optional[str] = None, api_key: Optional[str] = None,
                 binary: Optional[str] = None, limits: Optional[Limits] = None, template: Optional[str] = None,
                 env: Optional[Mapping[str, str]] = None, allow_degraded: Iterable[str] = ()) -> None:
        self.is_local = not url and not http_socket
        self._binary = _binary.find(binary) if self.is_local else ""
        self._own = OwnService(self._binary, list(allow_degraded)) if self.is_local else None
        self._calls = None if self.is_local else Calls(client(url, http_socket, api_key))
        self._limits = limits
        self._base = _put({}, template=template, env=dict(env) if env else None, allow_degraded=list(allow_degraded) or None)
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> AsyncSnapcell:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends what this client has started."""
        if self._calls:
            await self._calls.close()
        self._calls = None
        if self._own:
            await self._own.stop()

    async def _service(self) -> Calls:
        async with self._starting:
            if not self._calls:
                if not self._own:
                    raise SnapcellError("the client is closed")
                self._calls = Calls(client(None, await self._own.start(), None))
            return self._calls

    def _spec(self, code: str, language: str, files: Optional[Files], stdin: Union[str, bytes, None], limits: Optional[Limits],
              timeout: Optional[float], mode: str, validate: Any, env: Optional[Mapping[str, str]]) -> Json:
        merged = {**(self._limits.model_dump(exclude_none=True) if self._limits else {}), **(limits.model_dump(exclude_none=True) if limits else {})}
        spec = _put({**self._base, "language": language, "code": code, "mode": mode}, files=_files(files), validate=validate,
                    limits=_limits(Limits(**merged), timeout))
        if env:
            spec["env"] = {**self._base.get("env", {}), **env}
        return {**spec, **_stdin(stdin)}

    async def run(self, code: str, language: str = "python", *, files: Optional[Files] = None, stdin: Union[str, bytes, None] = None,
                  limits: Optional[Limits] = None, timeout: Optional[float] = None, mode: str = "rich", validate: Any = None,
                  env: Optional[Mapping[str, str]] = None) -> Result:
        """Runs code in a fresh cell, which is gone with the answer."""
        spec = self._spec(code, language, files, stdin, limits, timeout, mode, validate, env)
        if self.is_local:
            return Result.model_validate(await _binary.run(self._binary, spec))
        return Result.model_validate(await (await self._service()).json("POST", "/v1/run", body=spec))

    async def stream(self, code: str, language: str = "python", *, files: Optional[Files] = None, stdin: Union[str, bytes, None] = None,
                     limits: Optional[Limits] = None, timeout: Optional[float] = None, mode: str = "rich", validate: Any = None,
                     env: Optional[Mapping[str, str]] = None) -> AsyncIterator[Event]:
        """The same, with output as it comes; the last item is the result."""
        spec = self._spec(code, language, files, stdin, limits, timeout, mode, validate, env)
        async for event in _events(await self._service(), "/v1/run", spec):
            yield event

    async def batch(self, codes: Iterable[str], language: str = "python", *, concurrency: Optional[int] = None,
                    progress: Union[bool, Progress] = False, **more: Any) -> List[Result]:
        """Runs each in a cell of its own, in their order; `more` as of `run`. `progress`: True for a bar (tqdm), or a
        function of (done, total)."""
        todo = list(codes)
        gate = asyncio.Semaphore(concurrency or 2 * (os.cpu_count() or 1))
        bar = _Bar(progress, len(todo))

        async def one(code: str) -> Result:
            async with gate:
                result = await self.run(code, language, **more)
            bar.step()
            return result

        tasks = [asyncio.ensure_future(one(code)) for code in todo]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            # One that fails ends the others: nothing runs on behind the caller's back.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            bar.close()

    async def check(self, code: str, language: str = "python", *, rules: Sequence[str] = (), deny_modules: Sequence[str] = (),
                    deny_calls: Sequence[str] = ()) -> CheckReport:
        """Reads code by rules, runs nothing."""
        if not self.is_local:
            wanted = {"rules": list(rules), "deny_modules": list(deny_modules), "deny_calls": list(deny_calls)}
            body: Json = {"language": language, "code": code, "validate": {name: words for name, words in wanted.items() if words} or True}
            _put(body, allow_degraded=self._base.get("allow_degraded"))
            return CheckReport.model_validate(await (await self._service()).json("POST", "/v1/check", body=body))
        options = [*(x for rule in rules for x in ("--rules", rule)), *(x for name in deny_modules for x in ("--deny-module", name)),
                   *(x for name in deny_calls for x in ("--deny-call", name))]
        if self._base.get("allow_degraded"):
            options += ["--allow-degraded", ",".join(self._base["allow_degraded"])]
        return CheckReport.model_validate(await _binary.check(self._binary, code, language, options))

    async def session(self, *, name: Optional[str] = None, limits: Optional[Limits] = None, files: Optional[Files] = None,
                      idle_s: Optional[float] = None, total_s: Optional[float] = None, env: Optional[Mapping[str, str]] = None,
                      metadata: Optional[Mapping[str, str]] = None, forkable: bool = False, secrets: Optional[Mapping[str, str]] = None,
                      from_snapshot: Optional[str] = None, inherit_secrets: bool = False) -> AsyncSession:
        """A new session. Use it by `async with`, or end it. `from_snapshot`: it begins from that, which then says all that
        describes a place; `forkable`: it can be forked and kept as snapshots; `secrets`: variables that nothing shows or stores."""
        calls = await self._service()
        chosen = limits or (None if from_snapshot else self._limits)
        base = {} if from_snapshot else self._base
        body = _put({**base, **_times(idle_s, total_s)}, name=name, limits=chosen.wire() if chosen else None, files=_files(files),
                    metadata=dict(metadata) if metadata else None, forkable=forkable or None, secrets=dict(secrets) if secrets else None,
                    inherit_secrets=inherit_secrets or None)
        _put(body, **{"from": from_snapshot})
        if env:
            body["env"] = {**base.get("env", {}), **env}
        told = await calls.json("POST", "/v1/sessions", body=body)
        return AsyncSession(self, calls, str(told["session"]))

    async def attach(self, session: str) -> AsyncSession:
        """A session that is there already."""
        found = AsyncSession(self, await self._service(), session)
        await found.info()
        return found

    async def snapshots(self) -> List[SnapshotInfo]:
        told = await (await self._service()).json("GET", "/v1/snapshots")
        return [SnapshotInfo.model_validate(one) for one in told.get("snapshots", [])]

    async def drop_snapshot(self, snapshot: str) -> None:
        """What was made from it stays."""
        await (await self._service()).bytes("DELETE", "/v1/snapshots/" + quote(snapshot, safe=""))

    async def sessions(self) -> List[SessionInfo]:
        """Those that live, and those on disk."""
        told = await (await self._service()).json("GET", "/v1/sessions")
        return [SessionInfo.model_validate(one) for one in told.get("sessions", [])]

    async def execute(self, request: SandboxExecutionRequest) -> SandboxExecutionResult:
        """A Python script with two limits and a small answer."""
        limits = Limits(wall_s=request.timeout_seconds, cpu_s=request.timeout_seconds, memory_bytes=request.memory_limit_mb << 20)
        try:
            result = await self.run(request.code_script, limits=limits, mode="plain" if self.is_local else "rich")
        except UsageError:
            raise
        except (HostError, SnapcellError) as error:
            return SandboxExecutionResult(stdout="", stderr=str(error), exit_code=-1)
        return small(result)


def small(result: Result) -> SandboxExecutionResult:
    stderr, info = result.stderr, result.error_info
    if info:
        stderr += info.traceback or info.message
    ended_itself = result.exit_code is not None and result.status not in ("out_of_memory", "sandbox_error")
    if not ended_itself and not info:
        stderr += ("\n" if stderr and not stderr.endswith("\n") else "") + result.message
    code = 124 if result.is_timeout else result.exit_code if ended_itself and result.exit_code is not None else -1
    return SandboxExecutionResult(stdout=result.stdout, stderr=stderr, exit_code=code, is_timeout=result.is_timeout)


class _Bar:
    def __init__(self, progress: Union[bool, Progress], total: int) -> None:
        self.done, self.total = 0, total
        self.tell = progress if callable(progress) else None
        self.bar: Any = None
        if progress is True:
            try:
                tqdm = importlib.import_module("tqdm.auto").tqdm
            except ImportError as error:
                raise UsageError("progress: a bar needs tqdm: pip install snapcell[progress]") from error
            self.bar = tqdm(total=total)

    def step(self) -> None:
        self.done += 1
        if self.bar is not None:
            self.bar.update(1)
        if self.tell:
            self.tell(self.done, self.total)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
