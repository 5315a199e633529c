# For the scripts of this folder: finds snapcell, starts a session, and ends it however the script ends.
#
#     . "$here/../lib/session.sh"
#     start_session [OPTION…]        # options of `snapcell session start`; sets $session
#     "$SNAPCELL" session run "$session" …

if [ -z "${SNAPCELL:-}" ]; then
    SNAPCELL=$here/../../build/src/cli/snapcell
    [ -x "$SNAPCELL" ] || SNAPCELL=$(command -v snapcell) || {
        echo "$0: no snapcell: build it (make), install it, or name it in \$SNAPCELL" >&2
        exit 2
    }
fi

session=
trap '[ -z "$session" ] || "$SNAPCELL" session end "$session"' EXIT

# An ordinary user without a cgroup of their own cannot have limits of the whole tree. Nothing is given up silently.
start_session() {
    if session=$("$SNAPCELL" session start "$@" 2>&1); then
        return
    fi
    why=$session
    session=
    if [ "$(id -u)" -eq 0 ]; then
        echo "$why" >&2
        exit 125
    fi
    echo "This host does not give you every limit:" >&2
    echo "    $why" >&2
    echo "Going on without limits of the whole cell on memory, processor time and rate." >&2
    session=$("$SNAPCELL" session start --allow-degraded memory,cpu,cpus "$@")
}

heading() {
    printf '\n== %s\n' "$*"
}
