"""A program that uses `snapcell mcp` by the official Python client (pip install mcp).

    examples/clients/mcp_stdio.py [/path/to/snapcell [OPTION…]]
"""
import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client


async def main():
    command, *options = sys.argv[1:] or ["snapcell"]
    server = StdioServerParameters(command=command, args=["mcp", *options], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.call_tool("run_code", {"language": "python", "code": "primes = [n for n in range(2, 50) if all(n % d for d in range(2, n))]"})
        result = await session.call_tool("run_code", {"language": "python", "code": "sum(primes)"})
        print(result.content[0].text)


asyncio.run(main())
