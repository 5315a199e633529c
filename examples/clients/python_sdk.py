"""A program that uses the Python SDK (pip install sdk/python). The program `snapcell` is found in PATH, or by $SNAPCELL.

    examples/clients/python_sdk.py
"""
import os

from snapcell import Snapcell

# What this host cannot give, as `snapcell doctor` tells it.
degraded = [name for name in os.environ.get("SNAPCELL_TEST_DEGRADED", "").split(",") if name]

with Snapcell(allow_degraded=degraded) as cells:
    print(cells.run("6 * 7").text)
    with cells.session() as session:
        session.run("squares = [n * n for n in range(5)]")
        print(session.run("squares").text)
        session.write("rows.csv", "1\n2\n3\n4\n5\n")
        print(session.exec("wc -l < rows.csv").stdout.strip(), "rows")
