# A line without end to whoever listens at the runner's stream: it must not be kept.
import os
import stat
import time

print("CONTAINED: about to speak without end", flush=True)
piece = b"x" * 65536
until = time.monotonic() + 20
numbers = []
for name in os.listdir("/proc/self/fd"):
    try:
        if int(name) > 2 and stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            numbers.append(int(name))
    except OSError:
        pass
while numbers and time.monotonic() < until:
    os.write(numbers[0], piece)
if numbers:
    print("ESCAPED: it was all taken")
