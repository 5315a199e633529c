"""Layer 2: what can be seen and written."""
import glob
import os

from cell import all_are, bash, claim, expect, python

LAYERS = ["file system", "landlock"]


@claim("fs-read-only-root", "Nothing outside the writable folders can be made, changed or removed.", LAYERS)
def test_read_only(probes):
    folders = ["/", "/usr", "/usr/bin", "/etc", "/dev", "/home", "/run", "/var"]
    attempts = ["%s=%s/claim" % (call, f.rstrip("/")) for f in folders for call in ("create", "mkdir", "symlink", "mkfifo")]
    all_are(probes.run("paths", attempts), "EROFS")
    changes = ["unlink=/usr/bin/env", "chmod=/usr/bin/env", "chown_root=/etc/passwd", "truncate=/etc/passwd",
               "rename=/usr/bin/env,/usr/bin/claim", "unlink=/etc/passwd"]
    got = probes.run("paths", changes)
    # The kernel asks for the right to a file's content before it looks at the mount.
    assert got.pop("truncate=/etc/passwd") in ("EROFS", "EACCES")
    all_are(got, "EROFS")
    all_are(probes.run("paths", ["create=/home/user/claim", "mkdir=/tmp/claim", "create=/dev/shm/claim", "open_read=/etc/passwd"]), "ok")


@claim("fs-host-paths", "No file of the host outside the shared system folders has a path in a cell.", LAYERS)
def test_host_paths(probes, host_file):
    paths = [host_file, "/root", "/boot", "/opt", "/srv", "/mnt", "/etc/shadow", "/etc/hostname-of-host", "/var/log",
             "/proc/1/root/etc/shadow", "/run/systemd", os.path.expanduser("~")]
    got = probes.run("paths", ["stat=%s" % p for p in paths])
    inner = got.pop("stat=/proc/1/root/etc/shadow")
    assert inner in ("EACCES", "EPERM"), inner
    all_are(got, "ENOENT")
    climb = "/".join([".."] * 30)
    all_are(probes.run("paths", ["stat=%s%s" % (climb, host_file)]), "ENOENT")
    all_are(probes.run("paths", ["stat=/home/user", "stat=/usr/bin/env", "stat=/etc/passwd"]), "ok")


@claim("fs-writable-places", "The work folder, /tmp and /dev/shm can be written; programs run from the first two.", ["file system"])
def test_writable(probes):
    expect(probes.run("paths", ["exec_copy=/home/user/copy"]), exec_copy="ok")
    expect(probes.run("paths", ["exec_copy=/tmp/copy"]), exec_copy="ok")
    expect(probes.run("paths", ["exec_copy=/dev/shm/copy"]), exec_copy="EACCES")


@claim("fs-size", "Work folder, /tmp and /dev/shm end at their size with ENOSPC, and the result says which.", ["file system"])
def test_size(probes):
    for place, option in (("/home/user", "disk"), ("/tmp", "tmp"), ("/dev/shm", "shm")):
        limit = ["--" + option, "8M"]
        expect(probes.run("paths", ["fill=%s/big,6" % place], *limit), fill="ok")
        cell = probes.cell("paths", ["fill=%s/big,9" % place], *limit)
        assert cell.said() == {"fill=%s/big,9" % place: 28}, cell.describe()
        assert option in cell.limits_hit, cell.describe()


@claim("fs-inodes", "The number of files in the work folder and /tmp is limited.", ["file system"])
def test_inodes(probes):
    for place, option in (("/home/user", "disk-inodes"), ("/tmp", "tmp-inodes")):
        got = probes.run("paths", ["many_files=%s,200" % place], "--" + option, "400")
        expect(got, many_files="ok")
        got = probes.run("paths", ["many_files=%s,450" % place], "--" + option, "400")
        expect(got, many_files="ENOSPC")


