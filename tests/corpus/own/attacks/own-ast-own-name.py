class Tools:
    eval = eval
    open = staticmethod(open)
print("ESCAPED:", Tools.eval("1 + 1"), Tools.open("/etc/passwd").read(4))
