"""The guards: whether a program may read, write or delete an attribute, decided when it happens.

Nothing here asks an object about itself. Its class is type(object), a class's contents are read past its metaclass, and a
name is a str and no subclass of it: whatever a program defines, it cannot answer for itself."""
import collections.abc
import functools
import sys
import types

from ..texts import mro_of, namespace_of
from . import names
from .templates import guarded_format, is_template_method

_FUNCTIONS = frozenset((types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
                        types.MethodWrapperType, types.ClassMethodDescriptorType))
# Kinds of values that nothing can be wrong with, whatever attribute gave them.
_HARMLESS = frozenset((int, float, bool, str, bytes, list, tuple, dict, set, type(None), types.MethodType, types.FunctionType))
_SETTERS = frozenset(("__setattr__", "__delattr__"))
_MISSING = object()
PROGRAM = "__main__"


def refuse(name):
    raise AttributeError("access to attribute '%s' is not allowed" % name)


def is_of_program(kind):
    """Whether the class `kind` was made by the program: no other bears its module's name, and none can take it."""
    return namespace_of(kind).get("__module__") == PROGRAM


# ---- reading ----

def read(value, name):
    """value.name, or AttributeError."""
    kind = type(value)
    if name[:1] == "_":
        _check_underscore(value, kind, name)
    elif name in names.INTERNALS:
        refuse(name)
    if kind in names.SEALED or kind in names.GENERATORS and name not in names.GENERATOR_METHODS:
        refuse(name)
    if name == "obj" and issubclass(kind, AttributeError):
        refuse(name)  # What lacked it may be anything.
    return _looked_at(getattr(value, name), name)


def read_public(value, name):
    """As read, for a name that the rewriter has looked at: it begins with no underscore and is refused of nothing."""
    if type(value) in names.WATCHED:
        return read(value, name)
    got = getattr(value, name)
    return got if type(got) in _HARMLESS else _looked_at(got, name)


def read_own(value, name):
    """value.__class__ or value.__dict__, written out, of an instance of the program's own classes."""
    kind = type(value)
    if not (is_of_program(kind) or name == "__class__" and issubclass(kind, BaseException)):
        refuse(name)
    return kind if name == "__class__" else Attributes(value)


def _looked_at(got, name):
    """What an attribute gave, if it may be given out."""
    kind = type(got)
    if name in names.TEXTS:
        return got if kind is str or got is None else refuse(name)
    if kind in names.SEALED:
        refuse(name)
    if kind in _FUNCTIONS:
        if is_template_method(got):
            return guarded_format(got, read)
    elif issubclass(kind, type) and issubclass(got, type):
        return Type
    if name in _SETTERS:
        return _guarded_setter(got)
    # A copy: what compares with a view of a mapping is handed the mapping itself.
    return types.MappingProxyType(dict(got)) if name == "__members__" else got


def _check_underscore(value, kind, name):
    if name in names.TEXTS or name in names.READABLE or name in names.PUBLIC:
        return
    if name == "__members__" and issubclass(kind, type):
        return
    if not _is_own(value, kind, name):
        refuse(name)


def _is_own(value, kind, name):
    """Whether _name can only be the program's own: of a class of its, and defined by no class that is not. Names like
    _this_ are enumerations' own."""
    if names.is_special(name) or name[-1] == "_":
        return False
    if kind is super:
        kind = value.__self_class__
    elif issubclass(kind, type):
        kind = value
    return is_of_program(kind) and not any(
        name in namespace_of(base) for base in mro_of(kind) if not is_of_program(base))


# ---- writing ----

def writable(value, name):
    """`value`, if the program may set or delete its attribute `name`."""
    kind = type(value)
    if name[:1] == "_":
        if name in names.WRITABLE_TEXTS:
            if kind is not types.FunctionType and not _is_programs(value, kind):
                refuse(name)
        elif name != "_value_" and not _is_own(value, kind, name):  # Of an enumeration's member, set by its __new__.
            refuse(name)
    elif name in names.INTERNALS or name == "obj" and issubclass(kind, AttributeError):
        refuse(name)
    if not _is_programs(value, kind) and name not in _settings_of(kind):
        raise AttributeError("attribute '%s' of '%s' object cannot be changed" % (name, kind.__name__))
    return value


def _is_programs(value, kind):
    """Whether the program made it, or may at least write on it: its classes, their instances, its functions, exceptions."""
    if kind is types.FunctionType:
        return type(value) is kind and value.__globals__.get("__name__") == PROGRAM
    return is_of_program(value if issubclass(kind, type) else kind) or issubclass(kind, BaseException)


def _settings_of(kind):
    for (module, name), settings in names.SETTINGS.items():
        if kind is getattr(sys.modules.get(module), name, None):
            return settings
    return ()


def _guarded_setter(setter):
    """object.__setattr__ and its like, which set whatever they are told to. The program's own are no exception: that of a
    frozen dataclass is a function like those it writes."""
    kind = type(setter)
    if kind in (types.MethodWrapperType, types.MethodType):
        target = setter.__self__

        def bound(name, *value):
            writable(target, _name(name))
            setter(name, *value)
        return bound

    def unbound(target, name, *value):
        writable(target, _name(name))
        setter(target, name, *value)
    return unbound


