#!/bin/sh
# A repository goes in; its pytest report comes out. The tests are the repository's own, and nobody vouches for them.
# Exit status: pytest's (1: some test failed, as it does here). Needs Debian's python3-pytest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/session.sh"
out=${1:-$here/out}
repository=${2:-$here/sample}
mkdir -p "$out"

start_session --memory 512M --wall 120s
"$SNAPCELL" session put "$session" "$repository" repository

status=0
"$SNAPCELL" session exec "$session" --cwd repository -- \
    python3 -m pytest -q -p no:cacheprovider --junitxml /home/user/report.xml || status=$?
"$SNAPCELL" session get "$session" report.xml "$out/report.xml"
heading "the report is $out/report.xml"
exit "$status"
