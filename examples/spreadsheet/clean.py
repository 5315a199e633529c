# First run: read the spreadsheet and mend it. The last expression is the run's value.
import pandas as pd

raw = pd.read_excel("orders.xlsx")
raw.columns = raw.columns.str.strip().str.lower()
print(f"{len(raw)} rows came")


def as_day(text):
    style = "%d.%m.%Y" if "." in str(text) else "%Y-%m-%d"
    return pd.to_datetime(str(text)[:10], format=style)


orders = raw.drop_duplicates().dropna(subset=["pieces"]).copy()
orders["date"] = orders["date"].map(as_day)
orders["item"] = orders["item"].str.strip().str.lower()
orders["price"] = orders["price"].map(lambda x: float(str(x).replace(" EUR", "").replace(",", ".")))
orders["pieces"] = orders["pieces"].astype(int)
orders["sum"] = orders["pieces"] * orders["price"]
orders.to_csv("orders-clean.csv", index=False)
print(f"{len(orders)} rows are good; they are in orders-clean.csv")
orders.groupby("item")["sum"].agg(["count", "sum", "mean"]).round(2)
