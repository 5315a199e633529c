"""Ways out of restricted Python, by name. Each prints ESCAPED where nothing restricts it, which the test checks as well, and
must not print it in restricted mode. `bites` is False for those that go for the restriction itself, of which an
unrestricted interpreter has nothing. Those that take several steps stand in restricted_attacks_in_steps.py."""
import textwrap

ATTACKS = {}


def attack(name, code, since=(3, 9), bites=True, until=None):
    assert name not in ATTACKS
    ATTACKS[name] = (textwrap.dedent(code), since, until, bites)


# ---- names of attributes, however they come to be ----

attack("getattr with joined pieces", """
    c = getattr((), "".join(["__", "cl", "ass__"]))
    print("ESCAPED", c)""")
attack("getattr with a default", """
    c = getattr((), "__cla" + "ss__", None)
    print("ESCAPED" if c else "nothing")""")
attack("getattr with a str subclass", """
    class S(str):
        def startswith(self, *a): return False
        def __getitem__(self, i): return "x"
    print("ESCAPED", getattr((), S("__class__")))""")
attack("getattr by reduce", """
    import functools
    names = ["_" * 2 + n + "_" * 2 for n in ("class", "base")]
    print("ESCAPED", functools.reduce(getattr, names, ()))""")
attack("getattr by map and partial", """
    import functools
    print("ESCAPED", list(map(functools.partial(getattr, ()), ["__class__"])))""")
attack("attrgetter", """
    import operator
    print("ESCAPED", operator.attrgetter("__class__.__base__")(()))""")
attack("attrgetter of several", """
    import operator
    print("ESCAPED", operator.attrgetter("real", "__class__")(1))""")
attack("attrgetter's own class", """
    import operator
    kind = type(operator.attrgetter("x"))
    print("ESCAPED", kind("__class__")(()))""")
attack("methodcaller", """
    import operator
    print("ESCAPED", operator.methodcaller("__subclasses__")(object))""")
attack("methodcaller of format", """
    import operator
    out = operator.methodcaller("format", ())("{0.__class__}")
    print("ESCAPED" if "tuple" in out else "no")""")
attack("unicode names", """
    print("ESCAPED", ().__\u1d9class__)""")
attack("name mangling", """
    class _:
        def f(self, o):
            return o.__class__
    class class__:
        def f(self, o):
            return o.__class__
    print("ESCAPED", class__().f(()))""")
attack("the class cell", """
    class A:
        def f(self):
            return __class__
    print("ESCAPED", A().f())""")
attack("super's class", """
    class A:
        def f(self):
            return super().__thisclass__
    print("ESCAPED", A().f())""")
attack("__getattribute__ of object", """
    print("ESCAPED", object.__getattribute__((), "__class__"))""")
attack("__getattribute__ of super", """
    class A:
        def f(self):
            return super().__getattribute__("__class__")
    print("ESCAPED", A().f())""")
attack("a method called by getattr", """
    print("ESCAPED", getattr(object, "__subcl" + "asses__")())""")
attack("__dict__ of a class", """
    class A: pass
    print("ESCAPED", getattr(A, "__di" + "ct__"))""")
attack("vars and dir", """
    print("ESCAPED", vars(type)["__subclasses__"])""")

# ---- templates ----

attack("format by super", """
    class S(str):
        def f(self, *a):
            return super().format(*a)
    out = S("{0.__class__.__mro__}").f(())
    print("ESCAPED" if "object" in out else "no")""")
attack("format of a subclass's class", """
    class S(str): pass
    out = S.format("{0.__class__.__mro__}", ())
    print("ESCAPED" if "object" in out else "no")""")
attack("format as a method of another class", """
    class A(str):
        f = str.format
    out = A("{0.__class__.__mro__}").f(())
    print("ESCAPED" if "object" in out else "no")""")
attack("format by a pattern", """
    match "{0.__class__.__mro__}":
        case str(format=f):
            out = f(())
            print("ESCAPED" if "object" in out else "no")""", since=(3, 10))
attack("format by a pattern's positions", """
    class S(str):
        __match_args__ = ("for" + "mat",)
    match S("{0.__class__.__mro__}"):
        case S(f):
            out = f(())
            print("ESCAPED" if "object" in out else "no")""", since=(3, 10))
attack("format by a dataclass's positions", """
    import dataclasses
    try:
        @dataclasses.dataclass
        class S(str):
            format: int
    finally:
        pass
    match S.__new__(S, "{0.__class__.__mro__}"):
        case S(f):
            out = f(())
            print("ESCAPED" if "object" in out else "no")""", since=(3, 10))
