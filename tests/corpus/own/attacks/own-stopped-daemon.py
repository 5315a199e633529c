import os, signal, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for f in (0, 1, 2):
            os.close(f)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os._exit(0)
os.wait()
print("CONTAINED: left a stopped process behind")
