"""Ordinary programs, by name: restricted, they print what they print unrestricted. Those that
go near what is refused stand in restricted_programs_near.py."""
import textwrap

PROGRAMS = {}


def program(name, code, since=(3, 9)):
    assert name not in PROGRAMS
    PROGRAMS[name] = (textwrap.dedent(code), since)


program("comprehensions", """
    print([i * j for i in range(4) for j in range(3) if i != j], {c: ord(c) for c in "abc"}, {x % 3 for x in range(9)})
    print(sum(x for x in range(10) if x % 2), [[y for y in range(x)] for x in range(4)])""")
program("classes and inheritance", """
    class Shape:
        count = 0
        def __init__(self, name):
            self.name = name
            Shape.count += 1
        def area(self):
            raise NotImplementedError
        def __repr__(self):
            return f"{type(self).__name__}({self.name!r})"
    class Square(Shape):
        def __init__(self, side):
            super().__init__("square")
            self.side = side
        def area(self):
            return self.side ** 2
    s = Square(3)
    print(s, s.area(), Shape.count, isinstance(s, Shape), issubclass(Square, Shape), type(s) is Square)""")
program("private attributes and properties", """
    class Account:
        __total = 0
        def __init__(self, owner):
            self._owner = owner
            self.__balance = 0
        @property
        def balance(self):
            return self.__balance
        @balance.setter
        def balance(self, value):
            if value < 0:
                raise ValueError("negative")
            self.__balance = value
            Account.__total += value
        @classmethod
        def total(cls):
            return cls.__total
        @staticmethod
        def _helper():
            return "help"
    a = Account("Ann")
    a.balance = 10
    a.balance += 5
    print(a.balance, a._owner, Account.total(), a._helper())
    try:
        a.balance = -1
    except ValueError as e:
        print("ValueError:", e)""")
program("closures and nonlocal", """
    def counter():
        n = 0
        def step(by=1):
            nonlocal n
            n += by
            return n
        return step
    c = counter()
    print(c(), c(5), c(), [f(2) for f in [lambda x, k=k: x * k for k in range(3)]])""")
program("generators", """
    def fib():
        a, b = 0, 1
        while True:
            yield a
            a, b = b, a + b
    def sub():
        got = yield "first"
        yield from (got, "end")
        return 7
    def outer():
        print((yield from sub()))
    g = fib()
    print([next(g) for _ in range(10)])
    s = outer()
    print(next(s), s.send("sent"), list(s))
    g.close()""")
program("exceptions", """
    class Custom(Exception):
        def __init__(self, code):
            super().__init__(f"code {code}")
            self.code = code
    def f(n):
        try:
            if n == 0: raise Custom(5)
            if n == 1: return 1 // 0
            if n == 2: return {}["k"]
            return "fine"
        except Custom as e:
            return e.code, str(e), e.args
        except (ZeroDivisionError, KeyError) as e:
            return type(e).__name__, str(e)
        else:
            return "else"
        finally:
            print("finally", n)
    for i in range(4):
        print(f(i))
    try:
        try:
            int("x")
        except ValueError as e:
            raise RuntimeError("outer") from e
    except RuntimeError as e:
        print(repr(e))""")
program("dataclasses", """
    from dataclasses import dataclass, field, asdict, replace, fields
    @dataclass(order=True, frozen=True)
    class P:
        x: int
        y: int = 0
        tags: list = field(default_factory=list, compare=False)
        def norm(self):
            return (self.x ** 2 + self.y ** 2) ** 0.5
    @dataclass
    class Q:
        a: float
        _b: str = "b"
        def __post_init__(self):
            self.a *= 2
    p = P(3, 4)
    print(p, p.norm(), asdict(p), replace(p, x=1), sorted([P(2), P(1)]), p == P(3, 4), hash(P(1)) == hash(P(1)))
    print(Q(1.5), [f.name for f in fields(Q)])
    try:
        p.x = 5
    except AttributeError as e:
        print(e)""")
