import csv
import json
import sys
from collections import Counter, defaultdict

with open("in.csv", newline="") as file:
    rows = list(csv.DictReader(file))
counts = Counter(row["kind"] for row in rows)
groups = defaultdict(list)
for row in rows:
    groups[row["kind"]].append(row)
json.dump({"counts": counts, "exec": "eval(1)"}, sys.stdout, indent=2)
data = json.loads('{"os": ["system"]}')
print(data["os"][0], file=sys.stderr)
sys.exit(0 if rows else 1)