attack("format by a value pattern", """
    got = []
    class Eq:
        def __eq__(self, other):
            got.append(other)
            return True
    template = "{0.__class__.__mro__}"
    class T:
        t = template
    match Eq():
        case T.t.format:
            out = got[0](())
            print("ESCAPED" if "object" in out else "no")""", since=(3, 10))
attack("format by assignment in place", """
    got = []
    class S(str): pass
    class R:
        def __radd__(self, other):
            got.append(other)
            return 1
    s = S("{0.__class__.__mro__}")
    s.format += R()
    out = got[0](())
    print("ESCAPED" if "object" in out else "no")""")
attack("format_map with a class", """
    out = "{x.__class__.__base__}".format_map({"x": ()})
    print("ESCAPED" if "object" in out else "no")""")
attack("nested fields", """
    out = "{0:{1.__class__.__name__[0]}>4}".format("a", ())
    print("ESCAPED" if "t" in out else "no")""")
attack("fields with items and attributes", """
    out = "{0[0].__class__}".format([()])
    print("ESCAPED" if "tuple" in out else "no")""")
attack("Formatter", """
    import string
    print("ESCAPED", string.Formatter().get_field("0.__class__", ((),), {}))""")
attack("Formatter by super", """
    import string
    print("ESCAPED", super(string.Formatter, string.Formatter()).get_field("0.__class__", ((),), {}))""", bites=False)
attack("UserString", """
    import collections
    out = collections.UserString("{0.__class__.__mro__}").format(())
    print("ESCAPED" if "object" in out else "no")""")
attack("a template with a class of its own", """
    class T:
        def __format__(self, spec):
            return spec.__class__.__name__
    print("ESCAPED", f"{T():x}")""")
attack("f-string with a walrus", """
    print(f"{(c := ().__class__)}")
    print("ESCAPED", c)""")

# ---- frames, code, generators, tracebacks ----

attack("generator frame by getattr", """
    g = (x for x in ())
    print("ESCAPED", getattr(g, "gi_" + "frame").f_globals)""")
attack("generator code", """
    g = (x for x in ())
    print("ESCAPED", getattr(g, "gi_" + "code").co_consts)""")
attack("coroutine frame by operator", """
    import operator
    async def f(): pass
    c = f()
    try:
        print("ESCAPED", operator.attrgetter("cr_frame.f_builtins")(c))
    finally:
        c.close()""")
attack("generator frame by a pattern", """
    match (x for x in ()):
        case object(gi_frame=f):
            print("ESCAPED", f)""", since=(3, 10))
attack("traceback given to __exit__", """
    class C:
        def __enter__(self): pass
        def __exit__(self, kind, error, trace):
            print("ESCAPED", getattr(trace, "tb_" + "frame").f_globals)
            return True
    with C():
        1 / 0""")
attack("traceback given to __exit__, formatted", """
    class C:
        def __enter__(self): pass
        def __exit__(self, kind, error, trace):
            print("ESCAPED" if "frame" in "{0.tb_frame}".format(trace) else "no")
            return True
    with C():
        1 / 0""")
attack("traceback of an exception", """
    try:
        1 / 0
    except Exception as e:
        print("ESCAPED", getattr(e, "__trace" + "back__"))""")
attack("context of an exception", """
    try:
        try:
            1 / 0
        finally:
            {}["x"]
    except Exception as e:
        print("ESCAPED", getattr(e, "__con" + "text__"))""")
attack("what an AttributeError is about", """
    import json
    try:
        json.no_such
    except AttributeError as e:
        print("ESCAPED", e.obj)""", since=(3, 10))
attack("what an AttributeError is about, in place", """
    got = []
    class R:
        def __radd__(self, other):
            got.append(other)
            return 1
    import json
    try:
        json.no_such
    except AttributeError as e:
        e.obj += R()
        print("ESCAPED", got)""", since=(3, 10))
attack("function globals", """
    def f(): pass
    print("ESCAPED", getattr(f, "__glo" + "bals__"))""")
attack("globals of a library's function", """
    import statistics
    print("ESCAPED", getattr(statistics.mean, "__globals__")["sys"])""")
attack("closure of a guard", """
    print("ESCAPED", getattr("".format, "__closure__"))""", bites=False)
attack("globals of a guard", """
    print("ESCAPED", getattr(getattr, "__globals__"))""", bites=False)
attack("self of a builtin", """
    print("ESCAPED", getattr(len, "__se" + "lf__"))""")
attack("self of a bound method", """
    import random
    print("ESCAPED", getattr(random.random, "__self__"))""")
attack("wrapped function of a cache", """
    import functools
    @functools.lru_cache
    def f(): pass
    print("ESCAPED", getattr(f, "__wrapped__"))""")
attack("code replaced", """
    def f(): return 1
    def g(): return 2
    setattr(f, "__code__", getattr(g, "__co" + "de__"))
    print("ESCAPED", f())""")
