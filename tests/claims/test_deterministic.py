"""Layer 8: runs that were asked to give the same each time."""
from cell import claim, run

ADDRESSES = "import ctypes; print(object(), ctypes.addressof(ctypes.c_int.in_dll(ctypes.CDLL(None), 'environ')))"


@claim("deterministic-layout", "In a deterministic run programs find their memory at the same addresses each time; in any other it is "
       "random.", ["placement"])
def test_layout():
    def seen(*options):
        return {run("--python", "-c", ADDRESSES, *options).stdout for _ in range(4)}
    assert len(seen("--deterministic")) == 1
    assert len(seen()) == 4