program("dataclasses with slots and match", """
    from dataclasses import dataclass
    @dataclass(slots=True)
    class Point:
        x: int
        y: int
        _seen: bool = False
    def where(p):
        match p:
            case Point(0, 0): return "origin"
            case Point(x=0, y=y): return f"y axis {y}"
            case Point(x, y) if x == y: return "diagonal"
            case [Point(), *rest]: return len(rest)
            case {"k": v, **others}: return v, others
            case str() | bytes(): return "text"
            case _: return None
    print([where(v) for v in (Point(0, 0), Point(0, 2), Point(3, 3), [Point(1, 2), 1, 2], {"k": 1, "z": 2}, "s", 4.5)])
    p = Point(1, 2)
    p._seen = True
    print(p)""", since=(3, 10))
program("enum", """
    from enum import Enum, IntEnum, Flag, auto, unique
    @unique
    class Color(Enum):
        RED = 1
        GREEN = auto()
        @property
        def nice(self):
            return self.name.title()
    class Level(IntEnum):
        LOW = 1
        HIGH = 2
    class Perm(Flag):
        R = auto()
        W = auto()
    Made = Enum("Made", "A B")
    Given = Enum("Given", {"X": 10})
    print(list(Color), Color(1), Color["GREEN"].nice, Color.RED.value, Level.HIGH > 1, Perm.R | Perm.W, Made.B, Given.X.value)
    class Planet(Enum):
        EARTH = ("earth", 6)
        MARS = ("mars", 3)
        def __new__(cls, label, mass):
            member = object.__new__(cls)
            member._value_ = label
            member.mass = mass
            return member
    print(Planet.EARTH.mass, Planet("mars").name)
    print(Color.RED in Color, len(Color), Level.LOW + 1, repr(Made), [m for m in Color.__members__])""")
program("match on enum values", """
    import enum
    class C(enum.Enum):
        A = 1
        B = 2
    def f(c):
        match c:
            case C.A: return "a"
            case C.B: return "b"
            case -1 | 1.5 | None | True: return "constant"
            case (x, *_): return x
    print(f(C.A), f(C.B), f(-1), f(None), f([9, 8]), f("z"))""", since=(3, 10))
program("decorators", """
    import functools
    def twice(f):
        @functools.wraps(f)
        def inner(*a, **k):
            inner.calls += 1
            return f(*a, **k) * 2
        inner.calls = 0
        return inner
    def with_arg(n):
        def deco(f):
            return lambda *a: f(*a) + n
        return deco
    @twice
    def add(a, b=1):
        "adds"
        return a + b
    @with_arg(100)
    def sub(a): return -a
    print(add(1), add(1, b=5), add.calls, add.__name__, add.__doc__, sub(1))""")
program("caches and functools", """
    from functools import lru_cache, reduce, partial, cmp_to_key, total_ordering, cached_property, singledispatch
    @lru_cache(maxsize=None)
    def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
    @total_ordering
    class V:
        def __init__(self, n): self.n = n
        def __eq__(self, o): return self.n == o.n
        def __lt__(self, o): return self.n < o.n
        @cached_property
        def square(self):
            print("once")
            return self.n ** 2
    @singledispatch
    def show(x): return "thing"
    @show.register
    def _(x: int): return "int"
    @show.register(list)
    def _(x): return "list"
    v = V(3)
    print(fib(80), fib.cache_info().hits > 0, reduce(lambda a, b: a * b, range(1, 10)), partial(pow, 2)(10))
    print(V(1) <= V(2), V(3) >= V(4), v.square, v.square, sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)))
    print(show(1), show([]), show("s"))""")
program("sorting with keys", """
    import operator
    rows = [{"n": "b", "v": 2}, {"n": "a", "v": 2}, {"n": "c", "v": 1}]
    print(sorted(rows, key=operator.itemgetter("v", "n")), min(rows, key=lambda r: r["n"]))
    class P:
        def __init__(self, x, y): self.x, self.y = x, y
    ps = [P(1, 2), P(0, 5)]
    print([(p.x, p.y) for p in sorted(ps, key=operator.attrgetter("x"))], operator.methodcaller("upper")("abc"))
    words = "the quick brown fox".split()
    words.sort(key=len, reverse=True)
    print(words, list(map(str.upper, words)), sorted(words, key=str.lower))""")
