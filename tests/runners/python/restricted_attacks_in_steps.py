"""Ways out of restricted Python that take several steps; see restricted_attacks.py, whose table they join."""
from restricted_attacks import attack

# ---- several steps ----

attack("a field renamed by copying", """
    import copy, dataclasses
    @dataclasses.dataclass
    class A:
        x: int = 1
    target = dataclasses.fields(A)[0]
    class Pen:
        __slots__ = ("name",)
        def __new__(cls, *a):
            return target if made else object.__new__(cls)
    made = []
    pen = Pen()
    pen.name = "source text"
    made.append(1)
    copy.copy(pen)
    print("ESCAPED" if dataclasses.fields(A)[0].name != "x" else "no")""")
attack("a field renamed by copying, __new__ no function", """
    import copy, dataclasses, functools
    @dataclasses.dataclass
    class A:
        x: int = 1
    target = dataclasses.fields(A)[0]
    made = []
    def new(cls, *a):
        return target if made else object.__new__(cls)
    class Pen:
        __slots__ = ("name",)
        __new__ = functools.partial(new)
    pen = Pen()
    pen.name = "source text"
    made.append(1)
    copy.copy(pen)
    print("ESCAPED" if dataclasses.fields(A)[0].name != "x" else "no")""")
attack("a field renamed by deep copying, __new__ inherited", """
    import copy, dataclasses
    @dataclasses.dataclass
    class A:
        x: int = 1
    target = dataclasses.fields(A)[0]
    made = []
    class Base:
        __slots__ = ()
        def __new__(cls, *a):
            return target if made else object.__new__(cls)
    class Pen(Base):
        __slots__ = ("name",)
    pen = Pen()
    pen.name = "source text"
    made.append(1)
    copy.deepcopy([pen])
    print("ESCAPED" if dataclasses.fields(A)[0].name != "x" else "no")""")
attack("an enumeration that has members only sometimes", """
    import enum
    class Sometimes:
        n = 0
        def __len__(self):
            self.n += 1
            return 1 if self.n == 1 else 0
        def __iter__(self): return iter(())
    class E(enum.Enum): pass
    E._member_names_ = Sometimes()
    M = E("M", {"__reduce_ex__": lambda s, p: "ESCAPED", "A": 1})
    print("ESCAPED", M)""", bites=False)
attack("the map of an enumeration", """
    import enum
    got = []
    class Eq:
        def __eq__(self, other):
            got.append(other)
            return True
    class E(enum.Enum):
        A = 1
    E.__members__ == Eq()
    got[0]["B"] = E.A
    print("ESCAPED" if "B" in E.__members__ else "no")""")
attack("a subclass of super", """
    import random
    class S(super): pass
    class R(random.Random): pass
    print("ESCAPED", S(R, R())._randbelow)""")
attack("a subclass of a module", """
    import math
    class M(type(math)): pass
    print("ESCAPED", M("x").__loader__)""")
attack("a subclass of type's alias", """
    class M(type[int]): pass
    print("ESCAPED", M("X", (), {}))""")
attack("a library's class changed by its alias", """
    import typing, collections
    typing.Counter[int].__setattr__("most_common", lambda self: "ESCAPED")
    print(collections.Counter("aab").most_common())""")
attack("the interpreter's own imports", """
    __import__("os", None, None, [], 0)
    print("ESCAPED")""")
attack("a template of a pattern's callback", """
    import re
    out = re.sub("x", "{0.__class__}".format, "x") if 0 else re.sub("x", lambda m: "{0.__class__}".format(m), "x")
    print("ESCAPED" if "class" in out else "no")""")
attack("a template of str's subclass by map", """
    class S(str): pass
    out = "".join(map(S.format, [S("{0.__class__.__mro__}")], [()]))
    print("ESCAPED" if "object" in out else "no")""")
attack("the raw method of a guarded one", """
    f = "{0.__class__}".format
    print("ESCAPED", f.__self__)""")
attack("annotations of a function read by a library", """
    import dataclasses
    def f(x: int): pass
    f.__annotations__["y"] = 1
    print("ESCAPED")""")