attack("defaults replaced", """
    def f(x=1): return x
    f.__defaults__ = (2,)
    print("ESCAPED", f())""")

# ---- text that is run as code ----

attack("eval and its family", """
    print("ESCAPED", eval("1"))""")
attack("builtins by name", """
    print("ESCAPED", __builtins__)""")
attack("import by name", """
    print("ESCAPED", __import__("os"))""")
attack("globals of the module", """
    print("ESCAPED", globals())""")
attack("annotations evaluated", """
    import typing
    def f(x: "().__class__.__base__.__subclasses__()"): pass
    typing.get_type_hints(f)
    print("ESCAPED")""")
attack("a forward reference evaluated", """
    import typing
    ref = typing.get_args(typing.List["print('ESCAPED')"])[0]
    ref._evaluate({}, {}, recursive_guard=frozenset())""", until=(3, 12))
attack("a forward reference made", """
    import typing
    print("ESCAPED", typing.ForwardRef("int"))""")
attack("annotations evaluated by singledispatch", """
    import functools
    @functools.singledispatch
    def f(x): pass
    @f.register
    def g(x: "print('ESCAPED') or int"): pass""")
attack("dataclass fields that are code", """
    import dataclasses
    @dataclasses.dataclass(init=False, repr=False)
    class A:
        x = 0
        __annotations__ = {"x or print('ESCAPED')": int}
    A() == A()""", until=(3, 14))
attack("dataclass fields that are code, by setattr", """
    import dataclasses
    class A:
        x = 0
    setattr(A, "__annotations__", {"x or print('ESCAPED')": int})
    dataclasses.dataclass(init=False, repr=False)(A)
    A() == A()""")
attack("dataclass fields that are code, by TypedDict", """
    import dataclasses, typing
    T = typing.TypedDict("T", {"x or print('ESCAPED')": int})
    print("ESCAPED", T)""")
attack("make_dataclass", """
    import dataclasses
    A = dataclasses.make_dataclass("A", [], namespace={"__getattribute__": lambda s, n: print("ESCAPED")})
    A().x""")
attack("namedtuple fields that lie about themselves", """
    import collections
    class S(str):
        def isidentifier(self): return True
    collections.namedtuple("P", [S("x)+print('ESCAPED')#")])""", bites=False)

# ---- classes ----

attack("type with three arguments", """
    print("ESCAPED", type("X", (), {"__getattribute__": 1}))""")
attack("type of a type", """
    print("ESCAPED", type(int)("X", (), {}))""")
attack("type by subscription", """
    print("ESCAPED", type[int]("X", (), {}))""")
attack("typing.Type", """
    import typing
    print("ESCAPED", typing.Type[int]("X", (), {}))""", bites=False)
attack("origin of typing.Type", """
    import typing
    print("ESCAPED", typing.get_origin(typing.Type[int])("X", (), {}))""")
attack("metaclass of an enumeration", """
    import enum
    class E(enum.Enum): pass
    print("ESCAPED", type(E)("X", (), {}) if type(E) is not type else no)""", bites=False)
attack("a metaclass", """
    class M(type):
        def __call__(cls): return "ESCAPED"
    class A(metaclass=M): pass
    print(A())""")
attack("a metaclass by keywords", """
    class M: pass
    class A(**{"metaclass": lambda *a: "ESCAPED"}): pass
    print(A)""")
attack("subclass of type", """
    class M(type): pass
    print("ESCAPED", M("X", (), {}))""")
attack("mro", """
    print("ESCAPED", int.mro())""")
attack("mro by getattr", """
    print("ESCAPED", getattr(int, "m" + "ro")())""")
attack("an enumeration with special members", """
    import enum
    E = enum.Enum("E", {"__reduce_ex__": lambda s, p: print("ESCAPED"), "A": 1})
    E.__reduce_ex__(E.A, 4)""", bites=False)
attack("an enumeration with special members, by super", """
    import enum
    E = super(enum.Enum, enum.Enum).__call__("E", {"__getattribute__": 1})
    print("ESCAPED", E)""", bites=False)
attack("reduce defined by a class", """
    import copy
    class A:
        def __reduce_ex__(self, protocol):
            return (lambda: B, (), (None, {"__annotations__": {"x": 1}}))
    class B: pass
    copy.copy(A())
    print("ESCAPED")""")
attack("class of an object changed", """
    class A: pass
    class B: pass
    a = A()
    setattr(a, "__cl" + "ass__", B)
    print("ESCAPED")""")
attack("class of an object changed by object", """
    class A: pass
    class B: pass
    a = A()
    object.__setattr__(a, "__class__", B)
    print("ESCAPED")""")
