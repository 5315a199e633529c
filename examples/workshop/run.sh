#!/bin/sh
# A shell session that builds a C program: each step is a run of its own in one kept Bash, so that working directory,
# variables and functions stay. Needs gcc and make.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/session.sh"

step() {
    heading "$1"
    "$SNAPCELL" session run "$session" --bash -c "$1"
}

start_session --memory 512M --wall 60s --tmp 128M
"$SNAPCELL" session put "$session" "$here/primes.c"
step 'mkdir -p build; cd build; cflags="-O2 -Wall -Wextra"'
step 'compile() { gcc $cflags -o "$2" "$1" && echo "built $PWD/$2"; }'
step 'compile ../primes.c primes'
step 'time ./primes 100000'
step 'count=$(./primes 1000); echo "There are $count primes below 1000."'

out=${1:-$here/out}
mkdir -p "$out"
"$SNAPCELL" session get "$session" build/primes "$out/primes"
heading "the program is $out/primes"
