import os, sys
os.makedirs("out")
open("out/good.txt", "w").write("good\n")
if os.fork() == 0:
    os.setsid()
    while True:
        open("out/t1", "w").write("x"); os.rename("out/t1", "out/name")
        os.mkfifo("out/t2"); os.rename("out/t2", "out/name")
import time; time.sleep(0.5)
print("CONTAINED: swapping")