attack("class of an object changed by super", """
    class B: pass
    class A:
        def f(self):
            super().__setattr__("__class__", B)
            print("ESCAPED")
    A().f()""")
attack("a __class__ that lies", """
    class A:
        @property
        def __class__(self): return str
    print("ESCAPED", isinstance(A(), str))""")
attack("special method set later", """
    class A: pass
    A.__getattribute__ = lambda self, n: "ESCAPED"
    print(A().x)""")
attack("special method set by setattr", """
    class A: pass
    setattr(A, "__reduce__", lambda self: "x")
    print("ESCAPED")""")
attack("private attributes of a library's class", """
    import random
    print("ESCAPED", random.Random()._randbelow)""")
attack("private attributes of a library's class, inherited", """
    import random
    class R(random.Random): pass
    print("ESCAPED", R()._randbelow, R._randbelow)""")
attack("private attributes by super", """
    import random
    class R(random.Random):
        def f(self): return super()._randbelow
    print("ESCAPED", R().f())""")

# ---- modules ----

attack("submodule from a package", """
    from json import decoder
    print("ESCAPED", decoder)""")
attack("submodule imported", """
    import json.decoder
    print("ESCAPED")""")
attack("star import", """
    from json import *
    print("ESCAPED")""")
attack("module behind a module", """
    import statistics
    print("ESCAPED", statistics.sys)""")
attack("module behind a module, from import", """
    from random import _os
    print("ESCAPED")""")
attack("module behind a module, by string", """
    out = "{0.sys.modules}".format(__import__("statistics")) if 0 else ""
    import statistics
    out = "{0.sys}".format(statistics)
    print("ESCAPED" if "module" in out else "no")""")
attack("loader of a module", """
    import math
    print("ESCAPED", getattr(math, "__lo" + "ader__"))""")
attack("name of a module changed", """
    import json
    json.__name__ = "os"
    from json import path
    print("ESCAPED")""", bites=False)
attack("module changed for all", """
    import math
    math.pi = 3
    print("ESCAPED")""")
attack("class of a library changed for all", """
    import json
    json.JSONEncoder.default = lambda self, o: "ESCAPED"
    print(json.dumps(object()))""")
attack("builtin type changed by a decorator", """
    import dataclasses, json
    dataclasses.dataclass(json.JSONEncoder)
    print("ESCAPED")""")
attack("relative import", """
    from . import x
    print("ESCAPED")""", bites=False)
attack("module from the work folder", """
    import helper
    print("ESCAPED")""")
attack("shadowed module from the work folder", """
    import textwrap
    print(textwrap.SHADOW)""", bites=False)

# ---- trusted code asked to read for the program ----

attack("wraps reads what it is told", """
    import functools
    def f(): pass
    class W:
        def __init__(self): self.got = self
        def update(self, other): print("ESCAPED", other)
        def __getattr__(self, name): return self
    functools.update_wrapper(W(), f, (), ("__globals__",))""")
attack("a field's name changed", """
    import dataclasses
    @dataclasses.dataclass
    class A:
        x: int = 1
    dataclasses.fields(A)[0].name = "__class__"
    print("ESCAPED", dataclasses.asdict(A()))""")
attack("partial's state", """
    import functools
    p = functools.partial(print, "ESCAPED")
    p.__setstate__((print, ("ESCAPED",), {}, {}))
    p()""")
attack("cached_property under another name", """
    import functools
    class A: pass
    p = functools.cached_property(lambda self: 1)
    p.__set_name__(A, "__x__")
    print("ESCAPED")""")
attack("deepcopy's reading of a proxy", """
    import copy, json
    print("ESCAPED", copy.deepcopy(json).decoder)""", bites=False)
attack("a property of a built-in", """
    print("ESCAPED", int.real.__get__(True))""")
attack("decorators instead of calls", """
    @print
    @eval
    @(lambda f: "'ESCAPED'")
    def f(): pass""")
attack("the guards by name", """
    print("ESCAPED", _read, read, writable)""", bites=False)
attack("what a class body may bind", """
    class A:
        __slots__ = ()
        __module__ = "os"
    print("ESCAPED")""")
attack("comprehension targets", """
    class A: pass
    [0 for A.__annotations__ in [{"x": 1}]]
    print("ESCAPED")""")
attack("with targets", """
    import decimal
    class A: pass
    with decimal.localcontext() as A.__reduce__:
        print("ESCAPED")""")
attack("deletion", """
    class A:
        def __init__(self): pass
    del A.__init__
    print("ESCAPED")""")
attack("type parameters", """
    def f[T: ().__class__](x): return x
    print("ESCAPED")""", since=(3, 12))
attack("type statements", """
    type X = ().__class__
    print("ESCAPED", X.__value__)""", since=(3, 12))
