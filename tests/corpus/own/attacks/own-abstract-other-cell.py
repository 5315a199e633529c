import socket, sys, time
name = "\0snapcorp-own-meet"
s = socket.socket(socket.AF_UNIX)
try:
    s.bind(name); s.listen(8)
except OSError:
    print("ESCAPED: the name is taken by the other run"); sys.exit()
time.sleep(0.5)
print("CONTAINED: the name was free")
