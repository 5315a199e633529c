"""Makes a fork unlike its siblings. Everything here takes what the system gives anew (os.urandom), for all that is in memory
they have in common. Libraries that would notice a fork by their process's number may not: forks can have the same one as
the process they come from, in other namespaces. docs/fork-correctness.md has a row for each."""
import ctypes
import gc
import os
import sys
import threading
import time

SEED_BYTES = 64
UUID_MULTICAST = 1 << 40


class Apart:
    """What of this process has to differ. `instances`: also what the program has made itself, as a zygote's prelude may."""

    def __init__(self, instances):
        self._found = find_instances() if instances else []

    def become(self, randomness):
        """In the fork, with bytes that no other process has been given. Raises whatever goes wrong: then it must not go on."""
        for step in (_libc, _numpy, _openssl, _sqlite, _uuid, _tempfile, _multiprocessing, _times, _threads, _imports):
            step()
        for reseed, instance in self._found:
            reseed(instance)


def find_instances():
    """(reseed, instance) of all generators there are, but that of numpy.random, which has a step, and that of `random`, which
    the interpreter itself seeds anew after each fork."""
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    kinds = []
    if random is not None:
        kinds.append((random.Random, _reseed_random))
    if numpy is not None:
        kinds.append((numpy.Generator, _reseed_generator))
        kinds.append((numpy.RandomState, _reseed_state))
        kinds.append((numpy.BitGenerator, _reseed_bits))
    known = [getattr(sys.modules.get(module), name, None) for module, name in (("random", "_inst"), ("numpy.random.mtrand", "_rand"))]
    return [(reseed, value) for value in _everything(known) for kind, reseed in kinds if isinstance(value, kind)] if kinds else []


def _everything(but):
    """All objects that the collector knows, and what they refer to: not all generators are known to it."""
    seen = {id(one) for one in but}
    for value in gc.get_objects():
        for one in (value, *gc.get_referents(value)):
            if id(one) not in seen and type(one).__module__.partition(".")[0] not in ("builtins",):
                seen.add(id(one))
                yield one


def _reseed_random(instance):
    instance.seed(os.urandom(SEED_BYTES))


def _reseed_bits(bits):
    fresh = type(bits)()
    bits.state = fresh.state


def _reseed_generator(generator):
    _reseed_bits(generator.bit_generator)


def _reseed_state(state):
    fresh = type(state._bit_generator)()
    state.set_state(fresh.state)


def _word(size=4):
    return int.from_bytes(os.urandom(size), "little")


def _libc():
    libc = ctypes.CDLL(None)
    libc.srand(ctypes.c_uint(_word()))
    libc.srand48(ctypes.c_long(_word()))


def _numpy():
    legacy = sys.modules.get("numpy.random.mtrand")
    if legacy is not None:
        _reseed_state(legacy._rand)


def _openssl():
    ssl = sys.modules.get("_ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(SEED_BYTES), float(SEED_BYTES))


def _sqlite():
    """Its numbers (random(), temporary names) come from a state of its own; told to forget it, it makes another."""
    sqlite = sys.modules.get("_sqlite3")
    if sqlite is None:
        return
    library = ctypes.CDLL(sqlite.__file__)
    library.sqlite3_randomness(0, None)


def _uuid():
    """By the library's own function uuid1 would go on from a state that siblings share."""
    uuid = sys.modules.get("uuid")
    if uuid is not None:
        uuid._generate_time_safe = None
        uuid._last_timestamp = None
        uuid._node = _word(6) | UUID_MULTICAST


def _tempfile():
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None


def _multiprocessing():
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)


def _times():
    """Log records count from here."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging._startTime = time.time()


def _threads():
    """The main thread's number at the system is this process's."""
    main = threading.main_thread()
    if hasattr(main, "_set_native_id"):
        main._set_native_id()


def _imports():
    """What was found in folders that are another cell's now."""
    for path in list(sys.path_importer_cache):
        if not os.path.isabs(path) or path.startswith((os.getcwd(), "/tmp", "/dev/shm")):
            del sys.path_importer_cache[path]
