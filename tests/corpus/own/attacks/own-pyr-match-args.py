got = []
try:
    class S(str):
        __match_args__ = ("".join(["for", "mat"]),)
    match S("{0.__class__.__mro__}"):
        case S(f):
            got.append(f(()))
except Exception as e:
    print("note", type(e).__name__)
try:
    class G:
        __match_args__ = ("".join(["gi_", "frame"]),)
    print("note", G.__match_args__[0] if hasattr(G, "__match_args__") else "absent")
except Exception as e:
    print("note", type(e).__name__)
print("ESCAPED: " + got[0][:40] if got and "object" in got[0] else "CONTAINED: positions of patterns are checked")
