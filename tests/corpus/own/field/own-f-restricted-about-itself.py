import json, copy
__version__ = "1.0"
class Shape:
    def __init__(self, **sides):
        self.__dict__.update(sides)
    def __repr__(self):
        return f"{self.__class__.__name__}({json.dumps(self.__dict__)})"
    def __eq__(self, other):
        return self.__class__ is other.__class__ and self.__dict__ == other.__dict__
def __private(shape):
    return copy.deepcopy(shape)
class Box(Shape): pass
box = Box(a=1, b=[2])
try:
    box.c
except AttributeError as e:
    print(e.__class__.__name__, type(e).__name__)
if __name__ == "__main__":
    print(box, __private(box) == box, box == Shape(a=1, b=[2]), __version__)