program("json", """
    import json
    data = {"a": [1, 2.5, None, True], "b": {"c": "\\u00e4"}}
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)
    print(text, json.loads(text) == data)
    class E(json.JSONEncoder):
        def default(self, o):
            return sorted(o) if isinstance(o, set) else super().default(o)
    print(json.dumps({1: {3, 1}}, cls=E), json.dumps([1, 2], separators=(",", ":")))
    try:
        json.loads("{bad")
    except json.JSONDecodeError as e:
        print(e.msg, e.pos, isinstance(e, ValueError))""")
program("re", """
    import re
    m = re.match(r"(?P<y>\\d{4})-(?P<m>\\d\\d)", "2024-05-06")
    print(m.group("y"), m.groups(), m.groupdict(), m.span(), m["m"])
    print(re.sub(r"\\w+", lambda m: m.group().title(), "ab cd"), re.findall("[a-c]", "abcd", re.I), re.split(r"[,;]", "a,b;c"))
    p = re.compile("x+")
    print(re.compile("(a)").sub(r"<\\1>", "bab"), re.sub("(?P<n>b)", r"\\g<n>!", "abc"))
    print([x.start() for x in p.finditer("axxbx")], p.pattern, bool(p.search("b")))""")
program("decimal and fractions", """
    from decimal import Decimal, getcontext, localcontext, ROUND_HALF_UP
    from fractions import Fraction
    print(Decimal("0.1") + Decimal("0.2"), Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP))
    with localcontext() as ctx:
        ctx.prec = 5
        print(Decimal(1) / Decimal(7))
    getcontext().prec = 10
    print(Decimal(2).sqrt(), Fraction(1, 3) + Fraction(1, 6), Fraction("0.125").denominator, f"{Decimal('1234.5'):,.2f}")""")
program("formatting", """
    x, name, d = 3.14159, "Ann", {"k": 5}
    class T:
        a = 7
        def __format__(self, spec): return f"<{spec}>"
    print(f"{x:.2f}|{name:>6}|{name!r:<8}|{x:{8}.{3}f}|{d['k']:03d}|{1e6:,.0f}|{255:#x}|{T():abc}|{x=:.1f}")
    print("{:>5.1f}|{x}|{0!r}|{1:{2}}".format(2.25, "s", 4, x=1) if 0 else "{0:>5.1f}|{x}|{1:{2}}".format(2.25, "s", 4, x=1))
    print("{0.a} {0.a:>4} {d[k]} {l[1]}".format(T(), d=d, l=[1, 2]), "{k}".format_map(d), "%s %05.1f %(k)s" % () if 0 else "%(k)03d" % d)
    print("{{}} {}".format(1), "%-5s|%+d" % ("a", 3), format(0.5, ".0%"), "{:^9}".format("mid"))
    for bad in ("{", "{0} {}", "{9}", "{z}"):
        try:
            bad.format(1)
        except Exception as e:
            print(type(e).__name__, e)""")
program("try, finally and with", """
    class Ctx:
        def __init__(self, n): self.n = n
        def __enter__(self):
            print("enter", self.n)
            return self
        def __exit__(self, kind, error, trace):
            print("exit", self.n, kind.__name__ if kind else None, error)
            return kind is KeyError
    with Ctx(1) as a, Ctx(2) as b:
        print(a.n + b.n)
    with Ctx(3):
        {}["x"]
    def f():
        for i in range(5):
            try:
                if i == 1: continue
                if i == 3: return "done"
            finally:
                print("f", i)
    print(f())""")
program("recursion", """
    def hanoi(n, a="A", b="B", c="C"):
        return 0 if n == 0 else hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)
    def perms(s):
        return [s] if len(s) < 2 else [c + r for i, c in enumerate(s) for r in perms(s[:i] + s[i + 1:])]
    def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
    print(hanoi(8), perms("abc"), depth(800))
    def forever(): return forever()
    try:
        forever()
    except RecursionError as e:
        print("RecursionError")""")
