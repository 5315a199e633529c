"""Inspect AI: the sandbox provider "snapcell". `sandbox="snapcell"`, or ("snapcell", "snapcell.yaml") with fields of
SnapcellConfig. A sample has a session of its own. There is one user in a cell: another one is refused."""
from __future__ import annotations

import shlex
from typing import Any, Dict, List, Optional, Union
from uuid import uuid4

from inspect_ai.util import (ExecResult, OutputLimitExceededError, SandboxEnvironment, SandboxEnvironmentLimits,
                             SandboxUnavailableError, SandboxUserUnsupportedError, sandboxenv)
from pydantic import BaseModel, ConfigDict

from snapcell._async import AsyncSession, AsyncSnapcell
from snapcell._errors import CellFileError, EndedError, NotFoundError, SnapcellError, UsageError
from snapcell._models import Limits, Result

_MIB = 1 << 20
_LONGEST_S = 24 * 3600.0
# A request is one JSON text: input beyond this goes by way of a file.
_INPUT_MAX = 4 * _MIB
_USERS = (None, "user", "1000")


class SnapcellConfig(BaseModel):
    """How cells of a task are made. Without `url` and `http_socket` by the program on this machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Optional[str] = None
    http_socket: Optional[str] = None
    api_key: Optional[str] = None
    template: Optional[str] = None
    memory_mb: int = 1024
    disk_mb: int = 512
    cpus: float = 1
    tasks: int = 256
    allow_degraded: List[str] = []


def _file_error(error: CellFileError, file: str) -> Exception:
    if error.code in ("ENOENT", "ENOTDIR"):
        return FileNotFoundError("%s: no such file" % file)
    if error.code == "EISDIR":
        return IsADirectoryError("%s: is a directory" % file)
    if error.code in ("EACCES", "EPERM", "EROFS"):
        return PermissionError("%s: %s" % (file, error))
    return OSError(str(error))


def _gone(error: SnapcellError) -> Exception:
    return SandboxUnavailableError(str(error)) if isinstance(error, (EndedError, NotFoundError)) or error.kind == "unreachable" else error


@sandboxenv(name="snapcell")
class SnapcellSandboxEnvironment(SandboxEnvironment):
    def __init__(self, client: AsyncSnapcell, session: AsyncSession) -> None:
        self._client = client
        self._session = session

    @classmethod
    def config_files(cls) -> List[str]:
        return ["snapcell.yaml"]

    @classmethod
    def config_deserialize(cls, config: Dict[str, Any]) -> BaseModel:
        return SnapcellConfig(**config)

    @classmethod
    async def sample_init(cls, task_name: str, config: Any, metadata: Dict[str, str]) -> Dict[str, SandboxEnvironment]:
        given = config if isinstance(config, SnapcellConfig) else SnapcellConfig()
        client = AsyncSnapcell(url=given.url, http_socket=given.http_socket, api_key=given.api_key, template=given.template,
                               allow_degraded=given.allow_degraded)
        limits = Limits(memory_bytes=given.memory_mb * _MIB, disk_bytes=given.disk_mb * _MIB, cpus=given.cpus, tasks=given.tasks)
        try:
            session = await client.session(limits=limits, idle_s=_LONGEST_S, total_s=_LONGEST_S)
        except BaseException:
            await client.close()
            raise
        return {"default": cls(client, session)}

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Any, environments: Dict[str, SandboxEnvironment], interrupted: bool) -> None:
        for environment in environments.values():
            if isinstance(environment, cls):
                await environment._session.end()
                await environment._client.close()

    async def _input_file(self, data: bytes) -> str:
        path = ".inspect-input-%s" % uuid4().hex
        await self._session.write(path, data)
        return "/home/user/" + path

    async def exec(self, cmd: List[str], input: Union[str, bytes, None] = None, cwd: Optional[str] = None,
                   env: Optional[Dict[str, str]] = None, user: Optional[str] = None, timeout: Optional[int] = None,
                   timeout_retry: bool = True, concurrency: bool = True) -> ExecResult[str]:
        if user not in _USERS:
            raise SandboxUserUnsupportedError("user %s: a cell has one user, named user" % user)
        data = input.encode() if isinstance(input, str) else input
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        limits, file = Limits(stdout_bytes=limit, stderr_bytes=limit), None
        try:
            if data is not None and len(data) > _INPUT_MAX:
                file = await self._input_file(data)
                cmd, data = ["/bin/sh", "-c", 'exec "$@" < %s' % shlex.quote(file), "sh", *cmd], None
            result = await self._session.exec(cmd, env=env, cwd=cwd, stdin=data, limits=limits, timeout=timeout or _LONGEST_S)
            if file:
                await self._session.remove(file)
        except SnapcellError as error:
            raise _gone(error) from error
        return _told(cmd, result)

    async def _is_read_only(self, file: str) -> bool:
        """Writing puts a new file in the place of the old one, whose mode would not be asked."""
        try:
            return not int((await self._session.stat(file)).mode or "0200", 8) & 0o200
        except CellFileError:
            return False

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        try:
            if await self._is_read_only(file):
                raise PermissionError("%s: is not writable" % file)
            await self._session.write(file, contents)
        except CellFileError as error:
            raise _file_error(error, file) from error
        except SnapcellError as error:
            raise _gone(error) from error

    async def read_file(self, file: str, text: bool = True) -> Any:
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        try:
            data = await self._session.read(file, length=limit + 1)
        except CellFileError as error:
            raise _file_error(error, file) from error
        except UsageError as error:
            raise FileNotFoundError("%s: %s" % (file, error)) from error
        except SnapcellError as error:
            raise _gone(error) from error
        if len(data) > limit:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return data.decode() if text else data


def _told(cmd: List[str], result: Result) -> ExecResult[str]:
    if result.is_timeout:
        raise TimeoutError("the command was ended after its time")
    if result.exit_code == 126 and "cannot be started" in result.message and "Permission denied" in result.message:
        raise PermissionError(result.message)
    if result.stdout_truncated or result.stderr_truncated:
        raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, result.stdout)
    if result.exit_code is not None:
        code = result.exit_code
    else:
        code = 128 + (result.signal or 9)
    stderr = result.stderr or ("" if code in (0,) or not result.message.startswith("command: ") else result.message)
    return ExecResult(success=code == 0, returncode=code, stdout=result.stdout, stderr=stderr)
