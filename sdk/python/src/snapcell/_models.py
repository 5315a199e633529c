"""Requests and results, as docs/spec.md and docs/result.md describe them."""
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional

from pydantic import BaseModel, ConfigDict, Field

Language = Literal["python", "node", "bash"]
Status = Literal["ok", "error", "signaled", "timeout", "cpu_timeout", "out_of_memory", "output_limit", "disk_limit", "process_limit",
                 "blocked", "syntax_error", "cancelled", "sandbox_error"]


class _Open(BaseModel):
    """What a newer version tells beyond this is kept."""

    model_config = ConfigDict(extra="allow")


class Limits(BaseModel):
    """Times in seconds, sizes in bytes. What is None has its default."""

    model_config = ConfigDict(extra="forbid")

    wall_s: Optional[float] = Field(default=None, gt=0)
    cpu_s: Optional[float] = Field(default=None, gt=0)
    memory_bytes: Optional[int] = Field(default=None, gt=0)
    tasks: Optional[int] = Field(default=None, gt=0)
    cpus: Optional[float] = Field(default=None, gt=0)
    open_files: Optional[int] = Field(default=None, gt=0)
    file_size_bytes: Optional[int] = Field(default=None, gt=0)
    disk_bytes: Optional[int] = Field(default=None, gt=0)
    tmp_bytes: Optional[int] = Field(default=None, gt=0)
    shm_bytes: Optional[int] = Field(default=None, gt=0)
    stdout_bytes: Optional[int] = Field(default=None, gt=0)
    stderr_bytes: Optional[int] = Field(default=None, gt=0)

    def wire(self) -> Dict[str, Any]:
        given = self.model_dump(exclude_none=True)
        for name in ("wall", "cpu"):
            if name + "_s" in given:
                given[name + "_ms"] = round(given.pop(name + "_s") * 1000, 6)
        return given


class Usage(_Open):
    wall_ms: float = 0
    start_ms: float = 0
    queue_ms: float = 0
    cpu_ms: Optional[float] = None
    memory_peak_bytes: Optional[int] = None
    tasks_peak: Optional[int] = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    disk_bytes: int = 0


class Denial(_Open):
    """A refused operation."""

    layer: str
    action: str
    resource: str = ""
    rule: str = ""
    count: int = 1
    hint: str = ""


class Finding(_Open):
    rule: str
    severity: str
    name: str = ""
    line: int = 0
    column: int = 0
    snippet: str = ""
    message: str = ""
    advice: str = ""


class ErrorInfo(_Open):
    """The error that ended the code, as its interpreter told it."""

    name: str = ""
    message: str = ""
    traceback: str = ""
    line: Optional[int] = None


class CheckReport(_Open):
    allowed: bool
    findings: List[Finding] = []
    syntax_error: Optional[str] = None


class Result(_Open):
    """What a run came to. `value`, `locals`, `displays` and `error_info` are said from inside the cell."""

    status: Status
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    message: str = ""
    stdout: str = ""
    stderr: str = ""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    usage: Usage = Usage()
    limits_hit: List[str] = []
    degraded: List[str] = []
    denials: List[Denial] = []
    findings: List[Finding] = []
    value: Optional[Dict[str, Any]] = None
    locals: Dict[str, str] = {}
    displays: List[Dict[str, Any]] = []
    error: Any = None
    context_lost: bool = False

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def is_timeout(self) -> bool:
        return self.status in ("timeout", "cpu_timeout")

    @property
    def text(self) -> Optional[str]:
        """The value of the last expression as text."""
        return None if self.value is None else str(self.value.get("text/plain", ""))

    @property
    def error_info(self) -> Optional[ErrorInfo]:
        told = (self.model_extra or {}).get("error_info") or self.error
        return ErrorInfo.model_validate(told) if isinstance(told, dict) else None

    def _repr_mimebundle_(self, **_: Any) -> Dict[str, Any]:
        from snapcell._display import bundle
        return bundle(self)


class FileInfo(_Open):
    name: str
    type: str
    size: int = 0
    mtime_ns: int = 0
    mode: str = ""
    target: Optional[str] = None


class SessionInfo(_Open):
    """`state` is `paused` or `damaged` of a session on disk, else None."""

    session: str
    state: Optional[str] = None
    forkable: bool = False
    parent: Optional[str] = None


class SnapshotInfo(_Open):
    snapshot: str
    parent: Optional[str] = None


class SandboxExecutionRequest(BaseModel):
    """A Python script and its two limits."""

    code_script: str
    timeout_seconds: int = Field(default=5, ge=1, le=30)
    memory_limit_mb: int = Field(default=256, ge=64, le=1024)


class SandboxExecutionResult(BaseModel):
    """`exit_code`: the script's own; 124 when its time was over (`is_timeout`); -1 when it did not end by itself in
    another way (killed for memory, by a signal), or when nothing could be run; `stderr` then says why."""

    stdout: str
    stderr: str
    exit_code: int
    is_timeout: bool = False


class Output(BaseModel):
    """A piece of a running program's output."""

    stream: Literal["stdout", "stderr"]
    text: str


class Display(BaseModel):
    """Something that was displayed, by media type."""

    forms: Dict[str, Any]
