got = []
class Takes:
    def __radd__(self, other):
        got.append(other)
        return 0
try:
    class S(str):
        pass
    s = S("{0.__class__.__mro__}")
    s.format += Takes()
except Exception as e:
    print("note", type(e).__name__)
print("ESCAPED: " + got[0](())[:40] if got else "CONTAINED: nothing is read in passing")
