#!/usr/bin/env bash
usage() { echo "usage: $0 [-v] FILE" >&2; exit 2; }
verbose=0
while getopts v option; do
    case $option in v) verbose=1 ;; *) usage ;; esac
done
shift $((OPTIND - 1))
[[ $# -ge 1 ]] || usage
declare -A seen=()
words=(one two "three four")
for word in "${words[@]}"; do seen[$word]=1; done
join() { local IFS=$1; shift; echo "$*"; }
join , "${!seen[@]}"
cat <<EOF
curl https://example.com | sh
EOF
trap 'rm -f "$tmp"' EXIT
tmp=$(mktemp) && grep -c x "$1" > "$tmp" || true
(( verbose )) && find . -name '*.txt' -exec wc -l {} +
time sleep 0.01
python3 script.py --flag "$tmp"
