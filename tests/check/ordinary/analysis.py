import pandas as pd
import numpy as np
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

frame = pd.read_csv("data/sales.csv", parse_dates=["day"])
frame["total"] = frame["price"] * frame["count"]
table = frame.groupby("region").agg(total=("total", "sum"), mean=("total", "mean"))
print(table.to_string())
frame.eval("total / 2")
frame.query("total > 10 and region == 'os.system'")
fig, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].plot(frame["day"], frame["total"].rolling(7).mean())
np.random.seed(1)
axes[1].hist(np.random.normal(size=100))
fig.savefig("out/plot.png")
table.to_csv("out/table.csv", index=False)
