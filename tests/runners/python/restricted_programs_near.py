"""Ordinary programs that go near what restricted Python refuses; see restricted_programs.py, whose table they join."""
from restricted_programs import program


program("special methods by name", """
    class Base:
        def __init__(self): self.log = ["base"]
        def __eq__(self, other): return True
    class Child(Base):
        def __init__(self):
            Base.__init__(self)
            self.log.append("child")
        def __eq__(self, other): return super().__eq__(other) and isinstance(other, Child)
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
        def __getattr__(self, name):
            if name.startswith("dyn_"): return name[4:]
            raise AttributeError(name)
        def __delattr__(self, name):
            object.__delattr__(self, name)
    c = Child()
    c.x = 5
    del c.x
    print(c.log, c == Child(), c == 3, c.dyn_hello, hasattr(c, "x"), (5).__add__(3), [1, 2].__len__(), hasattr([], "__iter__"))
    class Point(tuple):
        def __new__(cls, x, y): return super().__new__(cls, (x, y))
    print(Point(1, 2), len(Point(1, 2)))
    class One:
        _one = None
        def __new__(cls):
            if cls._one is None: cls._one = object.__new__(cls)
            return cls._one
    print(One() is One())
    class Pt:
        __match_args__ = ("x", "y")
        def __init__(self, x, y): self.x, self.y = x, y
    print(Pt(1, 2).x)""")
program("frozen by hand", """
    class Frozen:
        def __init__(self, v): object.__setattr__(self, "v", v)
        def __setattr__(self, n, v): raise AttributeError("frozen")
    f = Frozen(3)
    try:
        f.v = 4
    except AttributeError as e:
        print(e, f.v)
    class D:
        def __set_name__(self, owner, name): self.name = "_" + name
        def __get__(self, obj, kind=None): return getattr(obj, self.name)
        def __set__(self, obj, value): setattr(obj, self.name, value * 2)
    class Uses:
        d = D()
    u = Uses()
    u.d = 4
    print(u.d)""")
program("an object about itself", """
    import json
    class Shape:
        def __init__(self, **sides):
            self.__dict__.update(sides)
        def __repr__(self):
            return f"{self.__class__.__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"
        def __eq__(self, other):
            return self.__class__ is other.__class__ and self.__dict__ == other.__dict__
        def grown(self):
            return self.__class__(**{k: v + 1 for k, v in self.__dict__.items()})
    class Box(Shape):
        pass
    b = Box(a=1, b=2)
    print(b, b.grown(), b == Box(a=1, b=2), b == Shape(a=1, b=2), json.dumps(b.__dict__))
    b.__dict__["c"] = 3
    print(b.c, b.__dict__.pop("c"), hasattr(b, "c"), sorted(b.__dict__), b.__dict__.get("x"))
    try:
        raise KeyError("x")
    except Exception as e:
        print(e.__class__.__name__, e.__class__ is KeyError)""")
program("names with underscores", """
    __version__ = "1.0"
    __all__ = ["twice"]
    __private = 2
    def twice(__x):
        return __x * __private
    for __ in range(2):
        print(twice(__), __version__, __all__)
    if __name__ == "__main__":
        print("main")""")
program("settings of library objects", """
    import collections, textwrap, decimal
    wrapper = textwrap.TextWrapper(width=12)
    wrapper.initial_indent = "* "
    wrapper.subsequent_indent = "  "
    print(wrapper.fill("one two three four"))
    groups = collections.defaultdict(list)
    groups["a"].append(1)
    groups.default_factory = None
    try:
        groups["b"]
    except KeyError as e:
        print("no", e)
    decimal.getcontext().prec = 6
    print(decimal.Decimal(1) / 3)
    decimal.getcontext().prec = 28""")
program("copies of every kind", """
    import copy, collections, random, decimal, fractions, dataclasses, enum, functools, itertools
    class Node:
        __slots__ = ["value", "__hidden"]
        def __init__(self, value):
            self.value, self.__hidden = value, 2
        def hidden(self):
            return self.__hidden
    class Ring(Node):
        def __init__(self):
            super().__init__([1])
            self.next = self
    @dataclasses.dataclass
    class Point:
        x: int = 1
        tags: list = dataclasses.field(default_factory=list)
    class Level(enum.Enum):
        LOW = 1
    class Failure(ValueError):
        def __init__(self, text):
            super().__init__(text)
            self.kind = "k"
    values = [Node(3), Ring(), Point(), Level.LOW, Failure("x"), collections.Counter("aab"), collections.deque([1], 3),
              collections.OrderedDict(a=1), collections.defaultdict(list, a=[1]), collections.ChainMap({1: 2}),
              collections.UserDict(a=1), collections.UserList([1]), random.Random(3), decimal.Decimal("1.5"),
              fractions.Fraction(1, 3), functools.partial(pow, 2), iter([1, 2]), (1, [2]), {1: {2}}, range(3)]
    for value in values:
        shallow, deep = copy.copy(value), copy.deepcopy(value)
        assert type(shallow) is type(deep) is type(value), value
    ring = copy.deepcopy(Ring())
    print(ring.next is ring, ring.hidden(), copy.copy(Failure("y")).kind, dataclasses.asdict(Point()))""")
program("slots in every form", """
    from dataclasses import dataclass
    class A:
        __slots__ = "x"
    class B(A):
        __slots__ = ["y"]
    class C(B):
        __slots__: tuple = ("z", "__dict__")
        __match_args__: tuple = ("x", "y")
        def __init__(self):
            self.x, self.y, self.z, self.w = 1, 2, 3, 4
    c = C()
    print(c.x, c.y, c.z, c.w)
    try:
        A().other = 1
    except AttributeError as e:
        print(e.__class__.__name__)""")
