"""What a restricted program can reach by reading attributes, whichever: everything it starts with is walked through the
guards, with every name that an object, its class or its class's class has."""
import builtins
import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "runners", "python"))

from snapcell_runner.restricted import guards, modules  # noqa: E402
from snapcell_runner.restricted.builtin import restricted_builtins  # noqa: E402

INSIDES = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, types.CellType)
REFUSED = [getattr(builtins, name) for name in
           ("open", "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "getattr", "setattr", "delattr", "type",
            "breakpoint")]
OBJECTS_MAX = 60000


def names_of(value):
    names = set(dir(type(value))) | set(dir(type(type(value))))
    if isinstance(value, type):
        names |= {name for base in type.__getattribute__(value, "__mro__") for name in vars(base)}
    names |= set(getattr(value, "__dict__", ())) if not isinstance(value, guards.Attributes) else set()
    return {name for name in names if type(name) is str}


def is_wrong(value):
    if type(value) in INSIDES or any(value is one for one in REFUSED):
        return True
    return type(value) is dict and "__builtins__" in value


def starts():
    for name, value in restricted_builtins().items():
        if not name.startswith("_"):
            yield name, value
    for name in modules.ALLOWED:
        yield name, modules.guarded_import(name)

    def generator():
        yield 1

    async def coroutine():
        pass
    waiting = coroutine()
    waiting.close()
    yield from {"a generator": generator(), "a coroutine": waiting, "a function": lambda: 0, "a list": [], 
                "text": "", "bytes": b"", "an exception": ValueError("x"), "a view": {}.items(), "a bound method": [].append,
                "a slice": slice(1), "an alias": list[int], "super": super(int, 1)}.items()


def test_no_attribute_leads_inside():
    seen, found, waiting = {}, [], list(starts())
    while waiting and len(seen) < OBJECTS_MAX:
        path, value = waiting.pop()
        if id(value) in seen or path.count(".") > 5:
            continue
        seen[id(value)] = value
        for name in names_of(value):
            try:
                got = guards.read(value, name)
            except Exception:
                continue
            if is_wrong(got):
                found.append("%s.%s" % (path, name))
            elif type(got) not in (int, float, str, bool, type(None)):
                waiting.append(("%s.%s" % (path, name), got))
    assert found == []
    assert len(seen) > 1000


def test_a_function_of_the_library_does_not_give_its_module_away():
    for name in modules.ALLOWED:
        for part in vars(modules.guarded_import(name)).values():
            for refused in ("__globals__", "__code__", "__closure__", "__builtins__", "__self__", "__wrapped__", "__dict__"):
                try:
                    guards.read(part, refused)
                except AttributeError:
                    continue
                raise AssertionError("%s: %r gives %s" % (name, part, refused))
