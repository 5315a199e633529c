# First thing in the guest, sourced by the job: what a booted Debian would have set up.
umask 022
hostname snapcell-vm
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666,gid=5 devpts /dev/pts
ln -sf /proc/self/fd /dev/fd
ln -sf fd/0 /dev/stdin
ln -sf fd/1 /dev/stdout
ln -sf fd/2 /dev/stderr
for d in /dev/shm /run; do mount -t tmpfs tmpfs $d; done
chmod 1777 /dev/shm
mount -t securityfs securityfs /sys/kernel/security
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
ip link set lo up
for port in /sys/class/virtio-ports/*; do ln -s "/dev/${port##*/}" "/dev/$(cat "$port/name")"; done
# The job lives in a leaf, so that the root group may hand every controller down.
mkdir /sys/fs/cgroup/init
echo $$ >/sys/fs/cgroup/init/cgroup.procs
for controller in cpuset cpu io memory pids; do echo +$controller >/sys/fs/cgroup/cgroup.subtree_control; done
