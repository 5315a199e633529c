import copy
class A: pass
class B: pass
a = A()
a.foo = reduce = lambda protocol: (lambda: b, (), {"__class__": B})
try:
    b = copy.deepcopy(a, {id("foo"): "__reduce_ex__", id(reduce): reduce, id(A): B})
    made = copy.copy(b)
    print("ESCAPED: a memo chose what is made" if type(b) is B or made is b else "CONTAINED: copied as it was")
except Exception as e:
    print("CONTAINED:", type(e).__name__)
