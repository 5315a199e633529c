from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import typing as t
from contextlib import contextmanager


class Kind(enum.Enum):
    A = 1
    B = 2


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list)

    def __add__(self, other: Point) -> Point:
        return Point(self.x + other.x, self.y + other.y)


class Shape(abc.ABC):
    registry: t.ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Shape.registry[cls.__name__] = cls

    @property
    @abc.abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    @property
    def area(self):
        return self.side ** 2


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@contextmanager
def section(name):
    print("<", name)
    yield
    print(">", name)


def describe(value):
    match value:
        case Point(x=0, y=0):
            return "origin"
        case Point(x=x):
            return f"x={x}"
        case [first, *rest]:
            return first, rest
        case {"kind": Kind.A, **other}:
            return other
        case _:
            return None


with section("a"):
    print(fib(30), Square(2).area, describe(Point(0)), getattr(Kind, "A"), hasattr(Point, "x"))
