hit = []
class C:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        for read in (lambda: getattr(trace, "tb_" + "frame"), lambda: "{0.tb_frame}".format(trace),
                     lambda: list(map(getattr, [trace], ["tb_" + "next"])) and getattr(trace, "tb_" + "lasti")):
            try:
                hit.append(str(read()))
            except Exception as e:
                print("note", type(e).__name__)
        return True
with C():
    1 / 0
print("ESCAPED: " + hit[0][:50] if hit else "CONTAINED: the traceback says nothing")
