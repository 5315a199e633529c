import sqlite3
from datetime import date, datetime, timedelta

with sqlite3.connect(":memory:") as db:
    db.execute("create table t (day text, n int)")
    db.executemany("insert into t values (?, ?)", [(str(date(2024, 1, d)), d) for d in range(1, 5)])
    for row in db.execute("select day, n from t where n > ?", (2,)):
        print(row)
print(datetime(2024, 1, 1) + timedelta(days=3), datetime.now().time())
