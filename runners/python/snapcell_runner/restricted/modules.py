"""The modules a program may import: copies of their safe parts, by name. Nothing else of a module can be reached: its
attributes are not walked, and submodules are not found behind it."""
import importlib

from . import library, names

_ABCS = """Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable Iterator Generator Reversible
    Sized Container Callable Collection Set MutableSet Mapping MutableMapping MappingView KeysView ItemsView ValuesView
    Sequence MutableSequence ByteString Buffer"""
# Names that a version of Python does not have are left out there.
_NAMES = {
    "math": """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1
        fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log
        log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp""",
    "statistics": """NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean kde kde_random
        linear_regression mean median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev
        variance""",
    "random": """Random betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits getstate
        lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed setstate shuffle triangular
        uniform vonmisesvariate weibullvariate""",
    "itertools": """accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile
        filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest""",
    "functools": "cache cached_property cmp_to_key lru_cache partial reduce",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": _ABCS,
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "re": """A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern PatternError S U UNICODE VERBOSE X compile
        error escape findall finditer fullmatch match purge search split sub subn RegexFlag""",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": """BasicContext Clamped Context ConversionSyntax Decimal DecimalException DefaultContext DivisionByZero
        DivisionImpossible DivisionUndefined ExtendedContext FloatOperation IEEEContext Inexact InvalidContext
        InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR
        ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext localcontext
        setcontext""",
    "fractions": "Fraction",
    "string": """Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
        punctuation whitespace""",
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "operator": """abs add and_ concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv
        ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor le
        length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor""",
    "copy": "Error copy deepcopy replace",
    "dataclasses": """FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple field fields is_dataclass replace""",
    "enum": "CONFORM CONTINUOUS EJECT KEEP NAMED_FLAGS STRICT UNIQUE FlagBoundary auto member nonmember unique verify",
    "typing": """AbstractSet Annotated Any AnyStr AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable ChainMap
        ClassVar Collection Concatenate Container Coroutine Counter DefaultDict Deque Dict Final FrozenSet Generator Generic
        Hashable ItemsView Iterable Iterator KeysView List Literal LiteralString Mapping MappingView MutableMapping
        MutableSequence MutableSet NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec Protocol
        Required Reversible Self Sequence Set Sized SupportsAbs SupportsBytes SupportsComplex SupportsFloat SupportsIndex
        SupportsInt SupportsRound Text Tuple TYPE_CHECKING TypeAlias TypeGuard TypeVar Union ValuesView cast final
        overload""",
    "time": "gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep strftime time time_ns",
}
_REPLACED = {
    "operator": {"attrgetter": library.attrgetter, "methodcaller": library.methodcaller},
    "functools": {"update_wrapper": library.update_wrapper, "wraps": library.wraps, "singledispatch": library.singledispatch,
                  "total_ordering": library.total_ordering},
    "collections": {"namedtuple": library.namedtuple},
    "dataclasses": {"dataclass": library.dataclass},
    "enum": library.ENUMS,
}
ALLOWED = sorted(_NAMES)


class AllowedModule:
    """What a program gets for a module. It has no __name__ on purpose: by that, `from json import decoder` would find the
    real submodule among those that are loaded. It has no __init__ either, which a program might call again."""

    def __init_subclass__(cls):
        raise TypeError("type 'module' is not an acceptable base type")

    def __repr__(self):
        return "<module '%s'>" % self._name

    def __getattr__(self, name):
        raise AttributeError("module '%s' has no attribute '%s' here" % (self.__dict__.get("_name"), name))


_made = {}


def _module(name):
    if name not in _made:
        real = importlib.import_module(name)
        parts = {part: getattr(real, part) for part in _NAMES[name].split() if hasattr(real, part)}
        parts.update(_REPLACED.get(name, {}))
        if name == "typing":
            names.seal(real.ForwardRef)  # They run text as code.
        if name == "collections":
            parts["abc"] = _module("collections.abc")
        _made[name] = AllowedModule()
        _made[name].__dict__.update(parts, _name=name)
    return _made[name]


def guarded_import(name, _globals=None, _locals=None, parts=(), level=0):
    """__import__, which every import statement calls. So does the interpreter, for modules that its own functions need,
    such as _strptime; it does so with a list, which no statement does, and lets what is returned drop."""
    if type(parts) is list:
        return importlib.import_module(name)
    if level != 0 or type(name) is not str or name not in _NAMES:
        raise ImportError("import of '%s%s' is not allowed; allowed are: %s" % ("." * level, name, ", ".join(ALLOWED)))
    module = _module(name)
    if not parts:
        return _module(name.partition(".")[0])
    for part in parts:
        if part not in module.__dict__ or part[0] == "_":
            raise ImportError("cannot import name '%s' from '%s' here" % (part, name))
    return module
