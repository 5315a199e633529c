import functools, typing
hit = []
def a():
    def f(x: "hit.append('get_type_hints') or int"): pass
    typing.get_type_hints(f, None, {"hit": hit})
def b():
    @functools.singledispatch
    def f(x): pass
    @f.register
    def g(x: "hit.append('singledispatch') or int"): pass
def c():
    r = typing.ForwardRef("hit.append('reference')")
    r._evaluate({}, {"hit": hit}, frozenset())
for t in (a, b, c):
    try:
        t()
    except Exception as e:
        print("note", type(e).__name__)
print("ESCAPED: text run by " + ", ".join(hit) if hit else "CONTAINED: annotations stay text")