attack("a key function that is a guard's own", """
    print("ESCAPED", sorted([()], key=lambda x: getattr(x, "__class__").__name__))""")
attack("nested classes and mangling", """
    class __A:
        class B:
            def f(self, x): return x.__class
    print("ESCAPED", __A.B().f(()))""", bites=False)
attack("await and frames", """
    class W:
        def __await__(self):
            yield self
    async def f():
        await W()
    c = f()
    c.send(None)
    print("ESCAPED", c.cr_await)""")
attack("an asynchronous generator's frame", """
    async def f():
        yield 1
    print("ESCAPED", getattr(f(), "ag_fr" + "ame"))""")
attack("a module made anew", """
    import json
    json.__init__("json", {"__name__": "os", "path": 1})
    print("ESCAPED", json.path)""", bites=False)
attack("private names of the runner's own modules", """
    import math
    print("ESCAPED", math._name)""", bites=False)


# ---- a class that is known before it is made ----

attack("positions of a class that was given away", """
    kept = []
    class Gives:
        def __set_name__(self, owner, name):
            kept.append(owner)
    try:
        class S(str):
            __match_args__ = ("for" + "mat",)
            gives = Gives()
    except TypeError:
        pass
    match kept[0]("{0.__class__.__mro__}"):
        case str() as s:
            kind = kept[0]
    match s:
        case kind(f):
            print("ESCAPED", f(()))""", since=(3, 10))
attack("__new__ of a class that was given away", """
    import copy, dataclasses, functools
    @dataclasses.dataclass
    class A:
        x: int = 1
    target, made, kept = dataclasses.fields(A)[0], [], []
    class Gives:
        def __init_subclass__(cls):
            kept.append(cls)
    try:
        class Pen(Gives):
            __slots__ = ("name",)
            def __new__(cls, *rest):
                return target if made else object.__new__(cls)
    except TypeError:
        pass
    pen = kept[0]()
    pen.name = "another"
    made.append(1)
    copy.copy(pen)
    print("ESCAPED" if target.name == "another" else "no")""")
for how, line in {"assigned": "__new__ = new", "by a loop": "for __new__ in [new]: pass", "by a class": "class __new__:\n                def __init__(self, cls): pass",
                  "async": "async def __new__(cls): return 5", "annotated": "__new__: int = new"}.items():
    attack("__new__ " + how, """
        def new(cls): return 5
        class A:
            %s
        A()
        print("ESCAPED")""" % line)
for how, line in {"twice": "__match_args__ = x = ('format',)", "unpacked": "__match_args__, x = ('format',), 1",
                  "annotated": "__match_args__: tuple = ('format',)", "by a loop": "for __match_args__ in [('format',)]: pass",
                  "not a tuple": "__match_args__ = ['format']"}.items():
    attack("__match_args__ " + how, """
        class A:
            %s
        print("ESCAPED")""" % line)
attack("a subclass of super by entries", """
    import random
    class B:
        def __getattr__(self, name):
            if name == "__mro_entries__":
                return lambda bases: (super,)
            raise AttributeError(name)
    class S(B()): pass
    class R(random.Random): pass
    print("ESCAPED", S(R, R())._randbelow)""")
attack("a subclass of super by an alias", """
    import random
    class S(type(list[int])(super, int)): pass
    class R(random.Random): pass
    print("ESCAPED", S(R, R())._randbelow)""")
attack("an instance as a base", """
    class K:
        def __init__(self, *a): self.a = a
        def __getattr__(self, name):
            if name == "__mro_entries__": raise AttributeError
    class X(K()):
        def f(self): return super()
    print("ESCAPED", X.a)""")
attack("__new__ of an abstract class that is told what is an instance", """
    import collections.abc, copy, dataclasses
    @dataclasses.dataclass
    class A:
        x: int = 1
    target, made = dataclasses.fields(A)[0], []
    class Pen(collections.abc.Hashable):
        __slots__ = ("name",)
        def __hash__(self): return 1
        def __new__(cls, *rest):
            return target if made else object.__new__(cls)
    Pen.register(type(target))
    pen = Pen()
    pen.name = "another"
    made.append(1)
    copy.copy(pen)
    print("ESCAPED" if target.name == "another" else "no")""")

