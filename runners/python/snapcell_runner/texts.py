"""Texts of values, bounded in length, depth and time. Of built-in containers no more is read than is shown, so that a list
of a billion numbers costs as little as one of ten; what is shown is what repr() would say."""
import array
import collections
import sys

from .patience import TimedOut

CUT = "\u2026"
DEPTH_MAX = 100
CHUNK = 256
# More digits than CPython turns into text by itself (sys.get_int_max_str_digits) take time that grows with their square.
INT_BITS_MAX = 14000
SMALL = 1 << 64
COUNTER_SORT_MAX = 10000


class _Full(Exception):
    """Enough has been written."""


def cut(text, limit):
    return text if len(text) <= limit else text[:limit - 1] + CUT


def bounded_repr(value, limit, patience):
    """The text of `value`, at most `limit` characters."""
    kind = type(value)
    if kind is int and -SMALL < value < SMALL or kind is float or value is None or kind is bool:
        return repr(value)
    if kind is str and len(value) * 4 < limit:
        return cut(repr(value), limit)
    writer = _Writer(limit, patience)
    try:
        writer.write(value)
    except _Full:
        pass
    except Exception as error:  # Such as a dict that changes size because of a __repr__ in it.
        return _failed(error)
    return cut("".join(writer.parts), limit)


def _failed(error):
    return cut("<repr failed: %s>" % type(error).__name__, 200)


class _Writer:
    def __init__(self, limit, patience):
        self.limit = self.left = limit
        self.patience = patience
        self.parts = []
        self.within = set()

    def put(self, text):
        self.parts.append(text)
        self.left -= len(text)
        if self.left < 0:
            raise _Full

    def write(self, value):
        kind = type(value)
        method = _BY_KIND.get(kind) or _inherited(kind)
        if method is None:
            self.put(self._foreign(value))
        elif method in _HOLDING_NOTHING:
            method(self, value)
        elif id(value) in self.within:
            self.put(_AGAIN.get(kind, "..."))
        elif len(self.within) >= DEPTH_MAX:
            self.put(CUT)
        else:
            self.within.add(id(value))
            method(self, value)
            self.within.discard(id(value))

    def _foreign(self, value):
        """In the object's own words."""
        try:
            return str.__getitem__(self.patience.call(repr, value), slice(0, self.left + 1))
        except TimedOut:
            return "<repr timed out>"
        except BaseException as error:  # SystemExit, too: the object ends nothing here.
            return _failed(error)

    # ---- what holds nothing ----

    def _plain(self, value):
        self.put(repr(value))

    def _int(self, value):
        bits = int.bit_length(value)
        self.put(int.__repr__(value) if bits <= INT_BITS_MAX else "<int of %d bits>" % bits)

    def _str(self, value):
        self._sliced(value, str)

    def _bytes(self, value):
        self._sliced(value, bytes)

    def _exact(self, value):
        self._sliced(value, type(value))

    def _sliced(self, value, base):
        if base.__len__(value) <= self.left:
            self.put(base.__repr__(value))
        else:
            # Its closing quote or bracket is not the value's.
            shown = base.__getitem__(value, slice(0, self.left + 1))
            self.put(repr(shown)[:self.left + 1])

    # ---- what holds others ----

    def _sequence(self, value, get):
        """The items of a list or tuple; runs of plain ones in one go."""
        at = 0
        while True:
            chunk = get(value, slice(at, at + CHUNK))
            if not chunk:
                break
            if at:
                self.put(", ")
            if _is_plain(chunk, self.limit):
                self.put(repr(list(chunk))[1:-1])
            else:
                self._items(chunk)
            at += CHUNK

    def _items(self, items):
        first = True
        for item in items:
            if not first:
                self.put(", ")
            first = False
            self.write(item)

    def _pairs(self, items):
        first = True
        for key, item in items:
            if not first:
                self.put(", ")
            first = False
            self.write(key)
            self.put(": ")
            self.write(item)

    def _list(self, value):
        self.put("[")
        self._sequence(value, list.__getitem__)
        self.put("]")

    def _tuple(self, value):
        self.put("(")
        self._sequence(value, tuple.__getitem__)
        self.put(",)" if tuple.__len__(value) == 1 else ")")

    def _dict(self, value):
        self.put("{")
        self._pairs(dict.items(value))
        self.put("}")

    def _set(self, value):
        self._members(value, set)

    def _frozenset(self, value):
        self._members(value, frozenset)

    def _members(self, value, base):
        name = _name(type(value))
        if not base.__len__(value):
            self.put("%s()" % name)
            return
        opening, closing = ("{", "}") if type(value) is set else ("%s({" % name, "})")
        self.put(opening)
        self._items(base.__iter__(value))
        self.put(closing)

    def _deque(self, value):
        self.put("deque([")
        self._items(value)
        self.put("])" if value.maxlen is None else "], maxlen=%d)" % value.maxlen)

    def _defaultdict(self, value):
        self.put("defaultdict(")
        self.write(value.default_factory)
        self.put(", {")
        self._pairs(value.items())
        self.put("})")

    def _ordered(self, value):
        if not value:
            self.put("OrderedDict()")
        elif sys.version_info >= (3, 12):
            self.put("OrderedDict({")
            self._pairs(value.items())
            self.put("})")
        else:
            self.put("OrderedDict([")
            self._items(value.items())
            self.put("])")

    def _counter(self, value):
        if not value:
            self.put("Counter()")
            return
        pairs = value.items()
        if len(value) <= COUNTER_SORT_MAX:
            try:
                pairs = sorted(pairs, key=lambda pair: pair[1], reverse=True)
            except TypeError:
                pass
        self.put("Counter({")
        self._pairs(pairs)
        self.put("})")

    def _view(self, value):
        self.put("%s([" % type(value).__name__)
        self._items(value)
        self.put("])")


