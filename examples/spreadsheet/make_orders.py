"""Made orders.xlsx once: a year of a small shop's orders, with the faults that people's spreadsheets have."""
import datetime
import random

import openpyxl

GOODS = {"tea": 4.5, "coffee": 7.9, "cups": 12.0, "pots": 29.0}
random.seed(7)
sheet = openpyxl.Workbook()
page = sheet.active
page.title = "orders"
page.append(["Date ", "Item", "Pieces", "Price", "Note"])
day = datetime.date(2025, 1, 2)
while day.year == 2025:
    item = random.choice(list(GOODS))
    pieces, price = random.randint(1, 9), GOODS[item]
    fault = random.random()
    page.append([
        day.isoformat() if fault > 0.05 else day.strftime("%d.%m.%Y"),
        item if fault > 0.1 else " %s " % item.upper(),
        pieces if not 0.1 < fault < 0.13 else None,
        price if not 0.13 < fault < 0.2 else "%s EUR" % str(price).replace(".", ","),
        "express" if fault > 0.9 else None,
    ])
    if fault > 0.97:
        page.append([day.isoformat(), item, pieces, price, None])
        page.append([day.isoformat(), item, pieces, price, None])
    day += datetime.timedelta(days=random.choice([1, 1, 2, 3]))
sheet.save("orders.xlsx")
