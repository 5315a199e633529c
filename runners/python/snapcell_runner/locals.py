"""What a result says about the variables a context has."""
import types

from .channel import encoded
from .patience import Patience
from .texts import bounded_repr

TEXT_MAX = 4096
NAMES_MAX = 1000
NAME_MAX = 200
BYTES_MAX = 1 << 20
TOTAL_S = 3.0
LEFT_OUT = frozenset((
    types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
    types.WrapperDescriptorType, types.MethodDescriptorType))


_NONE = object()


def texts_of(namespace, left_out=LEFT_OUT, given=None):
    """Name -> text; modules, functions and classes are left out, and what still is as `given` has it."""
    given = given or {}
    texts, size, patience = {}, 0, Patience(TOTAL_S)
    for name, value in list(namespace.items()):
        kind = type(value)
        if type(name) is not str or name[:1] == "_" or kind in left_out or issubclass(kind, type):
            continue
        if given.get(name, _NONE) is value:
            continue
        text = bounded_repr(value, TEXT_MAX, patience)
        # As the line has it: what cannot be printed takes up to six characters for one.
        size += len(name) + (len(text) if text.isascii() and text.isprintable() else len(encoded(text)))
        if len(texts) >= NAMES_MAX or size > BYTES_MAX:
            break
        if len(name) <= NAME_MAX:
            texts[name] = text
    return texts