def _is_plain(chunk, limit):
    """Whether repr() of these in one go is bounded: all of one kind, and none of them large."""
    kinds = set(map(type, chunk))
    if len(kinds) != 1:
        return False
    kind = kinds.pop()
    if kind is int:
        return -SMALL < min(chunk) and max(chunk) < SMALL
    if kind is str:
        return sum(map(len, chunk)) <= 4 * limit
    return kind is float or kind is bool


def method_of(kind, name):
    """What a class or its bases define by that name, or None. Asks no metaclass, which could be anybody's."""
    for base in mro_of(kind):
        found = namespace_of(base).get(name)
        if found is not None:
            return found
    return None


def _inherited(kind):
    """How a subclass that keeps its base's __repr__ is written: as its base."""
    found = method_of(kind, "__repr__")
    return _BY_REPR.get(found) if type(found) is _SLOT else None


mro_of = type.__dict__["__mro__"].__get__
namespace_of = type.__dict__["__dict__"].__get__
_name = type.__dict__["__name__"].__get__
_SLOT = type(object.__repr__)
_NONE = type(None)
_BY_KIND = {
    int: _Writer._int, float: _Writer._plain, complex: _Writer._plain, bool: _Writer._plain, _NONE: _Writer._plain,
    type(Ellipsis): _Writer._plain, range: _Writer._plain, str: _Writer._str, bytes: _Writer._bytes,
    bytearray: _Writer._exact, array.array: _Writer._exact, list: _Writer._list, tuple: _Writer._tuple,
    dict: _Writer._dict, set: _Writer._set, frozenset: _Writer._frozenset, collections.deque: _Writer._deque,
    collections.defaultdict: _Writer._defaultdict, collections.OrderedDict: _Writer._ordered,
    collections.Counter: _Writer._counter, type({}.keys()): _Writer._view, type({}.values()): _Writer._view,
    type({}.items()): _Writer._view,
}
_HOLDING_NOTHING = {_Writer._plain, _Writer._int, _Writer._str, _Writer._bytes, _Writer._exact}
_BY_REPR = {base.__repr__: _BY_KIND[base] for base in (str, bytes, list, tuple, dict, set, frozenset)}
_AGAIN = {list: "[...]", tuple: "(...)", dict: "{...}"}
