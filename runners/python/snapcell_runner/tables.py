"""Tables of pandas and polars as data. Neither is imported from here: a table can only exist where the program has."""
import math
import sys

MEDIA_TYPE = "application/vnd.snapcell.table+json"
ROWS_MAX = 1000
COLUMNS_MAX = 1000
CELLS_MAX = 100000
TEXT_MAX = 1000
_PLAIN = {int, str, bool, type(None)}


def table_of(value):
    """`value` as {"columns", "rows", "total_rows"}, or None when it is no table."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None:
        if isinstance(value, pandas.Series):
            value = value.to_frame("value" if value.name is None else value.name)
        if isinstance(value, pandas.DataFrame):
            return _from_pandas(pandas, value)
    if polars is not None:
        if isinstance(value, polars.Series):
            value = value.to_frame()
        if isinstance(value, polars.DataFrame):
            return _from_polars(value)
    return None


def _rows_for(columns):
    return max(1, min(ROWS_MAX, CELLS_MAX // max(columns, 1)))


def _from_pandas(pandas, frame):
    total = len(frame)
    frame = frame.iloc[:_rows_for(frame.shape[1]), :COLUMNS_MAX]
    names = [_text(name) for name in frame.columns]
    columns = [frame.iloc[:, at].tolist() for at in range(frame.shape[1])]
    # An index that only counts says nothing; any other is data.
    if not isinstance(frame.index, pandas.RangeIndex):
        levels = [frame.index.get_level_values(at) for at in range(frame.index.nlevels)]
        names = ["index" if level.name is None else _text(level.name) for level in levels] + names
        columns = [level.tolist() for level in levels] + columns
    missing = pandas.NaT, pandas.NA
    rows = [[_cell(item, missing) for item in row] for row in zip(*columns)]
    return {"columns": names, "rows": rows, "total_rows": total}


def _from_polars(frame):
    names = [_text(name) for name in frame.columns][:COLUMNS_MAX]
    shown = frame.head(_rows_for(len(frame.columns)))
    rows = [[_cell(item, ()) for item in row[:COLUMNS_MAX]] for row in shown.rows()]
    return {"columns": names, "rows": rows, "total_rows": frame.height}


def _cell(value, missing):
    kind = type(value)
    if kind is str:
        return value if len(value) <= TEXT_MAX else _text(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if any(value is one for one in missing):
        return None
    datetime = sys.modules["datetime"]  # Both libraries bring it.
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        plain = value.item()
        return None if type(plain) is kind else _cell(plain, missing)
    return _text(value)


def _text(value):
    text = str(value)
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX - 1] + "\u2026"
