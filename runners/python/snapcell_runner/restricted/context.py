"""A context in restricted mode: the same runs and results, another compiler, other builtins, and no forms but text."""
import __future__
import ast
import os
import sys

from ..context import Context
from ..forms import TEXT_MAX, OneSecond
from ..locals import LEFT_OUT
from ..program import Program, future_flags
from ..texts import bounded_repr
from . import rewriting
from .builtin import restricted_builtins
from .copying import guard_copying
from .modules import AllowedModule


class RestrictedContext(Context):
    MODE = "restricted"
    LEFT_OUT = LEFT_OUT | {AllowedModule}

    def __init__(self, channel, orders=None):
        super().__init__(channel, orders)
        self._compiler = RestrictedCompiler()
        _only_the_standard_library()
        guard_copying()
        namespace = self.main.__dict__
        namespace.clear()
        namespace.update({"__name__": "__main__", "__builtins__": restricted_builtins()})

    def _forms(self, value):
        return {"text/plain": bounded_repr(value, TEXT_MAX, OneSecond)}

    def _not_run(self, request, error, name, text):
        if not isinstance(error, rewriting.Refused):
            return super()._not_run(request, error, name, text)
        message = str(error)
        lines = (text or "").splitlines()
        shown = "    %s\n" % lines[error.line - 1].strip() if error.line and error.line <= len(lines) else ""
        trace = '  File "%s", line %s\n%s%s: %s\n' % (name, error.line, shown, error.name, message)
        told = {"name": error.name, "message": message, "traceback": trace, "line": error.line}
        return self._told(request, "error", 1, error=told)


class RestrictedCompiler:
    """As the rich one, by way of the rewritten tree."""

    def __init__(self):
        self._futures = 0

    def compile(self, text, file_name):
        tree = compile(text, file_name, "exec", self._futures | ast.PyCF_ONLY_AST, True)
        futures = self._futures | _take_futures(tree)
        tree = ast.fix_missing_locations(rewriting.Rewriter().visit(tree))
        body, last = tree.body, None
        if body and type(body[-1]) is ast.Expr:
            last = compile(ast.Expression(body.pop().value), file_name, "eval", futures, True)
        code = compile(tree, file_name, "exec", futures, True) if body or last is None else None
        self._futures = futures
        return Program(code, last)


def _take_futures(tree):
    """Takes `from __future__ import` statements out, for there is no such module here, and returns what they switch on."""
    flags = 0
    for statement in [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__" and not s.level]:
        for alias in statement.names:
            if alias.name not in __future__.all_feature_names:
                raise SyntaxError("future feature %s is not defined" % alias.name)
            flags |= getattr(__future__, alias.name).compiler_flag
        tree.body.remove(statement)
    return flags & future_flags()


def _only_the_standard_library():
    """Allowed modules, and what they import, come from there and never from a folder that a program may write."""
    standard = os.path.dirname(os.__file__)
    sys.path[:] = [entry for entry in sys.path if entry == standard or entry.startswith(standard + os.sep + "lib-dynload")
                   or entry.endswith(".zip") and os.path.dirname(entry) == os.path.dirname(standard)]
