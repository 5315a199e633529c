#!/bin/sh
# Installs what is missing of the Debian packages that Snapcell needs, by purpose, and nothing else:
#
#     tools/setup.sh build run            # what `make run` needs
#     tools/setup.sh --list build         # only prints the names
#
# A package that is there is left as it is. As an ordinary user it asks sudo.
set -eu

packages() {
    case "$1" in
    # Compiler and libraries of the product.
    build) echo gcc libc6-dev linux-libc-dev make meson ninja-build pkg-config python3 musl-tools libevent-dev libc-ares-dev libssl-dev \
        libjansson-dev libmicrohttpd-dev libseccomp-dev libsystemd-dev libtree-sitter-dev libutf8proc-dev npm ;;
    # What the example runs in its cell, and mkfs.ext4 for work folders on an image.
    run) echo python3 python3-pandas python3-numpy python3-matplotlib e2fsprogs ;;
    # Unit tests, and the programs that people run in cells.
    test) echo libcmocka-dev ca-certificates curl python3-pytest python3-venv libpython3.11-testsuite python3-openpyxl nodejs git curl openssl python3-pip g++ procps iproute2 util-linux passwd strace man-db clang libclang-rt-14-dev \
        openjdk-17-jdk-headless ;;
    # Static analysis.
    analyze) echo clang clang-tidy ;;
    # tests/vm: Debian's kernel under QEMU; it fetches the kernel itself.
    vm) echo qemu-system-x86 apparmor dpkg systemd dbus dbus-user-session libpam-systemd ;;
    # Whom the benchmark compares with.
    bench) echo bubblewrap firejail util-linux ;;
    *)
        echo "setup: $1: must be one of build, run, test, analyze, vm, bench" >&2
        exit 2
        ;;
    esac
}

installed() {
    # npm comes in many ways; any will do for fetching the grammars.
    [ "$1" = npm ] && command -v npm >/dev/null && return
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

list=
if [ "${1-}" = --list ]; then
    list=1
    shift
fi
[ $# -gt 0 ] || set -- build run

missing=
for group in "$@"; do
    names=$(packages "$group")
    for name in $names; do
        if [ -n "$list" ]; then
            echo "$name"
        elif ! installed "$name"; then
            case " $missing " in *" $name "*) ;; *) missing="$missing $name" ;; esac
        fi
    done
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: this is no Debian; install the like of:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup: needs root to install:$missing" >&2
        exit 1
    }
    as_root=sudo
fi
echo "setup: installing$missing"
# Package lists may be missing or old on a fresh system: fetch them when the names cannot be resolved as they are.
install() {
    # shellcheck disable=SC2086 # a list of names
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends --no-upgrade $missing
}
install || { $as_root apt-get update && install; }
