import copy, dataclasses
made, ran = [], []
def note():
    ran.append(1)
@dataclasses.dataclass
class A:
    x: int = 1
target = dataclasses.fields(A)[0]
try:
    class Pen:
        __slots__ = ("name",)
        def __new__(cls, *rest):
            return target if made else object.__new__(cls)
    pen = Pen()
    pen.name = "another"
    made.append(1)
    copy.copy(pen)
    print("ESCAPED: a library's object renamed" if target.name == "another" else "CONTAINED: not renamed")
except Exception as e:
    print("CONTAINED:", type(e).__name__)
