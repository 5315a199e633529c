#!/bin/sh
# A spreadsheet goes in; a cleaned table and two plots come out. Two runs in one session: the second goes on where the
# first ended. Needs Debian's python3-pandas, python3-openpyxl and python3-matplotlib.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/session.sh"
out=${1:-$here/out}
mkdir -p "$out"

start_session --memory 1G --wall 60s
"$SNAPCELL" session put "$session" "$here/orders.xlsx"

heading "clean.py"
"$SNAPCELL" session run "$session" --python "$here/clean.py"
heading "plots.py"
"$SNAPCELL" session run "$session" --python "$here/plots.py"

for name in orders-clean.csv months.png items.png; do
    "$SNAPCELL" session get "$session" "$name" "$out/$name"
done
heading "in $out"
ls -l "$out"
