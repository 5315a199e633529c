"""A program that uses /mcp of the service by the official Python client (pip install mcp).

    snapcell serve --dev                         # prints the port and a key
    examples/clients/mcp_http.py http://127.0.0.1:8480/mcp KEY
"""
import asyncio
import sys

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url, key):
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer " + key}, timeout=60) as client, \
            streamable_http_client(url, http_client=client) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.call_tool("run_code", {"language": "python", "code": "primes = [n for n in range(2, 50) if all(n % d for d in range(2, n))]"})
        result = await session.call_tool("run_code", {"language": "python", "code": "sum(primes)"})
        print(result.content[0].text)


asyncio.run(main(*sys.argv[1:]))
