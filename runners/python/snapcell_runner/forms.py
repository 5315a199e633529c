"""The forms of a value by media type, and the displays of a run, within the protocol's bounds."""
import binascii
import json

from . import figures, tables
from .channel import encoded
from .patience import ONE_S, TimedOut, within
from .texts import bounded_repr, cut, method_of

TEXT_MAX = 64 << 10
FORM_MAX = 8 << 20
# All of a run's lines together have to stay below 24 MiB: displays, then the value, then locals and traceback.
RUN_MAX = 22 << 20
VALUE_MAX = 12 << 20
DISPLAYS_MAX = 1000
DISPLAYS_BYTES_MAX = 16 << 20
BUNDLE_MAX = 32
MEDIA_TYPE_MAX = 100
FIGURE_S = 60.0
_TEXT, _BYTES, _JSON = range(3)
METHODS = (
    ("_repr_html_", "text/html", _TEXT),
    ("_repr_markdown_", "text/markdown", _TEXT),
    ("_repr_svg_", "image/svg+xml", _TEXT),
    ("_repr_png_", "image/png", _BYTES),
    ("_repr_jpeg_", "image/jpeg", _BYTES),
    ("_repr_latex_", "text/latex", _TEXT),
    ("_repr_json_", "application/json", _JSON),
)
_HOW = {media: how for _, media, how in METHODS}
_BUILT_IN = {int, float, complex, bool, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, type(None)}


class OneSecond:
    """Each object's own words may take a second, however many come."""

    @staticmethod
    def call(function, *arguments):
        return within(ONE_S, function, *arguments)


def forms_of(value, limit=FORM_MAX):
    """Media type -> text (or, of JSON, a value). There is always text/plain, which says what is missing."""
    text = bounded_repr(value, TEXT_MAX, OneSecond)
    if type(value) in _BUILT_IN:
        return {"text/plain": text}
    forms, missing = {}, []
    for name, seconds, function in _makers(value):
        _add(forms, missing, name, min(limit, FORM_MAX), seconds, function)
    if forms:
        _bundle_within(forms, missing, limit)
    plain = forms.pop("text/plain", None)
    plain = text if plain is None else cut(plain, TEXT_MAX)
    return dict({"text/plain": "\n".join([plain] + missing)}, **forms)


def _makers(value):
    """What may make forms of `value`: a name for it, seconds, and a function that gives pairs of media type and data."""
    kind = type(value)
    for name, media, _ in METHODS:
        if method_of(kind, name) is not None:
            yield media, ONE_S, lambda name=name, media=media: [(media, _without_metadata(getattr(value, name)()))]
    if figures.is_figure(value):
        yield "image/png", FIGURE_S, lambda: [("image/png", figures.picture_of(value))]
    yield tables.MEDIA_TYPE, ONE_S, lambda: [(tables.MEDIA_TYPE, tables.table_of(value))]
    if method_of(kind, "_repr_mimebundle_") is not None:
        yield "bundle", ONE_S, lambda: list(_without_metadata(value._repr_mimebundle_()).items())[:BUNDLE_MAX]


def _without_metadata(made):
    return made[0] if isinstance(made, tuple) and len(made) == 2 else made


def _add(forms, missing, name, limit, seconds, function):
    """Adds what `function` makes. All that runs the object's own code, even as it is written, is bounded in time."""
    def make():
        return {str.__str__(media): _written(made, _HOW.get(media, _JSON if media.endswith("+json") else _TEXT), limit)
                for media, made in function() if made is not None and len(media) < MEDIA_TYPE_MAX}
    try:
        forms.update(within(seconds, make))
    except TimedOut:
        missing.append("[%s left out: timed out]" % name)
    except BaseException as error:  # An object's own words end nothing, SystemExit included.
        missing.append("[%s left out: %s]" % (name, type(error).__name__))


class TooLarge(Exception):
    """More than a form may have."""


def _written(made, how, limit):
    if how is _JSON:
        # There and back, so that nothing but plain data is left of it.
        made = json.dumps(made, allow_nan=False)
        if len(made) > limit:
            raise TooLarge
        return json.loads(made)
    if how is _BYTES and isinstance(made, (bytes, bytearray)):
        if len(made) * 4 // 3 > limit:
            raise TooLarge
        return binascii.b2a_base64(made, newline=False).decode()
    if isinstance(made, (bytes, bytearray)):
        made = made[:limit + 1].decode("utf-8", "replace")
    if not isinstance(made, str):
        raise TypeError
    if len(made) > limit:
        raise TooLarge
    return str.__str__(made)


def _bundle_within(forms, missing, limit):
    """Takes the largest out until all of them go into one line."""
    sizes = {media: len(encoded(form)) for media, form in forms.items()}
    while sum(sizes.values()) > limit:
        largest = max(sizes, key=sizes.get)
        del sizes[largest], forms[largest]
        missing.append("[%s left out: too large]" % largest)


class Displays:
    """What a run shows besides its value."""

    def __init__(self, channel):
        self._channel = channel
        self._run_id = None
        self._count = self._bytes = 0

    def begin(self, run_id):
        self._run_id, self._count, self._bytes = run_id, 0, 0

    def end(self):
        self._run_id = None

    def room(self):
        """How many bytes the run's value may take."""
        return min(VALUE_MAX, RUN_MAX - self._bytes - (4 << 20))

    def show(self, value):
        """Sends one object. In a child, or after the run, there is nobody to send it to: its text is printed."""
        run_id = self._run_id
        if self._channel.lost or run_id is None:
            print(bounded_repr(value, TEXT_MAX, OneSecond))
            return
        if self._count > DISPLAYS_MAX:
            return
        forms = forms_of(value)
        line = encoded({"op": "display", "id": run_id, "data": forms})
        self._count += 1
        if self._count > DISPLAYS_MAX or self._bytes + len(line) > DISPLAYS_BYTES_MAX:
            self._count = DISPLAYS_MAX + 1
            note = "[no more displays: %d, or %d MiB, of one run]" % (DISPLAYS_MAX, DISPLAYS_BYTES_MAX >> 20)
            line = encoded({"op": "display", "id": run_id, "data": {"text/plain": note}})
        self._bytes += len(line)
        self._channel.send_line(line)

    def display(self, *values):
        """display(*values): shows each in the richest forms it has, at once."""
        for value in values:
            self.show(value)
