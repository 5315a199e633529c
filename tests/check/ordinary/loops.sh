#!/bin/bash
set -euo pipefail
mkdir -p out /tmp/work
total=0
for file in *.txt; do
    [ -e "$file" ] || continue
    lines=$(wc -l < "$file")
    total=$((total + lines))
    printf '%s: %d\n' "$file" "$lines" >> out/counts
done
while IFS=, read -r name value _; do
    case "$name" in
    '#'*) continue ;;
    eval) echo "the word eval, curl and ssh" ;;
    *) echo "$name=${value:-none}" ;;
    esac
done < in.csv
sort out/counts | uniq -c | awk '{print $2}' > /dev/null
echo "total: $total" | tee out/total >&2
