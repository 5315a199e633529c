"""Modules that are rarely needed and take long to load."""
import importlib
import sys


def late_import(name):
    """Imports it past the work folder, where anything may lie by that name."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if entry]
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = path
