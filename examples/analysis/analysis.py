"""The untrusted program of the example: an ordinary pandas script that knows nothing about its cell.

Reads co2.csv (weekly CO2 at Mauna Loa), cleans it, prints a table by decade and draws out/co2.png.
"""

import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd


def load(path):
    """Weekly values in ppm on a regular weekly index; also how many rows came and how many were mended."""
    raw = pd.read_csv(path, dtype={"date": "string", "co2": "float64"})
    raw["date"] = pd.to_datetime(raw["date"], format="%Y%m%d")
    series = raw.drop_duplicates("date").set_index("date")["co2"].sort_index()
    series = series.where(series.between(250, 500))  # a value outside is a fault of the instrument
    # Gaps of up to eight weeks are filled along the line between their neighbours; longer ones stay gaps.
    filled = series.interpolate("time", limit=8, limit_area="inside")
    return filled, len(raw), int(series.isna().sum()), int(filled.isna().sum())


def by_decade(series):
    decade = (series.index.year // 10 * 10).astype(str) + "s"
    yearly = series.resample("YS").mean()
    growth = yearly.diff().groupby((yearly.index.year // 10 * 10).astype(str) + "s").mean()
    table = series.groupby(decade).agg(weeks="count", mean="mean", low="min", high="max")
    table["growth/yr"] = growth
    return table.round(2).rename_axis("decade")


def draw(series, path):
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 7), constrained_layout=True)
    top.plot(series.index, series, linewidth=0.7, label="weekly")
    top.plot(series.rolling("365D").mean(), linewidth=1.6, label="mean of one year")
    top.set(title="CO2 at Mauna Loa", ylabel="ppm")
    top.legend()
    season = (series - series.rolling(53, center=True, min_periods=40).mean()).groupby(series.index.month).mean()
    bottom.bar(season.index, season)
    bottom.set(title="Season: distance from the year's mean", xlabel="month", ylabel="ppm")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    figure.savefig(path, dpi=110)


def main():
    series, rows, missing, left = load("co2.csv")
    print(f"{rows} weeks read, {missing} without a value, {left} left open after mending\n")
    print(by_decade(series).to_string())
    draw(series, "out/co2.png")
    print("\nsaved out/co2.png")


if __name__ == "__main__":
    main()
