"""A throw-away virtual machine: Debian's own kernel under QEMU; its root is this machine's root, shared read-only over
9p below a tmpfs. prepare() makes kernel and initramfs once and keeps them; boot() runs one job."""
import glob
import lzma
import os
import re
import shutil
import subprocess
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
# What a job needs; what they depend on is read from the files. Names that are built into the kernel are left out.
MODULES = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "loop", "crc32c_generic", "ext4"]
CMDLINE = ("console=ttyS0 quiet reboot=t panic=-1 nokaslr mitigations=off no_timer_check cryptomgr.notests "
           "apparmor=1 security=apparmor")


class VmError(Exception):
    pass


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or ("/var/cache" if os.geteuid() == 0 else os.path.expanduser("~/.cache"))
    return os.path.join(base, "snapcell-vm")


# ---- prepare ----

def download_kernel(folder):
    """Debian's current kernel package, unpacked into `folder`. Returns its version."""
    out = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=True).stdout
    package = re.search(r"Depends: (linux-image-\S+)", out).group(1)
    subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package], cwd=folder, check=True)
    deb = glob.glob(os.path.join(folder, package + "_*.deb"))[0]
    subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
    os.unlink(deb)
    return package[len("linux-image-"):]


def unpack_elf(image):
    """The ELF inside a bzImage: it boots by PVH and spares the guest the unpacking. None where it cannot be had."""
    for magic, unpack in ((b"\xfd7zXZ\0", lambda d: lzma.LZMADecompressor().decompress(d)),
                          (b"\x1f\x8b\x08", lambda d: zlib.decompressobj(31).decompress(d)),
                          (b"\x28\xb5\x2f\xfd", unpack_zstd)):
        at = image.find(magic)
        while at >= 0:
            try:
                elf = unpack(image[at:])
                if elf[:4] == b"\x7fELF":
                    return elf
            except (lzma.LZMAError, zlib.error, OSError):
                pass
            at = image.find(magic, at + 1)
    return None


def unpack_zstd(data):
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=False).stdout


def read_module(path):
    with open(path, "rb") as f:
        data = f.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


def pick_modules(folder):
    """[(name, content)] of MODULES and what they depend on, in loading order."""
    files = {}
    for path in glob.glob(os.path.join(folder, "**", "*.ko*"), recursive=True):
        files[os.path.basename(path).split(".")[0].replace("-", "_")] = path
    picked, order = {}, []

    def pick(name):
        name = name.replace("-", "_")
        if name in picked or name not in files:
            return
        picked[name] = data = read_module(files[name])
        depends = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in depends.group(1).decode().split(",") if depends else []:
            pick(other)
        order.append((name, data))

    for name in MODULES:
        pick(name)
    return order


def cpio_entry(name, mode, data=b""):
    """One member in the "newc" form."""
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % x for x in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def make_initramfs(modules, init):
    parts = [cpio_entry("init", 0o100755, init), cpio_entry("m", 0o040755)]
    parts += [cpio_entry("m/" + name, 0o100644, data) for name, data in modules]
    parts.append(cpio_entry("modules", 0o100644, "".join(name + "\n" for name, _ in modules).encode()))
    # The kernel opens it for process 1 before anything is mounted.
    console = cpio_entry("dev", 0o040755)
    return b"".join(parts) + console + cpio_entry("TRAILER!!!", 0)


def build_init(folder):
    out = os.path.join(folder, "init")
    subprocess.run(["cc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-static", "-o", out,
                    os.path.join(HERE, "init.c")], check=True)
    with open(out, "rb") as f:
        data = f.read()
    os.unlink(out)
    return data


def prepare():
    """The folder that holds `kernel` and `initrd`; made when it is missing or older than the sources here."""
    cache = cache_folder()
    ready = os.path.join(cache, "initrd")
    sources = [os.path.join(HERE, name) for name in ("init.c", "machine.py")]
    if os.path.exists(ready) and os.path.getmtime(ready) >= max(map(os.path.getmtime, sources)):
        return cache
    os.makedirs(cache, exist_ok=True)
    modules_folder = os.path.join(cache, "root")
    if not os.path.exists(os.path.join(cache, "version")):
        shutil.rmtree(modules_folder, ignore_errors=True)
        os.makedirs(modules_folder)
        version = download_kernel(modules_folder)
        with open(os.path.join(cache, "version"), "w", encoding="utf-8") as f:
            f.write(version)
    with open(os.path.join(cache, "version"), encoding="utf-8") as f:
        version = f.read()
    with open(os.path.join(modules_folder, "boot", "vmlinuz-" + version), "rb") as f:
        image = f.read()
    with open(os.path.join(cache, "kernel"), "wb") as f:
        f.write(unpack_elf(image) or image)
    with open(ready + ".new", "wb") as f:
        f.write(make_initramfs(pick_modules(modules_folder), build_init(cache)))
    os.rename(ready + ".new", ready)
    return cache


