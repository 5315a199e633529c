"""Makes a fork unlike its siblings. Everything here takes what the system gives anew (os.urandom), for all that is in memory
they have in common, and does not rely on libraries that would notice a fork by themselves. docs/fork-correctness.md has a row for
each."""
import ctypes
import gc
import os
import sys
import threading
import time
import types

SEED_BYTES = 64
UUID_MULTICAST = 1 << 40
# Most of all objects: none of them is a generator of random numbers.
_PLAIN = {dict, list, tuple, set, frozenset, str, bytes, int, float, bool, type(None), type, type(len), types.FunctionType, types.CodeType,
          types.ModuleType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType}


class Apart:
    """What of this process has to differ. `instances`: also what the program has made itself, as a zygote's prelude may."""

    def __init__(self, instances):
        self._found = find_instances() if instances else []

    def become(self):
        """In the fork. Raises whatever goes wrong: then it must not go on."""
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
    return [(reseed, value) for value in _everything(known) for kind, reseed in kinds if issubclass(type(value), kind)] if kinds else []


def _everything(but):
    """All objects that the collector knows, and what they refer to: not all generators are known to it."""
    seen = {id(one) for one in but}
    for value in gc.get_objects():
        for one in (value, *gc.get_referents(value)):
            if type(one) not in _PLAIN and id(one) not in seen:
                seen.add(id(one))
                yield one


def _reseed_random(instance):
    """By the class's own function: one derived from it may have another."""
    sys.modules["random"].Random.seed(instance, os.urandom(SEED_BYTES))


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
