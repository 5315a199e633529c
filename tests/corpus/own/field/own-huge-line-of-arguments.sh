big=$(head -c 120000 /dev/zero | tr '\0' x)
for i in 1 2 3 4 5 6 7 8; do
  bash -c 'sleep 0.2' "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" &
done
wait
echo "CONTAINED: done"
