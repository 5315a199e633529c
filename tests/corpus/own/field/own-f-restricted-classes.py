from dataclasses import dataclass, field
from enum import Enum
from functools import wraps, lru_cache
from decimal import Decimal

class Kind(Enum):
    IN = 1
    OUT = -1

def logged(f):
    @wraps(f)
    def inner(self, *a):
        self._log.append(f.__name__)
        return f(self, *a)
    return inner

@dataclass
class Account:
    owner: str
    _log: list = field(default_factory=list)
    __limit = Decimal("100")

    def __post_init__(self):
        self._balance = Decimal(0)

    @property
    def balance(self):
        return self._balance

    @logged
    def move(self, kind, amount):
        new = self._balance + kind.value * Decimal(amount)
        if abs(new) > self.__limit:
            raise ValueError(f"{self.owner}: {new:+.2f} is beyond {self.__limit}")
        self._balance = new

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self._log.append("closed")
        return what[0] is ValueError

@lru_cache(maxsize=None)
def ways(n, coins=(1, 2, 5)):
    return 1 if n == 0 else sum(ways(n - c, coins[i:]) for i, c in enumerate(coins) if c <= n)

a = Account("Ann")
with a:
    a.move(Kind.IN, "30.50")
    a.move(Kind.OUT, 20)
    a.move(Kind.IN, 1000)
    print("never")
print(a.balance, a._log, ways(30), f"{'x':*^5}|{255:#06x}|{2**70:,}")
print("{0.owner:>6}|{0.balance:.1f}|{d[k]!r}".format(a, d={"k": "v"}))
