"""Replacements for functions and classes of allowed modules that would read attributes unguarded, run text as code, or make
classes with names in them that no class statement could have."""
import collections
import enum
import functools
import sys
import types

from ..texts import mro_of, namespace_of
from . import guards, names


# ---- operator ----

def attrgetter(*paths):
    """operator.attrgetter, guarded."""
    if not paths or not all(type(path) is str for path in paths):
        raise TypeError("attribute name must be a string")

    def walk(value, path):
        for name in path.split("."):
            value = guards.read(value, name)
        return value
    if len(paths) == 1:
        return lambda value: walk(value, paths[0])
    return lambda value: tuple(walk(value, path) for path in paths)


def methodcaller(name, /, *arguments, **keywords):
    """operator.methodcaller, guarded."""
    if type(name) is not str:
        raise TypeError("method name must be a string")
    return lambda value: guards.read(value, name)(*arguments, **keywords)


# ---- functools ----

def update_wrapper(wrapper, wrapped):
    """functools.update_wrapper, of what a program may read and write."""
    for name in names.WRITABLE_TEXTS:
        text = guards.guarded_getattr(wrapped, name, None)
        if type(text) is str:
            guards.guarded_setattr(wrapper, name, text)
    if type(wrapper) is type(wrapped) is types.FunctionType:
        wrapper.__dict__.update(wrapped.__dict__)
    return wrapper


def wraps(wrapped):
    """functools.wraps, of what a program may read and write."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def total_ordering(kind):
    """functools.total_ordering, for the program's own classes."""
    return functools.total_ordering(_own_class(kind))


def singledispatch(function):
    """functools.singledispatch; of an annotation, only a class is taken: text would have to be run."""
    dispatcher = functools.singledispatch(function)

    def register(kind, method=None):
        if method is None and isinstance(kind, type):
            return lambda decorated: register(kind, decorated)
        if method is None:
            method = kind
            kind = next(iter(getattr(method, "__annotations__", {}).values()), None)
        if not isinstance(kind, type):
            raise TypeError("register() takes a class, or a function whose first argument is annotated with one")
        return dispatcher.register(kind, method)

    def dispatch(*arguments, **keywords):
        return dispatcher(*arguments, **keywords)
    functools.update_wrapper(dispatch, function)
    dispatch.register, dispatch.dispatch = register, dispatcher.dispatch
    return dispatch


# ---- collections ----

def namedtuple(typename, field_names, *, rename=False, defaults=None):
    """collections.namedtuple."""
    fields = field_names.replace(",", " ").split() if type(field_names) is str else list(field_names)
    if not all(type(name) is str for name in [typename, *fields]):
        raise TypeError("Type names and field names must be strings")
    return collections.namedtuple(typename, fields, rename=bool(rename), defaults=defaults, module=guards.PROGRAM)


# ---- dataclasses ----

def dataclass(cls=None, /, **options):
    """dataclasses.dataclass, for the program's own classes. It makes source text of the fields' names and runs it."""
    def process(kind):
        for name in getattr(_own_class(kind), "__annotations__", {}):
            _check_field(kind, name)
        return sys.modules["dataclasses"].dataclass(kind, **options)
    return process if cls is None else process(cls)


def _check_field(kind, name):
    if type(name) is not str or not name.isidentifier() or names.is_special(name):
        raise TypeError("%r cannot be the name of a field" % (name,))
    # Patterns will read the fields, without a guard.
    foreign = [base for base in mro_of(kind) if not guards.is_of_program(base)]
    if name in names.RAW_REFUSED or name[0] == "_" and any(name in namespace_of(base) for base in foreign):
        raise TypeError("'%s' is not allowed as the name of a field" % name)


def _own_class(kind):
    if not isinstance(kind, type) or not guards.is_of_program(kind):
        raise TypeError("only classes of the program's own can be changed")
    return kind


# ---- enum ----

class _EnumMeta(enum.EnumMeta):
    """Enumerations made by a call have only names that a class statement could give them."""

    def __call__(cls, *arguments, **keywords):
        makes_class = len(arguments) > 1 or keywords
        if not makes_class or len(cls):
            return super().__call__(*arguments)
        return _made(super().__call__, *arguments, **keywords)


def _made(make, typename, names, *, start=1):
    listed = names.replace(",", " ").split() if type(names) is str else list(names)
    if isinstance(names, dict):
        listed = list(names.items())
    members = [item if type(item) is str else tuple(item) for item in listed]
    for name in [typename] + [item if type(item) is str else item[0] for item in members]:
        if type(name) is not str or not name.isidentifier() or name[0] == "_":
            raise ValueError("%r cannot be the name of an enumeration or of its member" % (name,))
    return make(typename, members, module=guards.PROGRAM, start=start)


def _enum(base):
    made = _EnumMeta(base.__name__, (base,), _EnumMeta.__prepare__(base.__name__, (base,)))
    made.__module__, made.__doc__ = "enum", base.__doc__
    return made


ENUMS = {name: _enum(getattr(enum, name)) for name in ("Enum", "IntEnum", "Flag", "IntFlag", "StrEnum")
         if hasattr(enum, name)}
