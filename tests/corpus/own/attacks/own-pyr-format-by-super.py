class S(str):
    def up(self, *a):
        return super().format(*a)
out = []
for f in (lambda: S("{0.__class__.__mro__}").up(()), lambda: super(S, S("{0.__class__.__mro__}")).format(()),
          lambda: S.format("{0.__class__.__mro__}", ()), lambda: "".join(map(S.format, ["{0.__class__.__mro__}"], [()]))):
    try:
        out.append(f())
    except Exception as e:
        print("note", type(e).__name__)
print("ESCAPED: " + out[0][:40] if any("object" in t for t in out) else "CONTAINED: no way round the guard of format")