@claim("fs-set-id", "A set-user-id program gains nothing.", ["file system", "no_new_privs"])
def test_set_id(probes):
    expect(probes.run("paths", ["exec_set_id=/tmp/copy"]), exec_set_id="ok")
    for program in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount"):
        if os.path.exists(program):
            said = bash("cp /proc/self/status /tmp/s; exec -a x %s --help >/dev/null 2>&1; true" % program)
            assert said.exit_code is not None
    assert python("import os; print(os.getresuid())").stdout == "(1000, 1000, 1000)\n"


@claim("fs-devices", "No device node can be made, and only null, zero, full, random, urandom, tty and terminals are there.",
       ["file system", "filter", "capabilities"])
def test_devices(probes):
    got = probes.run("paths", ["mknod_char=/tmp/n", "mknod_block=/tmp/b", "mkfifo=/tmp/f"])
    expect(got, mknod_char="EPERM", mknod_block="EPERM", mkfifo="ok")
    hidden = ["/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/loop0", "/dev/sda", "/dev/vda"]
    all_are(probes.run("paths", ["open_read=" + p for p in hidden]), "ENOENT")
    all_are(probes.run("paths", ["read=/dev/zero", "read=/dev/urandom", "read=/dev/full", "write=/dev/null"]), "ok")
    names = set(bash("ls /dev").stdout.split())
    assert names == {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "ptmx",
                     "pts", "shm"}, names


@claim("fs-mount-table", "The mount table shows no path of the host.", ["file system"])
def test_mount_table():
    said = bash("cat /proc/self/mountinfo /proc/self/mounts /proc/1/mountinfo 2>/dev/null; true")
    assert said.stdout == "", said.stdout


@claim("fs-mount-calls", "No mount can be made, moved, changed or taken away.", ["file system", "filter", "capabilities"])
def test_mount_calls(probes):
    calls = ["mount_tmpfs", "mount_bind", "mount_proc", "remount", "umount", "pivot_root", "chroot", "fsopen", "fsmount",
             "fspick", "open_tree", "move_mount", "mount_setattr", "userns_mount"]
    all_are(probes.run("calls", calls), "EPERM")
    all_are(probes.run("calls", ["statmount", "listmount"]), "ENOSYS")


@claim("fs-cwd", "A program starts in the work folder, or in the folder of the cell that was asked for.", ["file system"])
def test_cwd():
    assert bash("pwd -P; readlink /proc/self/cwd").stdout == "/home/user\n/home/user\n"
    assert bash("pwd -P", "--cwd", "/tmp").stdout == "/tmp\n"


@claim("fs-fresh", "Nothing that one cell wrote is there in the next.", ["file system"])
def test_fresh():
    places = ["/home/user", "/tmp", "/dev/shm"]
    write = bash("; ".join("echo x > %s/left-over" % p for p in places))
    assert write.status == "ok", write.describe()
    assert bash("ls -A " + " ".join(p + "/left-over" for p in places) + " 2>/dev/null").stdout == ""


@claim("fs-host-untouched", "What a program makes in /tmp or its home does not appear on the host.", ["file system"])
def test_host_untouched():
    name = "claim-host-%d" % os.getpid()
    assert bash("touch /tmp/%s /home/user/%s /dev/shm/%s" % (name, name, name)).status == "ok"
    assert glob.glob("/tmp/" + name) + glob.glob("/dev/shm/" + name) == []


@claim("fs-directory-read-only", "A host folder mounted with :ro can be read and not written.", ["file system", "landlock"])
def test_read_only_folder(probes, host_file):
    folder = host_file.parent
    os.chmod(folder, 0o755)
    got = probes.run("paths", ["read=/data/secret.txt", "create=/data/new", "unlink=/data/secret.txt", "chmod=/data/secret.txt"],
                     "--dir", "%s:/data:ro" % folder)
    expect(got, read="ok", create="EROFS", unlink="EROFS", chmod="EROFS")
    assert host_file.read_text() == "host secret\n"
