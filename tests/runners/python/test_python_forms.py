"""Rich forms of the Python runner: values, displays, figures and tables, and their bounds."""
import base64
import os
import sys
import textwrap

import pytest

import harness

RUNNER = os.path.join(harness.RUNNERS, "python", "runner.py")
TABLE = "application/vnd.snapcell.table+json"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def python(start):
    return start(sys.executable, RUNNER)


def run(runner, code, **more):
    return runner.run(textwrap.dedent(code), **more)


def test_every_form(python):
    done = run(python, """\
        class All:
            def __repr__(self): return "plain"
            def _repr_html_(self): return "<b>"
            def _repr_markdown_(self): return "*m*"
            def _repr_svg_(self): return "<svg/>"
            def _repr_png_(self): return b"png"
            def _repr_jpeg_(self): return b"jpg", {"width": 3}
            def _repr_latex_(self): return "$x$"
            def _repr_json_(self): return {"a": [1, None]}
        All()""")
    assert done.value == {
        "text/plain": "plain", "text/html": "<b>", "text/markdown": "*m*", "image/svg+xml": "<svg/>", "image/png": "cG5n",
        "image/jpeg": "anBn", "text/latex": "$x$", "application/json": {"a": [1, None]}}


def test_bundle(python):
    done = run(python, """\
        class Bundle:
            def _repr_mimebundle_(self, include=None, exclude=None):
                return {"text/plain": "p", "image/png": b"x", "application/geo+json": {"k": 1}}, {}
        Bundle()""")
    assert done.value == {"text/plain": "p", "image/png": "eA==", "application/geo+json": {"k": 1}}


def test_displays_come_before_the_value(python):
    done = run(python, "display(1, 'two')\ndisplay([3])\n4")
    assert [d["text/plain"] for d in done.displays] == ["1", "'two'", "[3]"]
    assert done.text == "4"


def test_a_class_is_no_instance(python):
    done = run(python, "class C:\n    def _repr_html_(self): return 'x'\nC")
    assert done.value == {"text/plain": "<class '__main__.C'>"}


@pytest.mark.parametrize("body,why", [
    ("raise ValueError", "ValueError"), ("while True: pass", "timed out"), ("raise SystemExit", "SystemExit"),
    ("return 5", "TypeError"), ("return 'x' * (9 << 20)", "TooLarge")])
def test_a_bad_form_is_left_out_and_said(python, body, why):
    done = run(python, "class Bad:\n    def __repr__(self): return 'me'\n    def _repr_html_(self):\n        %s\nBad()" % body)
    assert done.value == {"text/plain": "me\n[text/html left out: %s]" % why}


def test_forms_fit_a_line_together(python):
    done = run(python, """\
        class Big:
            def __repr__(self): return "big"
            def _repr_html_(self): return "x" * (7 << 20)
            def _repr_markdown_(self): return "y" * (6 << 20)
        Big()""")
    assert set(done.value) == {"text/plain", "text/markdown"}
    assert done.text == "big\n[text/html left out: too large]"


def test_displays_are_bounded(python):
    done = run(python, "for i in range(3000): display(i)\n'end'")
    assert len(done.displays) == 1001 and "no more displays" in done.displays[-1]["text/plain"]
    assert done.text == "'end'"
    done = run(python, """\
        class Big:
            def _repr_html_(self): return "x" * (6 << 20)
        for i in range(5): display(Big())
        Big()""")
    assert len(done.displays) == 3 and "no more displays" in done.displays[-1]["text/plain"]
    assert run(python, "display(1)").displays == [{"text/plain": "1"}]


def test_hostile_proxies(python):
    done = run(python, """\
        class Meta(type):
            def __getattribute__(self, name):
                while True: pass
        class Loops(metaclass=Meta):
            pass
        class Answers:
            def __getattr__(self, name):
                return lambda *a, **k: "yes"
        x, y = Loops(), Answers()
        y""")
    assert set(done.value) == {"text/plain"}
    assert done.locals["x"].startswith("<__main__.Loops object")


# ---- tables ----

def test_pandas_table(python):
    pytest.importorskip("pandas")
    done = run(python, """\
        import pandas as pd, numpy as np
        pd.DataFrame({"n": [1, 2], "f": [0.5, np.nan], "i": [np.inf, 1.0], "d": [pd.Timestamp("2024-05-06"), pd.NaT],
                      "s": ["a", None], "b": [True, False]})""")
    assert done.value[TABLE] == {"columns": ["n", "f", "i", "d", "s", "b"], "total_rows": 2, "rows": [
        [1, 0.5, None, "2024-05-06T00:00:00", "a", True], [2, None, 1.0, None, None, False]]}
    assert "<table" in done.value["text/html"] and "2024-05-06" in done.text


def test_large_and_indexed_tables(python):
    pytest.importorskip("pandas")
    table = run(python, "import pandas as pd\npd.DataFrame({'a': range(5000)})").value[TABLE]
    assert (len(table["rows"]), table["total_rows"]) == (1000, 5000)
    table = run(python, "pd.Series([1, 2], index=['x', 'y'], name='v')").value[TABLE]
    assert table == {"columns": ["index", "v"], "rows": [["x", 1], ["y", 2]], "total_rows": 2}
    table = run(python, "pd.DataFrame([range(3000)])").value[TABLE]
    assert len(table["columns"]) == 1000


POLARS = """\
import datetime
class Series: pass
class DataFrame:
    def __init__(self, **columns):
        self._columns = columns
        self.columns, self.height = list(columns), len(next(iter(columns.values())))
    def head(self, n):
        return DataFrame(**{k: v[:n] for k, v in self._columns.items()})
    def rows(self):
        return list(zip(*self._columns.values()))
    def _repr_html_(self):
        return "<table>"
"""


def test_polars_table(python, work):
    """With the part of its interface that is used, for it is packaged nowhere."""
    (work / "polars.py").write_text(POLARS)
    done = run(python, "import polars, datetime\npolars.DataFrame(a=[1, float('nan')], d=[datetime.date(2024, 5, 6), None])")
    assert done.value[TABLE] == {"columns": ["a", "d"], "rows": [[1, "2024-05-06"], [None, None]], "total_rows": 2}
    assert done.value["text/html"] == "<table>"


# ---- figures ----

def png(form):
    return base64.b64decode(form["image/png"]).startswith(PNG)


def test_figures_are_caught(python):
    pytest.importorskip("matplotlib")
    done = run(python, """\
        import matplotlib.pyplot as plt
        plt.plot([1, 2])
        plt.show()
        print("between")
        plt.figure(); plt.plot([3])
        plt.figure(); plt.plot([4]);""")
    assert len(done.displays) == 3 and all(map(png, done.displays))
    assert (done.stdout, done.stderr) == ("between\n", "")
    assert run(python, "plt.get_fignums()").text == "[]"


def test_a_figure_as_value_is_shown_once(python):
    pytest.importorskip("matplotlib")
    done = run(python, "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])\nfig")
    assert png(done.value) and done.displays == []
    assert run(python, "1").displays == []


def test_figures_of_a_failed_run_are_shown(python):
    pytest.importorskip("matplotlib")
    done = run(python, "import matplotlib.pyplot as plt\nplt.plot([1])\n1 / 0")
    assert done.status == "error" and len(done.displays) == 1


def test_nothing_is_imported_unasked(python):
    done = run(python, "import sys\nsorted({m.split('.')[0] for m in sys.modules} & {'matplotlib', 'pandas', 'numpy', 'asyncio', 'polars'})")
    assert done.text == "[]"
