"""The official Python client over stdio: what it saw, as JSON. Arguments: the server's command line."""
import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client


def shown(value):
    return json.loads(value.model_dump_json(by_alias=True, exclude_none=True))


async def main():
    told = []

    async def progress(done, total, message):
        told.append([done, message])

    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
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
