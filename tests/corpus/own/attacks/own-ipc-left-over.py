import ctypes, os
lib = ctypes.CDLL(None, use_errno=True)
found = []
for name, call in (("shared memory", lib.shmget), ("message queue", lambda k, s, f: lib.msgget(k, f)), ("semaphores", lambda k, s, f: lib.semget(k, 1, f))):
    if call(0x5EC2E8, 4096, 0) >= 0:
        found.append(name)
for kind, i in (("shm", lib.shmget(0x5EC2E8, 0, 0)), ("msg", lib.msgget(0x5EC2E8, 0)), ("sem", lib.semget(0x5EC2E8, 0, 0))):
    if i >= 0:
        lib.shmctl(i, 0, None) if kind == "shm" else lib.msgctl(i, 0, None) if kind == "msg" else lib.semctl(i, 0, 0)
print("ESCAPED: found " + ", ".join(found) if found else "CONTAINED: nothing of the other run is there")
