#!/bin/sh
# Installs a build into a folder of its own, then looks at the installation as somebody would who only has that: every
# file is there, the example compiles by pkg-config and runs against the installed library.
#
#     embed.sh BUILD SOURCE
set -eu
build=$1
source=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

meson install -C "$build" --no-rebuild --destdir "$place" >"$place/log" 2>&1 || {
    cat "$place/log"
    exit 1
}

fail() {
    echo "embed: $1"
    exit 1
}
find_one() {
    found=$(find "$place" -path "*$1" | head -n 1)
    [ -n "$found" ] || fail "nothing like $1 was installed"
    echo "$found"
}

for file in /bin/snapcell /include/snapcell.h /man/man1/snapcell.1 /bash-completion/completions/snapcell \
    /snapcell/apparmor.d/snapcell-cell; do
    find_one "$file" >/dev/null
done
pc=$(find_one /pkgconfig/snapcell.pc)
library=$(find_one /libsnapcell.so)

cp "$source/examples/embed/judge.c" "$source/examples/embed/notebook.c" "$source/examples/embed/Makefile" "$place"
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$place"
make -s -C "$place" CFLAGS="-Wall -Wextra -Werror" || fail "the examples do not compile"

# The example runs where cells can be made; what this host lacks for an ordinary user is accepted, nothing else.
export LD_LIBRARY_PATH="${library%/*}"
accept=
"$(find_one /bin/snapcell)" plan -- true >/dev/null 2>&1 || accept=memory,cpu,cpus
"$place/judge" $accept >"$place/said" || {
    cat "$place/said"
    fail "the example ended with $?"
}
cat "$place/said"
grep -q '^ada  right ' "$place/said" || fail "ada's answer is right"
grep -q '^bob  timeout ' "$place/said" || fail "bob's answer does not end"
grep -q '^eve  error ' "$place/said" || fail "eve's answer fails"

"$place/notebook" $accept >"$place/said" || {
    cat "$place/said"
    fail "the notebook ended with $?"
}
cat "$place/said"
grep -q '^\[3\] timeout ' "$place/said" || fail "the third cell does not end"
grep -q '^1088395 in 3 cities$' "$place/said" || fail "the variables outlive it"
