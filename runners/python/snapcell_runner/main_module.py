"""The module __main__ of a context. A script's has a file, a context's has runs; two who need one are given what they need:
inspect, the run in which a class was written, and multiprocessing, a file from which a new interpreter gets the definitions."""
import ast
import atexit
import os
import re
import sys
import types

from .late import late_import


class MainModule(types.ModuleType):
    def __init__(self):
        super().__init__("__main__")
        # Under names that no program has, in a namespace that is the program's.
        _RUNS[id(self)] = {}

    @property
    def __file__(self):
        caller = sys._getframe(1)
        asking = caller.f_globals.get("__name__"), caller.f_code.co_name
        given = self.__dict__.get("__file__")
        if given is None and asking == ("inspect", "getfile"):
            given = _run_of_class(_RUNS[id(self)], caller.f_locals.get("object"))
        elif given is None and asking == ("multiprocessing.spawn", "get_preparation_data"):
            given = _definitions_file(_RUNS[id(self)])
        if given is None:
            raise AttributeError("module '__main__' has no attribute '__file__'")
        return given


_RUNS = {}  # Of each MainModule: the runs' texts by name.


def remember_run(module, name, text):
    _RUNS[id(module)][name] = text


def forget_run(module, name):
    _RUNS[id(module)].pop(name, None)


def _run_of_class(texts, wanted):
    if not isinstance(wanted, type):
        return None
    line = re.compile(r"^\s*class\s+%s\b" % re.escape(wanted.__name__), re.MULTILINE)
    return next((name for name, text in reversed(list(texts.items())) if line.search(text)), None)


def _definitions_file(texts):
    """A file of all definitions so far. What a run did besides is not done again in another process."""
    futures, others = [], []
    for text in texts.values():
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                futures.append(ast.unparse(statement))
            elif _defines(statement):
                others.append(ast.unparse(statement))
    number, path = late_import("tempfile").mkstemp(prefix="definitions-", suffix=".py")
    with os.fdopen(number, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n".join(futures + others) + "\n")
    atexit.register(_remove, path, os.getpid())
    return path


def _remove(path, owner):
    if os.getpid() == owner and os.path.exists(path):
        os.unlink(path)


_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
_ACTIONS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)


def _defines(statement):
    if isinstance(statement, ast.Try):
        return all(isinstance(inner, (ast.Import, ast.ImportFrom)) for inner in statement.body)
    if isinstance(statement, _ASSIGNMENTS):
        return not any(isinstance(node, _ACTIONS) for node in ast.walk(statement))
    return isinstance(statement, _DEFINITIONS)
