"""An interpreter outside of any cell that runs code as `exec` does, and tells how long that took.

stdin: "LENGTH\\n" and so many bytes of code, again and again; descriptor 3: nanoseconds, a line each.
"""
import os
import sys
import time


def main():
    source, answer = sys.stdin.buffer, os.fdopen(3, "w", buffering=1)
    namespace = {"__name__": "__main__"}
    while line := source.readline():
        code = source.read(int(line)).decode()
        begin = time.perf_counter_ns()
        exec(compile(code, "<run>", "exec"), namespace)
        sys.stdout.flush()
        print(time.perf_counter_ns() - begin, file=answer)


if __name__ == "__main__":
    main()
