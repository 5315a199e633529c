# What comes before the first run: a template's prelude, and of a zygote the forks (docs/runner-protocol.md). Sourced at the
# shell's top level, so that what a prelude declares is global, and with nothing redirected: of a fork all descriptors but
# its own have been closed.

# STATUS ERROR
__snapcell_answer() {
    __snapcell_say "{\"op\":\"prelude\",\"status\":\"$1\",\"error\":$2}"
}

# NAME MESSAGE WORDS LINE
__snapcell_answer_error() {
    local REPLY
    __snapcell_error "$@"
    __snapcell_answer error "$REPLY"
}

# REASON
__snapcell_not_forkable() {
    local LC_ALL=C __snapcell_json_text='{"op":"not_forkable","reason":'
    __snapcell_json "$1" 16384
    __snapcell_say "$__snapcell_json_text$REPLY}"
}

# A template's import is a command that has to be there.
__snapcell_find_command() {
    if builtin command -v -- "$1" >/dev/null; then
        __snapcell_answer ok null
    else
        __snapcell_answer_error NotFound "$1: no such command" "import $1: no such command" null
    fi
}

# Why this shell cannot be forked, in REPLY.
__snapcell_look() {
    local folder=$__snapcell_folder/../fork
    REPLY=''
    if ! builtin enable -f "$folder/snapcell-fork-bash.so" snapcell_fork; then
        REPLY='this bash cannot load the builtin snapcell_fork'
        return 1
    fi 2>/dev/null
    snapcell_fork look "$folder/libsnapcell-fork.so" 199
}

# The state of the numbers is in the memory that siblings share; SRANDOM asks the system.
__snapcell_go_apart() {
    RANDOM=$SRANDOM
    SECONDS=0
}

while :; do
    __snapcell_read_line
    if [[ $REPLY =~ ^prelude\ (import|code)\ ([0-9]{1,7})$ ]]; then
        __snapcell_kind=${BASH_REMATCH[1]}
        if ! __snapcell_take_code "${BASH_REMATCH[2]}"; then
            __snapcell_answer_error SyntaxError 'the prelude has a null byte' '' null
        elif [[ $__snapcell_kind == import ]]; then
            __snapcell_find_command "$__snapcell_code"
        elif ! __snapcell_words=$(exec 199>&-; builtin eval "set -n; $__snapcell_code" 2>&1); then
            __snapcell_answer_error SyntaxError "$__snapcell_words" "$__snapcell_words" null
        else
            builtin eval "$__snapcell_code" 199>&-
            __snapcell_status=$? __snapcell_flags=$-
            builtin set +exT
            if ((__snapcell_status == 0)); then
                __snapcell_answer ok null
            else
                __snapcell_answer_error ExitStatus "exit status $__snapcell_status" '' null
            fi
        fi
        continue
    fi
    if [[ $__snapcell_is_zygote != 1 ]]; then
        __snapcell_pending=$REPLY
        break
    fi
    if [[ $REPLY != serve ]]; then
        builtin printf 'runner: a zygote has no runs\n' >&2
        builtin exit 1
    fi
    if ! __snapcell_look; then
        __snapcell_not_forkable "$REPLY"
        builtin exit 0
    fi
    __snapcell_say '{"op":"forkable"}'
    snapcell_fork serve 4
    __snapcell_status=$?
    ((__snapcell_status == 1)) && builtin exit 0
    if ((__snapcell_status == 0)); then
        exec 199<&3 3<&- 4<&-
        builtin enable -d snapcell_fork
        if __snapcell_go_apart; then
            __snapcell_is_zygote=0
            __snapcell_say "$__snapcell_ready"
            break
        fi
        __snapcell_not_forkable 'the numbers could not be begun anew'
        builtin exit 70
    fi
    builtin printf 'runner: %s\n' "$REPLY" >&2
    builtin exit 1
done
__snapcell_note_initial
# The options that a prelude has set are for the code.
__snapcell_prelude_options=${__snapcell_flags//[^exT]/}
__snapcell_flags=''
