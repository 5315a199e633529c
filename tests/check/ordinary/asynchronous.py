import asyncio
import time


async def work(name, seconds):
    await asyncio.sleep(seconds)
    return name, time.monotonic()


async def main():
    queue = asyncio.Queue()
    await queue.put(1)
    results = await asyncio.gather(*(work(n, 0.01) for n in "abc"))
    async with asyncio.timeout(1):
        print(await queue.get(), results)
    async for x in numbers():
        print(x)


async def numbers():
    for i in range(3):
        yield i


asyncio.run(main())
