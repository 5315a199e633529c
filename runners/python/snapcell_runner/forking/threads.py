"""Libraries of numbers start threads when they are loaded, which no fork would have. Unless the environment says otherwise they
are told not to."""
import os

NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def use_one_thread():
    """Returns the names of variables that it has set."""
    added = [name for name in NAMES if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    return added
