import os
os.makedirs("out")
open("out/good.txt", "w").write("good\n")
with open("big", "wb") as f:
    f.write(b"x" * (7 << 20))
for i in range(200):
    os.link("big", "out/big-%d" % i)
print("CONTAINED: 200 names of 7 MiB")
