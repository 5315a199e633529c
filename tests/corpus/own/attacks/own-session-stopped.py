# An interpreter that has stopped itself hears no interrupt.
import os
import signal

print("CONTAINED: about to stop", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
print("ESCAPED: still running")
