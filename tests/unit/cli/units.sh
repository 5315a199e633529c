#!/bin/sh
# The units are such that systemd takes them without a word: units.sh SERVICE SOCKET BINARY
set -eu
binary=$(realpath "$3")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed "s|^ExecStart=[^ ]*|ExecStart=$binary|" "$1" >"$folder/snapcell.service"
cp "$2" "$folder/"
said=$(systemd-analyze verify --man=no "$folder/snapcell.service" "$folder/snapcell.socket" 2>&1) || {
    echo "$said"
    exit 1
}
# Others' units on this machine may be complained of, too.
said=$(printf '%s\n' "$said" | grep -i snapcell || true)
[ -z "$said" ] || {
    echo "$said"
    exit 1
}
# It would have said something: a wrong word is told.
echo 'Nonsense=yes' >>"$folder/snapcell.service"
systemd-analyze verify --man=no "$folder/snapcell.service" 2>&1 | grep -q Nonsense
