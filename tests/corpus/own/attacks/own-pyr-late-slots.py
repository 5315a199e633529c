import copy
got, slots = [], ["a"]
class A:
    __slots__ = slots
    def __setattr__(self, name, value):
        got.append((name, value))
slots.append("__getattribute__")
try:
    copy.copy(A())
    print("ESCAPED: %s" % got[-1][1]("__class__") if got else "CONTAINED: nothing was read")
except Exception as e:
    print("CONTAINED:", type(e).__name__)
