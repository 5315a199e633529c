import os, signal, time
for n in range(1, 65):
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(60)
print("CONTAINED: children hold stdout", flush=True)
while True:
    time.sleep(60)
