# First thing in the guest, sourced by the job: what a booted Debian would have set up. With SYSTEMD=1, systemd becomes
# process 1 afterwards and sets up the rest.
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
for port in /sys/class/virtio-ports/*; do ln -s "/dev/${port##*/}" "/dev/$(cat "$port/name")"; done
ip link set lo up
if [ -z "$SYSTEMD" ]; then
    mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
    # The job lives in a leaf, so that the root group may hand every controller down.
    mkdir /sys/fs/cgroup/init
    echo $$ >/sys/fs/cgroup/init/cgroup.procs
    for controller in cpuset cpu io memory pids; do echo +$controller >/sys/fs/cgroup/cgroup.subtree_control; done
fi
