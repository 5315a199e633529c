#!/bin/sh
# Files that are generated and kept in the repository must be what their generator makes now. Every tools/gen_*.py
# that keeps such a file takes --check: it writes nothing and exits 1 when the file is stale.
set -u
cd "$(dirname "$0")/.." || exit 1
stale=0 looked=0
for generator in tools/gen_*.py; do
    [ -e "$generator" ] || continue
    grep -q -e '--check' "$generator" || continue
    looked=$((looked + 1))
    /usr/bin/python3 "$generator" --check || stale=$((stale + 1))
done
echo "generated files: $looked generators asked, $stale stale"
[ "$stale" -eq 0 ]
