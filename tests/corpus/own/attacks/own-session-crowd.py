# As many processes as there may be, all of which fork without end and heed no polite signal.
import os
import signal
import time

print("CONTAINED: about to fork", flush=True)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
until = time.monotonic() + 30
while time.monotonic() < until:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
os._exit(1)
