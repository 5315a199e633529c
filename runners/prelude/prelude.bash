# Loads a template's prelude as its warm shell would; an import of the shell is a command that must be there.
#
#     bash prelude.bash CODE-FILE COMMAND...      (CODE-FILE may be "")
#
# Exits 0, or 1 after a line that says what failed.
path=$1
shift
for name in "$@"; do
    if ! command -v -- "$name" >/dev/null; then
        printf 'import %s:\n%s: no such command\n' "$name" "$name" >&2
        exit 1
    fi
done
if [ -n "$path" ]; then
    # shellcheck disable=SC1090
    . "$path" || { printf 'code:\nexited with %d\n' "$?" >&2; exit 1; }
fi
