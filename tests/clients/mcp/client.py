"""The official Python client: what it saw, as JSON. Arguments: the server's command line, or URL and key of a service."""
import asyncio
import contextlib
import json
import os
import sys

import httpx2
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


@contextlib.asynccontextmanager
async def streams(command, *args):
    if not command.startswith("http:"):
        async with stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ))) as both:
            yield both
        return
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer " + args[0]}, timeout=300) as client:
        async with streamable_http_client(command, http_client=client) as both:
            yield both


def shown(value):
    return json.loads(value.model_dump_json(by_alias=True, exclude_none=True))


async def main():
    told = []

    async def progress(done, total, message):
        told.append([done, message])

    async with streams(*sys.argv[1:]) as (read, write), ClientSession(read, write) as session:
        seen = {"server": shown(await session.initialize())}
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        await session.call_tool("run_code", {"language": "python", "code": "x = 41"})
        seen["kept"] = shown(await session.call_tool("run_code", {"language": "python", "code": "x + 1"}))
        seen["long"] = shown(await session.call_tool("run_code", {"language": "bash", "code": "echo a; sleep 0.3; echo b"},
                                                     progress_callback=progress))
        seen["progress"] = told
        seen["wrong"] = shown(await session.call_tool("run_code", {"language": "cobol", "code": "x"}))
        seen["prompts"] = [prompt.name for prompt in (await session.list_prompts()).prompts]
        seen["guide"] = shown(await session.read_resource("snapcell:guide"))
    print(json.dumps(seen))


asyncio.run(main())