program("recursive methods", """
    class Node:
        def __init__(self, value, left=None, right=None):
            self.value, self.left, self.right = value, left, right
        def __iter__(self):
            if self.left: yield from self.left
            yield self.value
            if self.right: yield from self.right
        def insert(self, v):
            side = "left" if v < self.value else "right"
            child = getattr(self, side)
            if child: child.insert(v)
            else: setattr(self, side, Node(v))
        def height(self):
            return 1 + max((c.height() for c in (self.left, self.right) if c), default=0)
    root = Node(50)
    for v in (30, 70, 20, 40, 60, 80, 10): root.insert(v)
    print(list(root), root.height(), hasattr(root, "left"), hasattr(root, "nope"))""")
program("big integers", """
    import math
    print(2 ** 200, math.factorial(50), pow(3, 1000, 10 ** 9 + 7), (10 ** 40) // 7, math.gcd(48, 180), 1 << 70, -7 // 2, -7 % 3)
    print(int("ff", 16), bin(10), (1234).bit_length(), int.from_bytes(b"\\x01\\x00", "big"), (255).to_bytes(2, "little"))""")
program("math and statistics", """
    import math, statistics
    data = [2, 4, 4, 4, 5, 5, 7, 9]
    print(statistics.mean(data), statistics.median(data), statistics.pstdev(data), statistics.mode(data))
    print(round(math.sqrt(2), 6), math.floor(-1.5), math.isclose(0.1 + 0.2, 0.3), math.inf > 1, round(math.e ** math.pi, 3))""")
program("collections", """
    from collections import Counter, defaultdict, deque, OrderedDict, namedtuple, ChainMap
    import collections.abc
    P = namedtuple("P", "x y", defaults=[0])
    p = P(1)
    d = defaultdict(list)
    for k, v in [("a", 1), ("b", 2), ("a", 3)]: d[k].append(v)
    q = deque([1, 2, 3], maxlen=3)
    q.append(4); q.rotate(1)
    print(Counter("mississippi").most_common(2), dict(d), q, OrderedDict(a=1), p, p._replace(y=5), p._asdict(), P._fields, p.x + p[1])
    print(ChainMap({"a": 1}, {"b": 2})["b"], isinstance([], collections.abc.Sequence), isinstance(d, collections.abc.Mapping))
    class Stack(collections.abc.Sequence):
        def __init__(self, *items): self._items = items
        def __len__(self): return len(self._items)
        def __getitem__(self, i): return self._items[i]
    s = Stack(1, 2, 3)
    print(list(reversed(s)), 2 in s, s.index(3))""")
program("itertools and heapq and bisect", """
    import itertools, heapq, bisect
    print(list(itertools.combinations("abc", 2)), list(itertools.accumulate([1, 2, 3])), list(itertools.islice(itertools.count(5), 3)))
    print([(k, len(list(g))) for k, g in itertools.groupby("aabccc")], list(itertools.zip_longest("ab", "c")), list(itertools.product([0, 1], repeat=2)))
    h = [5, 1, 4]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    a = [1, 3, 5]
    bisect.insort(a, 4)
    print([heapq.heappop(h) for _ in range(4)], heapq.nlargest(2, [1, 9, 5]), a, bisect.bisect_left(a, 3))""")
program("random with a seed", """
    import random
    random.seed(42)
    print(random.randint(1, 100), random.choice("abc"), random.sample(range(10), 3), round(random.random(), 6))
    r = random.Random(7)
    x = list(range(5))
    r.shuffle(x)
    print(x, r.uniform(0, 1) < 1)""")
program("datetime", """
    from datetime import datetime, timedelta, date, timezone
    d = datetime(2024, 2, 28, 12, 30)
    print(d + timedelta(days=2), d.strftime("%d/%m/%Y %H:%M"), date(2024, 5, 6).weekday(), (date(2024, 3, 1) - date(2024, 2, 1)).days)
    print(datetime.strptime("2024-01-02", "%Y-%m-%d").date(), d.replace(tzinfo=timezone.utc).isoformat(), f"{d:%Y}", d.year)""")
