#!/bin/sh
# Runs analysis.py, which nobody vouches for, in a cell: one data file goes in, a table and one picture come out.
# Uses $SNAPCELL, else the build's own binary, else the one in PATH. Arguments are passed on to `snapcell run`.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
built=$here/../../build/src/cli/snapcell
if [ -z "${SNAPCELL:-}" ]; then
    if [ -x "$built" ]; then
        SNAPCELL=$built
    else
        SNAPCELL=$(command -v snapcell) || {
            echo "run.sh: no snapcell: build it (make), install it, or name it in \$SNAPCELL" >&2
            exit 2
        }
    fi
fi
if ! /usr/bin/python3 -c 'import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ("pandas", "matplotlib"))))'; then
    echo "run.sh: Debian's python3-pandas and python3-matplotlib are needed (apt-get install them)" >&2
    exit 2
fi
# The program sees the host's /usr. A python3 that lies elsewhere and comes first in PATH is not what runs here.

case $SNAPCELL in
/*) ;;
*/*) SNAPCELL=$PWD/$SNAPCELL ;;
esac
cd "$here"
mkdir -p out
rm -f out/co2.png
set -- --python --wall 60s --memory 512M --file co2.csv --out 'out/*.png' "$@"

# An ordinary user without a cgroup of their own cannot have limits of the whole tree. Nothing is given up
# silently: first ask without, and say what is being gone without before doing so.
if ! why=$("$SNAPCELL" plan "$@" analysis.py 2>&1 >/dev/null); then
    if [ "$(id -u)" -eq 0 ]; then
        echo "$why" >&2
        exit 125
    fi
    echo "This host does not give you every limit:" >&2
    echo "    $why" >&2
    echo "Going on with memory and processor time limited for each process instead of the whole cell," >&2
    echo "and without a processor rate (--allow-degraded memory,cpu,cpus). The result lists it." >&2
    set -- --allow-degraded memory,cpu,cpus "$@"
fi

status=0
"$SNAPCELL" run --verbose "$@" analysis.py || status=$?
if [ -s out/co2.png ]; then
    echo "The picture lies in $here/out/co2.png"
elif [ "$status" -eq 0 ]; then
    echo "run.sh: the run ended well, yet no picture came out" >&2
    exit 1
fi
exit "$status"
