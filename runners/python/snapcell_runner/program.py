"""From a run's text to code: a body, and its last expression apart, so that it has a value."""
import __future__
import ast
import linecache

TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def future_flags():
    """All that `from __future__ import` can switch on."""
    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


_FUTURES = future_flags()


class Program:
    """Code objects of one run; either may be None."""

    __slots__ = ("body", "last", "waits")
    CO_COROUTINE = 0x80

    def __init__(self, body, last):
        self.body, self.last = body, last
        self.waits = bool(((body.co_flags if body else 0) | (last.co_flags if last else 0)) & self.CO_COROUTINE)


class Compiler:
    """Keeps what the runs of a context have in common: a `from __future__ import` holds for those that follow."""

    def __init__(self):
        self._futures = 0

    def compile(self, text, file_name):
        """A Program. Raises what the interpreter says about text that is none: SyntaxError, ValueError, MemoryError ..."""
        flags = self._futures | TOP_LEVEL_AWAIT
        tree = compile(text, file_name, "exec", flags | ast.PyCF_ONLY_AST, True)
        body, last = tree.body, None
        if body and type(body[-1]) is ast.Expr:
            last = ast.Expression(body.pop().value)
        code = compile(tree, file_name, "exec", flags, True) if body or last is None else None
        if code is not None:
            self._futures |= code.co_flags & _FUTURES
        if last is not None:
            last = compile(last, file_name, "eval", self._futures | TOP_LEVEL_AWAIT, True)
        return Program(code, last)


def remember_lines(text, file_name):
    """For tracebacks, warnings and inspect.getsource, which look for a file's lines there."""
    linecache.cache[file_name] = (len(text), None, text.splitlines(True), file_name)


def forget_lines(file_name):
    linecache.cache.pop(file_name, None)


def source_text(code):
    """A run's bytes as text. A cookie that names another encoding is a comment: what was checked is what runs."""
    text = code.decode("utf-8")
    return text[1:] if text.startswith("\ufeff") else text
