"""Figures of matplotlib, caught without a display. Nothing of it is imported unless the program does."""
import io
import os
import sys

from .late import late_import

PYPLOT = "matplotlib.pyplot"


class _Loader:
    """The module's own loader, and then a word to it."""

    def __init__(self, loader, then):
        self._loader, self._then = loader, then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._then(module)


class Figures:
    """Shows each figure once: on plt.show(), at the end of a run, or as a value."""

    def __init__(self, displays):
        self._displays = displays
        os.environ["MPLBACKEND"] = "Agg"
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        """Of the import system: only to be there when pyplot has been imported."""
        if name != PYPLOT:
            return None
        sys.meta_path.remove(self)
        try:
            spec = late_import("importlib.util").find_spec(name)
        finally:
            # The program may have put its own finders in the list meanwhile.
            sys.meta_path.insert(0, self)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self._take_show)
        return spec

    def _take_show(self, pyplot):
        def show(*_args, **_kwargs):
            """Displays the open figures and closes them."""
            self.flush()
        pyplot.show = show

    def flush(self, value=None):
        """Displays all figures that are open, in their order, and closes them; not `value`, which is shown as such."""
        pyplot = sys.modules.get(PYPLOT)
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if figure is value:
                continue
            try:
                if figure.get_axes() or figure.texts or figure.images:
                    self._displays.show(figure)
            finally:
                pyplot.close(number)


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, getattr(module, "Figure", ()))


def picture_of(figure):
    """A figure as PNG. It is closed: shown once, it is not caught again."""
    held = io.BytesIO()
    figure.savefig(held, format="png", bbox_inches="tight")
    pyplot = sys.modules.get(PYPLOT)
    if pyplot is not None:
        pyplot.close(figure)
    return held.getvalue()
