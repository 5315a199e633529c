from dataclasses import dataclass
@dataclass(frozen=True)
class A:
    x: int = 1
class B(A): pass
class C(A): pass
b = B()
try:
    b.__setattr__("__class__", C)
    print("ESCAPED: now a", type(b).__name__)
except Exception as e:
    print("CONTAINED:", type(e).__name__)
