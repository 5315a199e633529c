import os
names = ("kernel/core_pattern", "kernel/hostname", "kernel/modprobe", "vm/overcommit_memory", "fs/suid_dumpable", "net/ipv4/ip_forward")
bad = 0
for top in ("/proc/sys", "/proc/self/../sys", "/proc/thread-self/../../../sys"):
    try:
        d = os.open(top, os.O_PATH)
    except OSError:
        continue
    for n in names:
        try:
            os.close(os.open(n, os.O_WRONLY, dir_fd=d)); bad += 1
            print("ESCAPED: opens for writing: " + n)
        except OSError:
            pass
if not bad:
    print("CONTAINED: none opens for writing")
