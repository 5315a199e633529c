import dataclasses
hit, out = [], []
try:
    class A:
        x = 0
    setattr(A, "__anno" + "tations__", {"x or hit.append('a field')": int})
    dataclasses.dataclass(init=False, repr=False)(A)
    A() == A()
except Exception as e:
    out.append(type(e).__name__)
try:
    K = dataclasses.make_dataclass("K", ["a"], namespace={"__getattribute__": lambda s, n: hit.append("a special method")})
    K(1).a
except Exception as e:
    out.append(type(e).__name__)
print("ESCAPED: ran " + ", ".join(hit) if hit else "CONTAINED: " + ", ".join(out))
