# One context of Bash: reads runs from descriptor 199, and tells there how they ended. Sourced by the kept shell.
#
# The user's code shares this shell: names here begin with __snapcell_, nothing here relies on options that a run
# may have set, and what programs like to wrap in functions of the same name (printf, read, trap) is called by
# `builtin`. That goes for accidents: a run that means to can end its own shell in many ways.

shopt -s expand_aliases
__snapcell_id=''          # of the run that is on
__snapcell_code=''        # what the kept shell evaluates
__snapcell_running=0      # whether an interrupt has something to interrupt
__snapcell_interrupted=0
__snapcell_leaving=''     # whether the shell is ending
__snapcell_flags=''       # the run's own options, when it was interrupted
__snapcell_number=0
__snapcell_interruption='{"name":"Interrupted","message":"the run was interrupted","traceback":"","line":null}'
__snapcell_head_program=$(type -P head)
__snapcell_rm_program=$(type -P rm)
__snapcell_folder=${BASH_SOURCE[0]%/*}
__snapcell_is_zygote=0
if [[ ${1-} == --zygote ]]; then
    __snapcell_is_zygote=1
    shift
fi
__snapcell_pending=''     # a line that has been read already
source "$__snapcell_folder/json.bash"

__snapcell_say() {
    builtin printf '%s\n' "$1" >&199
}

# ---- interrupts ----

# Bash runs a trap between two commands, and only there can code be made to end. So the trap for INT sets one that
# comes before each command (DEBUG; functions inherit it by -T): it leaves all loops, and with extdebug its failure
# skips the command. What is left of the code runs out at once, whatever it is nested in, with nothing executed.
# `!` gives the failure, for nothing that stands after a `break` is executed.
__snapcell_unwind='[[ $__snapcell_leaving || $BASH_COMMAND == __snapcell_* || ${FUNCNAME-} == __snapcell_* ]] ||
    ! builtin break 8 2>/dev/null'
__snapcell_on_interrupt='((__snapcell_running)) && {
    __snapcell_running=0 __snapcell_interrupted=1 __snapcell_flags=$-
    builtin set +e -T
    builtin shopt -s extdebug
    builtin trap -- "$__snapcell_unwind" DEBUG
}'

# ---- exits ----

# An exit ends this shell, and with it the context: the last that is told is the result.
__snapcell_on_exit() {
    builtin set +exT
    __snapcell_running=0
    [[ $__snapcell_id && $BASHPID == "$$" ]] || return 0
    __snapcell_find_stream
    if ((__snapcell_interrupted)); then
        __snapcell_result interrupted 130 "$__snapcell_interruption"
    else
        __snapcell_result exit "$1" null
    fi
    __snapcell_id=''
}

# Of a shell that ends inside of a function the redirections are not undone: descriptor 199 then is where bash
# keeps it meanwhile.
__snapcell_find_stream() {
    local n
    [[ -S /proc/self/fd/199 ]] && return
    for n in {10..30}; do
        if [[ -S /proc/self/fd/$n ]]; then
            builtin eval "exec 199>&$n"
            return
        fi
    done
}

# A run that has a trap of its own for EXIT keeps it, and the result comes after it.
exit() {
    local __snapcell_status=$?
    (($#)) || builtin set -- "$__snapcell_status"
    if [[ $BASHPID == "$$" ]]; then
        local __snapcell_action
        __snapcell_action=$(builtin trap -p EXIT)
        if [[ $__snapcell_action != *__snapcell_on_exit* ]]; then
            builtin eval "builtin set -- \"\$1\" ${__snapcell_action#trap }"
            [[ ${2-} == -- ]] && builtin trap -- "$3"$'\n'"__snapcell_on_exit ${1@Q}" EXIT
        fi
    fi
    builtin exit "$1"
}

# ---- results ----

# STATUS EXIT_CODE ERROR
__snapcell_result() {
    local LC_ALL=C __snapcell_locals
    __snapcell_tell_locals
    __snapcell_say "{\"op\":\"result\",\"id\":\"$__snapcell_id\",\"status\":\"$1\",\"exit_code\":$2,\"value\":null,\
\"locals\":$__snapcell_locals,\"error\":$3}"
}

# NAME MESSAGE TRACEBACK LINE: an error as JSON, in REPLY of the caller.
__snapcell_error() {
    local LC_ALL=C __snapcell_json_text="{\"name\":\"$1\""
    __snapcell_json "$2" 16384
    __snapcell_json_text+=",\"message\":$REPLY"
    __snapcell_json "$3" 65536
    REPLY="$__snapcell_json_text,\"traceback\":$REPLY,\"line\":$4}"
}

# STATUS of the code
__snapcell_end() {
    local REPLY
    if ((__snapcell_interrupted)); then
        __snapcell_result interrupted 130 "$__snapcell_interruption"
    elif (($1 == 0)); then
        __snapcell_result ok 0 null
    else
        __snapcell_error ExitStatus "exit status $1" '' null
        __snapcell_result error "$1" "$REPLY"
    fi
    __snapcell_id=''
}

# ---- runs ----

# Between two runs: the result of the one, then the other, until one can be run.
__snapcell_next() {
    local __snapcell_status=$? __snapcell_options=$-$__snapcell_prelude_options REPLY
    __snapcell_prelude_options=''
    __snapcell_running=0
    builtin set +exT
    if ((__snapcell_interrupted)); then
        builtin trap - DEBUG
        builtin shopt -u extdebug
        __snapcell_options=$__snapcell_flags
    fi
    [[ $__snapcell_id ]] && __snapcell_end "$__snapcell_status"
    __snapcell_interrupted=0
    until __snapcell_read_run; do :; done
    # The options take effect before the code, on its first line, so that lines stay where they are.
    __snapcell_options=${__snapcell_options//[^exT]/}
    __snapcell_prefix='set -n; '
    __snapcell_see_plain
    if [[ $__snapcell_options ]]; then
        __snapcell_code="set -$__snapcell_options; $__snapcell_code"
        __snapcell_prefix+="set -$__snapcell_options; "
    fi
    builtin trap -- "$__snapcell_on_interrupt" INT
    __snapcell_running=1
}

# Whether the code is one line of such words only as can always be parsed: then __snapcell_plain is set, and no copy of
# this shell has to try, which is most of what a short run takes. No character among them opens anything but `"`, which
# comes in pairs, and nothing within such a pair opens anything either; what is left are words that begin a construct,
# and aliases, which may be anything.
__snapcell_see_plain() {
    local __snapcell_text=${__snapcell_code%$'\n'}
    local __snapcell_quotes=${__snapcell_text//[!\"]}
    builtin unset -v __snapcell_plain
    [[ $__snapcell_text == *[!A-Za-z0-9_./,:=+@%*?~\"\$\ -]* ]] && return
    ((${#__snapcell_quotes} % 2 || ${#BASH_ALIASES[@]})) && return
    case "${__snapcell_text#"${__snapcell_text%%[! ]*}"} " in
    if\ * | then\ * | else\ * | elif\ * | fi\ * | case\ * | esac\ * | for\ * | select\ * | while\ * | until\ *) ;;
    do\ * | done\ * | in\ * | function\ * | time\ * | coproc\ *) ;;
    *) __snapcell_plain='' ;;
    esac
}

__snapcell_again() {
    return 0
}

# Reads one run, and says at once what cannot be run. False: the next one, please.
__snapcell_read_run() {
    local __snapcell_head IFS=' ' REPLY
    __snapcell_read_line
    # A pattern, not an expression: to compile one takes longer than all else here.
    [[ $REPLY == run\ +([0-9a-f])\ +([0-9])\ @(+([0-9])|-)\ rich?(\ +([0-9])) ]] || builtin exit 0
    __snapcell_head=($REPLY)
    ((${#__snapcell_head[1]} == 16 && ${#__snapcell_head[2]} <= 9 && ${#__snapcell_head[3]} <= 9)) || builtin exit 0
    local __snapcell_bytes=${__snapcell_head[5]-0}
    ((${#__snapcell_bytes} <= 7)) || builtin exit 0
    __snapcell_take_environment "$__snapcell_bytes"
    __snapcell_take_code "${__snapcell_head[2]}"
    local __snapcell_intact=$?
    __snapcell_give_input "${__snapcell_head[3]}"
    local __snapcell_given=$?
    __snapcell_id=${__snapcell_head[1]}
    BASH_ARGV0="<run $((++__snapcell_number))>"
    if ((__snapcell_intact != 0)); then
        __snapcell_words='the code has a null byte, which no Bash code can have'
        __snapcell_invalid
        return 1
    fi
    ((__snapcell_given == 0)) && return 0
    __snapcell_error InputError 'standard input could not be kept in the temporary folder' '' null
    __snapcell_result error 1 "$REPLY"
    __snapcell_id=''
    return 1
}

# A line of the supervisor's in REPLY. Its end ends this shell. An interrupt may fall in here.
__snapcell_read_line() {
    local piece status
    REPLY=$__snapcell_pending
    __snapcell_pending=''
    [[ $REPLY ]] && return
    while :; do
        IFS= builtin read -r -u 199 piece
        status=$?
        REPLY+=$piece
        ((status == 0)) && return
        ((status > 128)) || builtin exit 0
    done
}

# So many bytes of NAME=VALUE entries, each ended by a null byte, which become variables of the environment.
__snapcell_take_environment() {
    local __snapcell_left=$1 __snapcell_entry LC_ALL=C
    while ((__snapcell_left > 0)); do
        IFS= builtin read -r -d '' -u 199 __snapcell_entry || builtin exit 0
        ((__snapcell_left -= ${#__snapcell_entry} + 1))
        [[ $__snapcell_entry =~ ^[A-Za-z_][A-Za-z_0-9]*= ]] || builtin exit 0
        builtin declare -gx "$__snapcell_entry"
    done
}

# So many bytes into __snapcell_code. False when there is a null byte among them, which bash cannot hold: `read`
# with that byte as its end tells of it, but takes one byte at a time; much code comes through a program.
__snapcell_take_code() {
    local LC_ALL=C left=$1 piece
    __snapcell_code=''
    if (($1 > 4096)); then
        __snapcell_code=$("$__snapcell_head_program" -c "$1" <&199; builtin printf x)
        __snapcell_code=${__snapcell_code%x}
        ((${#__snapcell_code} == $1))
        return
    fi
    ((left == 0)) && return 0
    IFS= builtin read -r -d '' -n "$left" -u 199 __snapcell_code
    ((left -= ${#__snapcell_code}))
    ((left == 0)) && return 0
    while ((--left > 0)); do
        IFS= builtin read -r -d '' -n "$left" -u 199 piece
        ((left -= ${#piece}))
    done
    return 1
}

# Makes descriptor 0 give so many bytes of the supervisor's, or none.
__snapcell_give_input() {
    local name=${TMPDIR:-/tmp}/.snapcell-stdin-$$-$RANDOM status
    if [[ $1 == - ]]; then
        exec </dev/null
        return 0
    fi
    if ! "$__snapcell_head_program" -c "$1" <&199 >|"$name"; then
        "$__snapcell_rm_program" -f "$name"
        return 1
    fi
    exec <"$name"
    status=$?
    "$__snapcell_rm_program" -f "$name"
    return "$status"
}

# The code cannot be parsed: __snapcell_words says why, in bash's own words.
__snapcell_invalid() {
    local __snapcell_line=null __snapcell_message=$__snapcell_words REPLY
    __snapcell_words=${__snapcell_words//: eval: line /: line }
    __snapcell_words=${__snapcell_words//\`"$__snapcell_prefix"/\`}
    if [[ $__snapcell_words =~ :\ line\ ([0-9]+):\ ([^$'\n']*) ]]; then
        __snapcell_line=${BASH_REMATCH[1]} __snapcell_message=${BASH_REMATCH[2]}
    fi
    __snapcell_error SyntaxError "$__snapcell_message" "$__snapcell_words" "$__snapcell_line"
    __snapcell_result syntax_error 1 "$REPLY"
    __snapcell_id=''
}

# With errexit what an interrupt kills may end the shell, in the middle of the unwinding. What stands in a redirection
# is no command, so nothing comes before it.
builtin trap -- '{ __snapcell_on_exit $?; } 2>&$((__snapcell_leaving = 1, 2))' EXIT
builtin trap -- "$__snapcell_on_interrupt" INT
__snapcell_ready="{\"op\":\"ready\",\"protocol\":1,\"language\":\"bash\",\"version\":\"$BASH_VERSION\"}"
__snapcell_say "$__snapcell_ready"
source "$__snapcell_folder/preludes.bash"
