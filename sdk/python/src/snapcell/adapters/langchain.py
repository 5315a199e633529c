"""LangChain: a tool with one argument, `code`."""
from __future__ import annotations

import json
from typing import Any, Optional

from langchain_core.tools import StructuredTool

from snapcell.tools import CodeExecutionTool, CodeExecutor


def snapcell_tool(executor: Optional[CodeExecutor] = None, **options: Any) -> StructuredTool:
    """Synchronous, and by a thread of LangChain's also asynchronous; one session for all calls."""
    made = executor or CodeExecutor(**options)

    def run(code: str) -> str:
        return json.dumps(made.execute_python_code(code), ensure_ascii=False)

    return StructuredTool.from_function(run, name="python", description=CodeExecutionTool.description)
