"""Layer 6: the file rules once more. What stands behind another layer cannot be seen through it; tests/faults takes the
others away and shows that this one holds alone."""
import ahead
from cell import claim, python

# A process can be in 16 domains at most; so 15 more can be entered when the cell's is there. Where the keeper runs programs, the
# shepherd that watches over them has one around theirs. A fork is in its zygote's two and in its own cell's.
LEFT = {"forked": 13, "started": 14}.get(ahead.START, 15)
NEST = """
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
entered = 0
for _ in range(20):
    fd = libc.syscall(444, struct.pack('Q', 1), 8, 0)
    if fd < 0 or libc.syscall(446, fd, 0):
        break
    entered += 1
print(entered, ctypes.get_errno())
"""


@claim("landlock-domain", "Every program runs in a Landlock domain of the cell, and can enter more but never leave one.", ["landlock"])
def test_domain():
    said = python(NEST)
    assert said.stdout == "%d 7\n" % LEFT, said.describe()


@claim("landlock-programs-work", "Landlock does not keep a program from its own files: moves between folders, links, truncation.",
       ["landlock"])
def test_twin():
    said = python("import os\nos.makedirs('a/b'); open('a/x', 'w').write('1')\nos.rename('a/x', 'a/b/x'); os.link('a/b/x', 'y')\n"
                  "os.truncate('y', 0); os.symlink('y', 'z'); os.mkfifo('f'); print(sorted({*os.listdir()} - {'main.py'}))")
    assert said.stdout == "['a', 'f', 'y', 'z']\n", said.describe()
