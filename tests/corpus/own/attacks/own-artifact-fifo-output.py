import os
os.mkfifo("result.txt")
os.symlink("{CANARY}", "report.txt")
os.symlink("{CANARY_DIR}", "data")
print("CONTAINED: no output is a plain file")
