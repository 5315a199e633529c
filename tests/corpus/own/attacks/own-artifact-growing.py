import os, sys
os.makedirs("out")
open("out/good.txt", "w").write("good\n")
if os.fork() == 0:
    os.setsid()
    with open("out/log", "ab", 0) as f:
        while True:
            try:
                f.write(b"x" * 4096)
            except OSError:
                f.truncate(0)
import time; time.sleep(0.3)
print("CONTAINED: growing")
