import array, os, socket, sys
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, 2, b.fileno(), a.fileno()]))])
if os.fork() == 0:
    os.setsid(); os.close(1); os.close(2)
    import time; time.sleep(60)
print("CONTAINED: output ends are in flight")
