"""copy.copy and deepcopy in a restricted program. They make an object from what its class says and then set its attributes,
past the guards. So the object must be of that class, and the names are those it had: a program may hand deepcopy a memo
in which any object stands for any other."""
import copy

from . import names


def reconstruct(original, memo, make, arguments, state=None, items=None, pairs=None, *, deepcopy=None):
    """copy._reconstruct, for the library's own calls as well."""
    deep = (lambda value: value) if memo is None else lambda value: copy.deepcopy(value, memo)
    made = make(*[deep(argument) for argument in arguments])
    if memo is not None:
        memo[id(original)] = made
    if state is not None:
        if type(made) is not type(original):
            raise TypeError("a copy of '%s' must be of the same class" % type(original).__name__)
        _restore(made, state, deep)
    for item in items or ():
        made.append(deep(item))
    for key, value in pairs or ():
        made[deep(key)] = deep(value)
    return made


def _restore(made, state, deep):
    if hasattr(made, "__setstate__"):
        made.__setstate__(_checked(state, deep) if type(state) is dict else deep(state))
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if attributes is not None:
        made.__dict__.update(_checked(attributes, deep))
    for name, value in _checked(slots or {}, deep).items():
        setattr(made, name, value)


def _checked(attributes, deep):
    for name in attributes:
        if type(name) is not str or names.is_reserved(name):
            raise TypeError("attribute %r cannot be copied" % (name,))
    return {name: deep(value) for name, value in attributes.items()}


def guard_copying():
    """Once, in a process that runs restricted programs only."""
    copy._reconstruct = reconstruct
