# docs/runner-protocol.md
#
# Starts the shell that is kept. It is a `bash -c` of one line, because of a script that is all that bash tells
# names and lines of: `<run 3>: line 2: ...`, as if the run's code were the whole script.
#
# Theory of operation. The loop's condition, __snapcell_next (context.bash), tells how the last run ended and
# reads the next one; its body evaluates the code in this very shell, at its top level, with the descriptor to the
# supervisor closed, if it can be parsed. An interrupt unwinds what the code is in by `break` before each of its commands
# (context.bash); that breaks loops of this text, too, some of the eight levels, and the next one begins again.

exec 199<&3 3<&-
__snapcell_folder=${BASH_SOURCE[0]%/*}
__snapcell_line='source "$0/context.bash"; '
for __snapcell_level in 1 2 3 4 5 6 7 8; do
    __snapcell_line+='while __snapcell_again; do '
done
__snapcell_line+='while { __snapcell_next; } 2>/dev/null; do '
# A copy of this shell reads the code with -n first, by which nothing is executed, unless it is plain to see that it can be
# parsed. With extglob, if the code sets it: it would be set only when the line was executed.
__snapcell_line+='if __snapcell_words=${__snapcell_plain-$(exec 199>&-; [[ $__snapcell_code == *extglob* ]] && '
__snapcell_line+='shopt -s extglob; builtin eval "set -n; $__snapcell_code" 2>&1)}; '
__snapcell_line+='then builtin eval "$__snapcell_code" 199>&-; else __snapcell_invalid; fi; done'
for __snapcell_level in 1 2 3 4 5 6 7 8; do
    __snapcell_line+='; done'
done
exec "$BASH" --norc --noprofile -c "$__snapcell_line" "$__snapcell_folder" "$@"
