hit = []
def a():
    from json import decoder
    return decoder
def b():
    import json.scanner
    return json.scanner
def c():
    import json
    json.__name__ = "os"
    from json import path
    return path
def d():
    from collections.abc import sys
    return sys
def e():
    import statistics
    return statistics.sys
for f in (a, b, c, d, e):
    try:
        hit.append(str(f())[:30])
    except Exception as x:
        print("note", type(x).__name__)
print("ESCAPED: " + ", ".join(hit) if hit else "CONTAINED: modules end at their names")
