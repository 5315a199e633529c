from pathlib import Path
import os
import os.path
import shutil

base = Path("out")
base.mkdir(parents=True, exist_ok=True)
(base / "a.txt").write_text("hello\n")
for path in sorted(Path(".").rglob("*.txt")):
    print(path, path.stat().st_size, path.read_text().strip())
print(os.path.join("a", "b"), os.getcwd(), os.listdir("."), os.sep)
os.makedirs("out/deep", exist_ok=True)
with open(os.path.join("out", "deep", "x"), "w") as file:
    file.write("1")
shutil.copy("out/deep/x", "/tmp/x")
print(Path("/home/user/out").exists(), Path("/tmp/x").exists())
