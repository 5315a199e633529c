"""FastMCP: a tool of a server of yours. `register(server)`, or `snapcell mcp` for a server that is ready."""
from __future__ import annotations

from typing import Any, Dict, Optional

from fastmcp import FastMCP

from snapcell.tools import CodeExecutionTool


def register(server: FastMCP[Any], tool: Optional[CodeExecutionTool] = None, **options: Any) -> CodeExecutionTool:
    """Adds `run_python` to the server. The tool is returned: close it when the server ends."""
    made = tool or CodeExecutionTool(**options)

    @server.tool(name="run_python", description=made.description)
    async def run_python(code: str, timeout: float = 5) -> Dict[str, Any]:
        return await made.run(code, timeout)

    return made