# ---- boot ----

def qemu_line(cache, work, job, memory_mb, cpus):
    line = ["qemu-system-x86_64", "-M", "q35", "-accel", os.environ.get("SNAPCELL_VM_ACCEL", "tcg,thread=multi"),
            "-cpu", "max,la57=off", "-m", str(memory_mb), "-smp", str(cpus), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-serial", "file:" + os.path.join(work, "console"),
            "-kernel", os.path.join(cache, "kernel"), "-initrd", os.path.join(cache, "initrd"),
            "-append", "%s snapcell.job=%s" % (CMDLINE, job),
            "-fsdev", "local,id=r,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=r,mount_tag=root", "-device", "virtio-serial-pci"]
    # guest.sh links them as /dev/vm-NAME: what is said, the exit status, the report.
    ports = [("say", "file,path=/dev/stdout"), ("status", "file,path=" + os.path.join(work, "status")),
             ("report", "file,path=" + os.path.join(work, "report"))]
    for name, backend in ports:
        line += ["-chardev", "%s,id=%s" % (backend, name), "-device", "virtserialport,chardev=%s,name=vm-%s" % (name, name)]
    return line


JOB = """export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
. '%(guest)s'
exec </dev/null >/dev/vm-say 2>&1
%(command)s
echo $? >/dev/vm-status
echo b >/proc/sysrq-trigger
sleep 60
"""

# The same as a service of systemd, with what users' managers need and little else.
SYSTEMD_JOB = """SYSTEMD=1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
. '%(guest)s'
# Of this machine's own units these are of no use there, or slow; tmpfiles would empty the shared /tmp.
for unit in systemd-{udevd,udev-trigger,journald,journal-flush,timesyncd,networkd,binfmt,modules-load,remount-fs,random-seed} \\
    systemd-{sysctl,update-utmp,tmpfiles-setup,tmpfiles-setup-dev,sysusers,machine-id-commit,pcrphase,hwdb-update} \\
    networking apparmor keyboard-setup console-setup; do
    ln -sf /dev/null /etc/systemd/system/$unit.service
done
for unit in systemd-udevd-{control,kernel}.socket systemd-journald{,-dev-log,-audit}.socket dev-{hugepages,mqueue}.mount \\
    sys-kernel-{debug,tracing}.mount timers.target paths.target; do
    ln -sf /dev/null /etc/systemd/system/$unit
done
cat >/etc/systemd/system/snapcell-vm.service <<'EOF'
[Unit]
Wants=dbus.socket dbus.service systemd-logind.service
After=basic.target dbus.service systemd-logind.service
[Service]
Type=exec
Environment=HOME=/root LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/bin/bash '%(job)s.service'
EOF
cat >'%(job)s.service' <<'EOF'
exec </dev/null >/dev/vm-say 2>&1
%(command)s
echo $? >/dev/vm-status
echo b >/proc/sysrq-trigger
EOF
exec </dev/null >/dev/console 2>&1
exec /lib/systemd/systemd --unit=snapcell-vm.service
"""
def boot(command, limit_s, label="", systemd=False, memory_mb=3072, cpus=1):
    """Runs a shell command as root in a fresh VM, with systemd as process 1 or with bash. What it says is passed on, each
    line after `label`. Returns (exit status, report bytes)."""
    cache = prepare()
    work = tempfile.mkdtemp(prefix="snapcell-vm-")
    try:
        job = os.path.join(work, "job")
        with open(job, "w", encoding="utf-8") as f:
            f.write((SYSTEMD_JOB if systemd else JOB) % {"guest": os.path.join(HERE, "guest.sh"), "command": command, "job": job})
        line = qemu_line(cache, work, job, memory_mb, cpus)
        if not run_qemu(line, limit_s, label):
            raise VmError("the machine did not end within %d s\n%s" % (limit_s, tail(work)))
        status = read(work, "status").strip()
        if not status:
            raise VmError("the machine gave no status\n" + tail(work))
        return int(status), read(work, "report")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run_qemu(line, limit_s, label):
    """False when the time limit ended it. QEMU opens its stdout anew, so it gets a pipe: a file would be overwritten."""
    with subprocess.Popen(["sed", "-u", "s/^/%s/" % label], stdin=subprocess.PIPE) as passing:
        with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=passing.stdin) as qemu:
            passing.stdin.close()
            try:
                qemu.wait(limit_s)
            except subprocess.TimeoutExpired:
                qemu.kill()
                return False
    return True


def read(work, name):
    try:
        with open(os.path.join(work, name), "rb") as f:
            return f.read()
    except OSError:
        return b""


def tail(work):
    return read(work, "console").decode("utf-8", "replace")[-3000:]
