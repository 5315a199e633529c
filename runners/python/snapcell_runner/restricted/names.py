"""The policy's data: names of attributes, and kinds of objects, that a program may or may not touch."""
import types

# Special methods that a class may define.
DEFINABLE = frozenset("""
    __init__ __new__ __post_init__ __init_subclass__ __class_getitem__ __set_name__ __get__ __set__ __delete__
    __repr__ __str__ __format__ __bytes__ __hash__ __bool__ __call__
    __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __len__ __length_hint__ __getitem__ __setitem__ __delitem__ __missing__ __iter__ __next__ __reversed__ __contains__
    __add__ __sub__ __mul__ __matmul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__ __lshift__ __rshift__ __and__
    __xor__ __or__ __radd__ __rsub__ __rmul__ __rmatmul__ __rtruediv__ __rfloordiv__ __rmod__ __rdivmod__ __rpow__
    __rlshift__ __rrshift__ __rand__ __rxor__ __ror__ __iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__
    __imod__ __ipow__ __ilshift__ __irshift__ __iand__ __ixor__ __ior__
    __neg__ __pos__ __abs__ __invert__ __complex__ __int__ __float__ __index__ __round__ __trunc__ __floor__ __ceil__
    __enter__ __exit__ __await__ __aiter__ __anext__ __aenter__ __aexit__
    __copy__ __deepcopy__ __getattr__ __setattr__ __delattr__
""".split())
# Other special names that may stand in the body of a class.
CLASS_NAMES = frozenset(("__slots__", "__match_args__", "__doc__", "__hash__"))
# Of the special methods, those that may be called by name, as in super().__init__(). Not: what binds, and what is asked
# when an attribute is missing, for these of built-in kinds would answer for names that nobody has checked.
READABLE = DEFINABLE - {"__get__", "__set__", "__delete__", "__set_name__", "__getattr__"}
# Words about an object; only text is given out.
TEXTS = frozenset(("__name__", "__qualname__", "__doc__", "__module__"))
WRITABLE_TEXTS = frozenset(("__name__", "__qualname__", "__doc__"))
# Public in spite of their look: of named tuples and enumerations.
PUBLIC = frozenset(("_asdict", "_replace", "_fields", "_make", "_field_defaults", "_value_", "_name_"))
# About an instance of the program's own classes: read where it is written out, and in no other way.
OF_OWN = frozenset(("__class__", "__dict__"))
# Special names that mean nothing to the interpreter.
NOTES = frozenset("__all__ __version__ __author__ __email__ __license__ __copyright__ __credits__ __date__ __status__".split())
# Of the others, the only ones a program may read as variables.
VARIABLES = frozenset(("__name__", "__debug__"))

# What leads from a generator, coroutine, frame, traceback or code object into the interpreter, and from a class to all
# others. Refused of every object.
INTERNALS = frozenset("""
    gi_frame gi_code gi_yieldfrom gi_running gi_suspended cr_frame cr_code cr_await cr_origin cr_running cr_suspended
    ag_frame ag_code ag_await ag_running ag_suspended
    f_back f_builtins f_code f_globals f_locals f_trace f_trace_lines f_trace_opcodes f_lasti f_lineno f_generator
    tb_frame tb_next tb_lasti tb_lineno
    co_code co_consts co_names co_varnames co_freevars co_cellvars co_filename co_name co_qualname co_flags co_lnotab
    co_linetable co_exceptiontable co_positions co_lines co_argcount co_stacksize co_firstlineno co_nlocals
    func_globals func_code func_closure func_defaults func_dict im_func im_self im_class mro
""".split())
# Where an attribute is read without a guard, in patterns, these are refused, too: what they give must be looked at.
RAW_REFUSED = INTERNALS | {"format", "format_map", "obj"}

# What may be set on objects of the library's, by the classes' modules and names.
SETTINGS = {
    ("decimal", "Context"): frozenset(("prec", "rounding", "Emin", "Emax", "capitals", "clamp")),
    ("collections", "defaultdict"): frozenset(("default_factory",)),
    ("textwrap", "TextWrapper"): frozenset((
        "width", "initial_indent", "subsequent_indent", "expand_tabs", "replace_whitespace", "fix_sentence_endings",
        "break_long_words", "drop_whitespace", "break_on_hyphens", "tabsize", "max_lines", "placeholder")),
}

# Kinds of objects that no attribute is read of, and that no attribute gives.
SEALED = {types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, types.CellType}
GENERATORS = frozenset((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType))
GENERATOR_METHODS = frozenset(("send", "throw", "close", "asend", "athrow", "aclose", "__next__", "__iter__", "__await__",
                               "__aiter__", "__anext__", "__name__", "__qualname__"))


# Kinds of which not every public attribute may be read.
WATCHED = SEALED | GENERATORS


def seal(kind):
    """Adds a kind of a module that is loaded late."""
    SEALED.add(kind)
    WATCHED.add(kind)


def is_special(name):
    return name.startswith("__")


def is_reserved(name):
    """Whether a variable of this name may mean something to the interpreter. Not: __ and __x."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__") and name not in NOTES