class Attributes(collections.abc.MutableMapping, dict):
    """What a program reads as the __dict__ of an instance of its own classes: a copy. What is changed in it is changed in
    the instance, too, as far as the program may. A dict, for that is what it is asked for, in json for one."""

    __getitem__, __iter__, __len__, __contains__ = dict.__getitem__, dict.__iter__, dict.__len__, dict.__contains__
    __repr__ = dict.__repr__

    def __init__(self, value):
        if not is_of_program(type(value)):
            refuse("__dict__")
        own = object.__getattribute__(value, "__dict__")
        dict.__init__(self, {name: _looked_at(own[name], name) for name in own if _is_listed(value, name)})

        def write(name):
            writable(value, _name(name))
            return own
        self._write = write

    def __init_subclass__(cls):
        raise TypeError("type 'dict' of an instance is not an acceptable base type")

    def __setitem__(self, name, new):
        self._write(name)[name] = new
        dict.__setitem__(self, name, new)

    def __delitem__(self, name):
        dict.__delitem__(self, name)
        self._write(name).pop(name, None)

    def copy(self):
        return dict(self)

    def __reduce_ex__(self, _protocol):
        return dict, (dict(self),)


def _is_listed(value, name):
    return type(name) is str and (name[:1] != "_" or _is_own(value, type(value), name))


# ---- by computed names ----

def _name(name):
    if type(name) is not str:
        raise TypeError("attribute name must be string, not '%s'" % type(name).__name__)
    return name


def guarded_getattr(value, name, *default):
    """getattr, of the attributes a program may read."""
    if len(default) > 1:
        raise TypeError("getattr expected at most 3 arguments, got %d" % (2 + len(default)))
    got = _optional(value, _name(name)) if default else read(value, _name(name))
    return default[0] if got is _MISSING else got


def _optional(value, name):
    """As read, with _MISSING for what is not there; what is refused stays an error."""
    kind = type(value)
    if name[:1] == "_":
        _check_underscore(value, kind, name)
    elif name in names.INTERNALS:
        refuse(name)
    try:
        return read(value, name)
    except AttributeError:
        return _MISSING


def guarded_hasattr(value, name):
    """hasattr, of the attributes a program may read."""
    try:
        read(value, _name(name))
        return True
    except AttributeError:
        return False


def guarded_setattr(value, name, new):
    """setattr, of the attributes a program may write."""
    setattr(writable(value, _name(name)), name, new)


def guarded_delattr(value, name):
    """delattr, of the attributes a program may write."""
    delattr(writable(value, _name(name)), name)


def guarded_dir(value):
    """dir, without what a program may not read. It takes an object: a program's own names are not listed."""
    return [name for name in dir(value) if type(name) is str and name[:1] != "_" and name not in names.INTERNALS]


# ---- classes ----

class _TypeOfTypes(type):
    def __call__(cls, *arguments):
        if len(arguments) != 1:
            raise TypeError("type() takes 1 argument here: classes are made by class statements")
        kind = type(arguments[0])
        return Type if issubclass(kind, type) else kind

    def __instancecheck__(cls, value):
        return isinstance(value, type)

    def __subclasscheck__(cls, kind):
        return Type in mro_of(kind)

    def __repr__(cls):
        return "<class 'type'>"

    def __getitem__(cls, item):
        return types.GenericAlias(Type, item)


class Type(metaclass=_TypeOfTypes):
    """What a program has as `type`: tells an object's class and makes none. The class of classes is this one."""


Type.__name__, Type.__qualname__, Type.__module__ = "type", "type", "builtins"


def guarded_class(build):
    """__build_class__, which every class statement calls. `build` is the interpreter's. All is checked before: what stands
    in a body is handed the class while it is made."""
    def build_class(body, name, *bases, **keywords):
        if "metaclass" in keywords:
            raise TypeError("metaclasses are not allowed")
        _check_bases(bases)
        return build(body, name, *bases, **keywords)
    return build_class


def _check_bases(bases):
    if any(not issubclass(type(base), type) and is_of_program(type(base)) for base in bases):
        raise TypeError("bases must be types")
    for base in types.resolve_bases(bases):
        # Of a subclass of super, attributes would be another object's.
        if issubclass(type(base), type) and (super in mro_of(base) or Type in mro_of(base)):
            raise TypeError("type '%s' is not an acceptable base type" % base.__name__)


def checked_match_args(matched):
    """What a class's __match_args__ are set to."""
    if type(matched) is not tuple or not all(map(may_be_matched, matched)):
        raise TypeError("__match_args__ must be a tuple of names of attributes that may be read")
    return matched


def checked_slots(slots):
    """What a class's __slots__ are set to. Copying reads and sets the attributes that they name, whenever it is asked to:
    they are what they were when the class was made."""
    slots = (slots,) if type(slots) is str else tuple(slots)
    for name in slots:
        if type(name) is not str or names.is_reserved(name) and name not in ("__dict__", "__weakref__"):
            raise TypeError("__slots__ must be names of attributes that may be set")
    return slots


def checked_new(new):
    """The outermost decorator of each __new__: what it returns must be an instance of the class that was asked. Copying
    sets attributes on it."""
    function = new.__func__ if type(new) is staticmethod else new
    if type(function) is not types.FunctionType:
        raise TypeError("__new__ must be a function")

    @functools.wraps(function)
    def checked(cls, *arguments, **keywords):
        instance = function(cls, *arguments, **keywords)
        # By its bases: issubclass would ask an abstract class, which answers as it was told.
        if not any(base is cls for base in mro_of(type(instance))):
            raise TypeError("__new__ of '%s' must return an instance of it" % cls.__name__)
        return instance
    return checked


def may_be_matched(name):
    """Whether an attribute's name says nothing against reading it. Patterns read no others, for they do so unguarded."""
    return type(name) is str and name[:1] != "_" and name not in names.RAW_REFUSED