# ---- what copying sets, and what setters set ----

attack("the setter of a frozen dataclass, inherited", """
    from dataclasses import dataclass
    @dataclass(frozen=True)
    class A:
        x: int = 1
    class B(A): pass
    class C(A): pass
    b = B()
    b.__setattr__("__class__", C)
    print("ESCAPED", b)""")
attack("the deleter of a frozen dataclass, inherited", """
    from dataclasses import dataclass
    @dataclass(frozen=True)
    class A:
        x: int = 1
    class B(A): pass
    b = B()
    object.__delattr__(b, "__dict__")
    print("ESCAPED", b)""", since=(3, 11), until=(3, 13))
attack("a deep copy's memo that renames attributes", """
    import copy
    class A: pass
    a = A()
    a.foo = reduce = lambda protocol: (lambda: "ESCAPED", ())
    b = copy.deepcopy(a, {id("foo"): "__reduce_ex__", id(reduce): reduce})
    print(copy.copy(b))""")
attack("a deep copy's memo that changes the class", """
    import copy
    class Memo:
        asked = 0
        def get(self, key, default=None):
            self.asked += 1
            return B if self.asked == 2 else default
        def __setitem__(self, key, value): pass
        def __getitem__(self, key): return []
    class A: pass
    class B: pass
    a = A()
    a.x = 1
    print("ESCAPED" if type(copy.deepcopy(a, Memo())) is B else "no")""")
attack("slots named after the class was made", """
    import copy
    got = []
    slots = ["a"]
    class A:
        __slots__ = slots
        def __setattr__(self, name, value): got.append((name, value))
    slots.append("__getattribute__")
    copy.copy(A())
    print("ESCAPED", got[-1][1]("__class__"))""")
attack("slots with special names", """
    class A:
        __slots__ = ("__reduce_ex__",)
    print("ESCAPED")""")
attack("slots with special names, annotated", """
    class A:
        __slots__: tuple = ("__getstate__",)
    print("ESCAPED")""")
attack("slots that are set twice", """
    class A:
        __slots__ = other = ("__reduce__",)
    print("ESCAPED")""")
attack("slots by a loop", """
    class A:
        for __slots__ in [("__reduce__",)]: pass
    print("ESCAPED")""")
attack("a special name in an instance's dictionary", """
    import copy
    class A: pass
    a = A()
    a.__dict__["__reduce_ex__"] = lambda protocol: (lambda: "ESCAPED", ())
    print(copy.copy(a))""")
attack("a special name in an instance's dictionary, by update", """
    import copy
    class A: pass
    a = A()
    a.__dict__.update({"__reduce_ex__": lambda protocol: (lambda: "ESCAPED", ())})
    print(copy.copy(a))""")
attack("the class of an instance's dictionary", """
    class A: pass
    class B(type(A().__dict__)): pass
    print("ESCAPED")""")
attack("the dictionary of another object", """
    class A: pass
    print("ESCAPED", type(A().__dict__)(print).__class__)""", bites=False)
attack("the class of an own instance, and on", """
    class A: pass
    print("ESCAPED", A().__class__.__mro__)""")
attack("the class of an own instance, by a template", """
    class A: pass
    print("ESCAPED" if "class" in "{0.__class__}".format(A()) else "no")""")
attack("the class of an own instance, by getattr", """
    class A: pass
    print("ESCAPED", getattr(A(), "__class__"))""")
attack("the class of an own class", """
    class A: pass
    print("ESCAPED", A.__class__("X", (), {}))""")
attack("the class of a function", """
    def f(): pass
    print("ESCAPED", f.__class__)""")
attack("super as a library's alias", """
    import typing, random
    typing.List.__init__(super, 1)
    class S(typing.List): pass
    class R(random.Random): pass
    print("ESCAPED", S(R, R())._randbelow)""")
