"""Snapcell: runs code that nobody vouches for in sealed cells.

    from snapcell import Snapcell
    with Snapcell() as cells:
        print(cells.run("6 * 7").text)
"""
from snapcell._async import AsyncSession, AsyncSnapcell
from snapcell._errors import (AuthError, BusyError, CellFileError, EndedError, HostError, NotFoundError, NotForkableError, SnapcellError,
                              UnsupportedError, UsageError)
from snapcell._models import (CheckReport, Denial, Display, ErrorInfo, FileInfo, Finding, Limits, Output, Result,
                              SandboxExecutionRequest, SandboxExecutionResult, SessionInfo, SnapshotInfo, Usage)
from snapcell._sync import Session, Snapcell
from snapcell.tools import CodeExecutionTool, CodeExecutor

__version__ = "0.1.0"
__all__ = [
    "AsyncSession", "AsyncSnapcell", "AuthError", "BusyError", "CellFileError", "CheckReport", "CodeExecutionTool", "CodeExecutor",
    "Denial", "Display", "EndedError", "ErrorInfo", "FileInfo", "Finding", "HostError", "Limits", "NotFoundError", "NotForkableError", "Output",
    "Result",
    "SandboxExecutionRequest", "SandboxExecutionResult", "Session", "SessionInfo", "Snapcell", "SnapcellError", "SnapshotInfo", "UnsupportedError",
    "UsageError", "Usage",
]
