"""The builtins of a restricted program. What is not here is not defined."""
import builtins

from . import guards, modules, rewriting

_FUNCTIONS = """abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate
    filter float format frozenset hash hex id input int isinstance issubclass iter len list map max memoryview min next object
    oct ord pow print property range repr reversed round set slice sorted staticmethod str sum super tuple zip
    NotImplemented Ellipsis __debug__"""


def absent(name):
    """What reading a special variable comes to."""
    raise NameError("name '%s' is not defined" % name)


def _exceptions():
    return {name: value for name, value in vars(builtins).items()
            if isinstance(value, type) and issubclass(value, BaseException)}


def restricted_builtins():
    """A new dictionary of them."""
    allowed = {name: getattr(builtins, name) for name in _FUNCTIONS.split() if hasattr(builtins, name)}
    allowed.update(_exceptions())
    allowed.update({
        "getattr": guards.guarded_getattr, "hasattr": guards.guarded_hasattr, "setattr": guards.guarded_setattr,
        "delattr": guards.guarded_delattr, "dir": guards.guarded_dir, "type": guards.Type,
        # Of the interpreter's own statements; no program can name them.
        "__import__": modules.guarded_import, "__build_class__": guards.guarded_class(builtins.__build_class__),
        rewriting.READ: guards.read, rewriting.READ_PUBLIC: guards.read_public,
        rewriting.WRITABLE: guards.writable, rewriting.ABSENT: absent,
        rewriting.READ_OWN: guards.read_own,
        rewriting.MATCHED: guards.checked_match_args, rewriting.SLOTS: guards.checked_slots, rewriting.NEW: guards.checked_new,
    })
    for name, function in (("getattr", guards.guarded_getattr), ("hasattr", guards.guarded_hasattr),
                           ("setattr", guards.guarded_setattr), ("delattr", guards.guarded_delattr),
                           ("dir", guards.guarded_dir)):
        function.__name__ = function.__qualname__ = name
    return allowed
