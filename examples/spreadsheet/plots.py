# Second run, in the same interpreter: `orders` is still there. Both figures are caught as pictures.
import matplotlib.pyplot as plt

by_month = orders.groupby(orders["date"].dt.month)["sum"].sum()
figure, axes = plt.subplots()
axes.bar(by_month.index, by_month.values)
axes.set(title="Sales by month", xlabel="month", ylabel="EUR")
figure.savefig("months.png")

by_item = orders.groupby("item")["sum"].sum().sort_values()
figure, axes = plt.subplots()
axes.barh(by_item.index, by_item.values)
axes.set(title="Sales by item", xlabel="EUR")
figure.tight_layout()
figure.savefig("items.png")
