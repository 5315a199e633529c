import os
for i in range(3000):
    os.makedirs("out/%d" % i)
    open("out/%d/f" % i, "w").write("x")
print("CONTAINED: 3000 folders")