program("strings and textwrap", """
    import string, textwrap
    s = "Hello, World"
    print(s[::-1], s.lower().count("o"), s.partition(", "), s.replace("l", "L", 1), ",".join("abc"), s.startswith("He"), s.encode())
    print(s.translate(str.maketrans("lo", "01")), string.ascii_lowercase[:5], string.Template("$a and ${b}").substitute(a=1, b=2))
    print(textwrap.fill("a b c d e f g h", 5), textwrap.dedent("  x\\n  y"), "abc".center(9, "*"), "a\\tb".expandtabs(4), "x".isalpha())""")
program("operators overloaded", """
    class Vec:
        __slots__ = ("x", "y")
        def __init__(self, x, y): self.x, self.y = x, y
        def __add__(self, o): return Vec(self.x + o.x, self.y + o.y)
        def __mul__(self, k): return Vec(self.x * k, self.y * k)
        __rmul__ = __mul__
        def __neg__(self): return self * -1
        def __eq__(self, o): return (self.x, self.y) == (o.x, o.y)
        def __hash__(self): return hash((self.x, self.y))
        def __abs__(self): return (self.x ** 2 + self.y ** 2) ** 0.5
        def __bool__(self): return bool(self.x or self.y)
        def __repr__(self): return f"Vec({self.x}, {self.y})"
        def __getitem__(self, i): return (self.x, self.y)[i]
        def __iter__(self): return iter((self.x, self.y))
        def __call__(self, *a): return a
        def __contains__(self, v): return v in (self.x, self.y)
        def __matmul__(self, o): return self.x * o.x + self.y * o.y
        def __iadd__(self, o): self.x += o.x; return self
    v = Vec(1, 2)
    w = v
    w += Vec(1, 1)
    print(v, v + Vec(1, 1), 3 * v, -v, abs(Vec(3, 4)), bool(Vec(0, 0)), v == Vec(2, 2), len({v, Vec(2, 2)}), *v, v(1), 2 in v, v @ v, v[0])""")
program("iterators", """
    class Count:
        def __init__(self, n): self.n = n
        def __iter__(self): self.i = 0; return self
        def __next__(self):
            if self.i >= self.n: raise StopIteration
            self.i += 1
            return self.i
    print(list(Count(3)), sum(Count(4)), max(Count(5)), dict(zip("ab", Count(2))), *map(lambda a, b: a * b, Count(3), Count(3)))
    it = iter([1, 2, 3])
    print(next(it), next(it), list(it), next(it, "end"), list(enumerate("ab", 1)), any(x > 2 for x in Count(3)), list(filter(None, [0, 1])))""")
program("unpacking and slicing", """
    a, (b, *c), d = 1, (2, 3, 4), 5
    x = [*range(3), *"ab"]
    y = {**{"a": 1}, "b": 2}
    def f(*args, k=0, **kw): return args, k, kw
    x[1:3] = [9]
    del x[0]
    print(a, b, c, d, x, y, f(1, *[2], k=3, **{"z": 4}), x[::-1], "abcdef"[1:5:2])
    class O: pass
    o = O()
    o.p, o.q = 1, [2]
    o.p += 4
    o.q[0] -= 1
    (n := 10)
    for o.p in range(3): pass
    print(o.p, o.q, n, [t := 1, t + 1])""")
program("scopes", """
    x = 1
    def f():
        global x
        x += 1
        def g():
            return x
        return g()
    print(f(), x)
    class C:
        x = 10
        y = [i for i in range(3)]
        def m(self): return x, self.x
    print(C().m(), C.y, __name__)
    if __name__ == "__main__":
        print("main")
    del x
    try:
        x
    except NameError as e:
        print(e)
    _hidden = 5
    print(_hidden)""")
