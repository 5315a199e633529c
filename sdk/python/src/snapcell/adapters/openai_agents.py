"""OpenAI Agents SDK: a function tool."""
from __future__ import annotations

import json
from typing import Any, Optional

from agents import FunctionTool, function_tool

from snapcell.tools import CodeExecutionTool


def snapcell_tool(tool: Optional[CodeExecutionTool] = None, **options: Any) -> FunctionTool:
    """One session for all calls. Give a `tool` of yours to be able to close it."""
    made = tool or CodeExecutionTool(**options)

    async def run_python(code: str) -> str:
        return json.dumps(await made.run(code), ensure_ascii=False)

    return function_tool(run_python, name_override="run_python", description_override=made.description)
