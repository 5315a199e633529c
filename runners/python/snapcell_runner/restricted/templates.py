"""str.format and format_map: templates that read attributes and items. They are read here first; one that only places
values is left to the interpreter, any other is formatted with every attribute going through the guards."""
import _string
import string
import types

_METHODS = ("format", "format_map")


def is_template_method(function):
    """Whether it is str.format or str.format_map, bound or not, by whatever way it was reached."""
    kind = type(function)
    if kind is types.BuiltinFunctionType:
        return function.__name__ in _METHODS and isinstance(function.__self__, str)
    return kind is types.MethodDescriptorType and function.__objclass__ is str and function.__name__ in _METHODS


def guarded_format(function, read):
    """A function that does the same, with `read` for its attributes."""
    formatter = _Guarded(read)
    mapped = function.__name__ == "format_map"
    if type(function) is types.MethodDescriptorType:
        if mapped:
            return lambda template, mapping: _format(formatter, _text(template), (), mapping, True)
        return lambda template, *values, **named: _format(formatter, _text(template), values, named, False)
    template = _text(function.__self__)
    if mapped:
        return lambda mapping: _format(formatter, template, (), mapping, True)
    return lambda *values, **named: _format(formatter, template, values, named, False)


def _text(template):
    """A str and no subclass: what is checked is what is used."""
    if not issubclass(type(template), str):
        raise TypeError("descriptor 'format' requires a 'str' object but received a '%s'" % type(template).__name__)
    return str.__str__(template)


def _format(formatter, template, values, named, mapped):
    if _only_places(template, 3):
        return template.format_map(named) if mapped else template.format(*values, **named)
    return formatter.vformat(template, values, named)


def _only_places(template, depth):
    """Whether no field of it, nor of a format inside it, walks anywhere. Malformed ones raise as they would."""
    if depth == 0:
        return False
    for _, field, form, _ in _string.formatter_parser(template):
        if field is not None and ("." in field or "[" in field):
            return False
        if form and "{" in form and not _only_places(form, depth - 1):
            return False
    return True


class _Guarded(string.Formatter):
    """Never given to a program: its base reads attributes as it is told to."""

    def __init__(self, read):
        self._read = read

    def get_field(self, field, values, named):
        first, rest = _string.formatter_field_name_split(field)
        got = self.get_value(first, values, named)
        for is_attribute, key in rest:
            got = self._read(got, key) if is_attribute else got[key]
        return got, first
