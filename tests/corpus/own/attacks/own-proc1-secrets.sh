[ $PPID = 1 ] || set -- $PPID
p=${1:-1}
for f in environ auxv maps smaps stack syscall io mem map_files fd/0 fd/1 fd/2 root/etc cwd/. exe personality pagemap; do
  if dd if=/proc/$p/$f bs=1 count=1 of=/dev/null 2>/dev/null || [ -d /proc/$p/$f ] && ls /proc/$p/$f/ >/dev/null 2>&1; then
    echo "ESCAPED: /proc/$p/$f opens"
  fi
done
echo "CONTAINED: asked for all"
