import os
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

jobs = queue.Queue()
lock = threading.Lock()
total = 0


def add(n):
    global total
    with lock:
        total += n
    return n


with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
    print(sum(pool.map(add, range(10))), total, os.environ.get("HOME"))
