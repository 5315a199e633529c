"""Prepares a zygote's memory: what forks will use has been used, and what they will write is not spread over it."""
import ctypes
import gc
import io
import sys

SMALL, LARGE, STEP = 24, 125000, 1.25
PIECES = (100000, 30000)


def warm():
    """Jobs like those to come, of the modules that are there. They only make things faster: what fails is left."""
    for name, job in (("numpy", _use_numpy), ("pandas", _use_pandas), ("matplotlib.pyplot", _use_pyplot)):
        module = sys.modules.get(name)
        if module is not None:
            try:
                job(module)
            except Exception as error:
                print("runner: not warmed up: %s: %r" % (name, error), file=sys.stderr)


def _use_numpy(numpy):
    numbers = numpy.arange(100.0).reshape(10, 10)
    repr((numbers @ numbers).mean(axis=0))
    numbers.sort()


def _use_pandas(pandas):
    for _ in range(3):
        table = pandas.DataFrame({"a": [1, 2, 3], "b": list("xyz")})
        table.groupby("b").a.sum().to_json()
        repr(table)
        table._repr_html_()
        table.describe()
        table.merge(table, on="b").sort_values("a_x")
        pandas.read_csv(io.StringIO("a,b\n1,2\n")).to_csv()


def _use_pyplot(pyplot):
    figure, axes = pyplot.subplots()
    try:
        axes.plot([1, 2, 3])
        figure.savefig(io.BytesIO(), format="png")
    finally:
        pyplot.close(figure)


def settle():
    """The last before the forks. The collector leaves alone what is there now; and the C library's heap is put in order, which
    else the first larger allocation of each fork would do."""
    gc.collect()
    gc.freeze()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    trim = getattr(libc, "malloc_trim", None)
    for _ in range(3):
        sizes, size = [], SMALL
        while size < LARGE:
            sizes.append(int(size))
            size = size * STEP + 8
        for piece in [libc.malloc(size) for size in sizes]:
            libc.free(piece)
    if trim is not None:
        trim(0)
    for piece in [libc.malloc(size) for size in PIECES]:
        libc.free(piece)