program("async by hand", """
    async def add(a, b):
        return a + b
    async def main():
        total = 0
        for i in range(3):
            total += await add(i, 1)
        return total
    c = main()
    try:
        c.send(None)
    except StopIteration as e:
        print(e.value)
    class A:
        def __aiter__(self): self.n = 0; return self
        async def __anext__(self):
            self.n += 1
            if self.n > 3: raise StopAsyncIteration
            return self.n
    async def collect(): return [x async for x in A()]
    try:
        collect().send(None)
    except StopIteration as e:
        print(e.value)""")
program("typing", """
    from __future__ import annotations
    from typing import List, Dict, Optional, Union, Callable, TypeVar, Generic, NamedTuple, Protocol, Any
    T = TypeVar("T")
    class Stack(Generic[T]):
        def __init__(self) -> None:
            self.items: List[T] = []
        def push(self, x: T) -> Stack[T]:
            self.items.append(x)
            return self
    class P(NamedTuple):
        x: int
        y: Optional[int] = None
    class Named(Protocol):
        name: str
    def f(x: Dict[str, int], g: Callable[[int], Undefined]) -> Union[int, None]: return 1
    print(Stack[int]().push(1).items, P(1), f({}, None), P(1)._replace(y=2))
    class Node:
        next: Node | None = None
    print(Node().next)""")
program("copy", """
    import copy
    class A:
        def __init__(self): self.l = [1]; self._p = {"a": self.l}
    a = A()
    b, c = copy.copy(a), copy.deepcopy(a)
    a.l.append(2)
    print(b.l, c.l, c._p["a"] is c.l, copy.deepcopy([[1], (2, [3])]))
    class B:
        def __copy__(self): return "copied"
        def __deepcopy__(self, memo): return "deep"
    print(copy.copy(B()), copy.deepcopy([B()]))""")
program("primes, matrices, words", """
    def primes(n):
        sieve = bytearray([1]) * (n + 1)
        for i in range(2, int(n ** 0.5) + 1):
            if sieve[i]:
                sieve[i * i::i] = bytes(len(range(i * i, n + 1, i)))
        return [i for i in range(2, n + 1) if sieve[i]]
    def matmul(a, b):
        return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]
    words = {}
    for w in "the cat the dog a cat the end".split():
        words[w] = words.get(w, 0) + 1
    print(primes(60), matmul([[1, 2], [3, 4]], [[5, 6], [7, 8]]), sorted(words.items(), key=lambda kv: (-kv[1], kv[0])))""")
program("a simulation", """
    class Bank:
        class Error(Exception): pass
        def __init__(self): self._accounts, self._log = {}, []
        def open(self, name, amount=0):
            self._accounts[name] = amount
        def move(self, a, b, amount):
            if self._accounts[a] < amount:
                raise Bank.Error(f"{a} has only {self._accounts[a]}")
            self._accounts[a] -= amount
            self._accounts[b] += amount
            self._log.append((a, b, amount))
        @property
        def total(self): return sum(self._accounts.values())
    bank = Bank()
    bank.open("x", 100); bank.open("y")
    bank.move("x", "y", 30)
    try:
        bank.move("y", "x", 31)
    except Bank.Error as e:
        print("refused:", e)
    print(bank.total, bank._log)""")
program("bytes and sets", """
    b = bytearray(b"abc")
    b[0] = 122
    b.extend(b"!")
    a, c = {1, 2, 3}, frozenset([3, 4])
    print(b, bytes(b).hex(), b.decode(), memoryview(b"xyz")[1], a & c, a | c, a - c, a ^ c, a <= {1, 2, 3, 4}, "é".encode("utf-8"))
    print(complex(1, 2) * 1j, divmod(17, 5), round(2.5), abs(-3), hash("a") == hash("a"), chr(97), ord("a"), [n for n in dir(1) if n[0] != "_"][:2])""")
program("exception groups", """
    try:
        raise ExceptionGroup("many", [ValueError(1), KeyError("k")])
    except* ValueError as e:
        print("values", e.exceptions)
    except* KeyError as e:
        print("keys", e.exceptions)""", since=(3, 11))
