# What the context's variables are, as JSON, without any program's help and in bounded time.

declare -A __snapcell_initial=() # names that are not the user's

# Texts that are valid UTF-8, read as bytes.
__snapcell_tail=$'[\x80-\xbf]'
__snapcell_utf8="^([^"$'\x80-\xff'"]|"$'[\xc2-\xdf]'"$__snapcell_tail|"$'\xe0[\xa0-\xbf]'"$__snapcell_tail|"
__snapcell_utf8+=$'[\xe1-\xec\xee\xef]'"$__snapcell_tail$__snapcell_tail|"$'\xed[\x80-\x9f]'"$__snapcell_tail|"
__snapcell_utf8+=$'\xf0[\x90-\xbf]'"$__snapcell_tail$__snapcell_tail|"
__snapcell_utf8+=$'[\xf1-\xf3]'"$__snapcell_tail$__snapcell_tail$__snapcell_tail|"
__snapcell_utf8+=$'\xf4[\x80-\x8f]'"$__snapcell_tail$__snapcell_tail)*\$"

# TEXT MOST: the text, cut to so many bytes, as a JSON string in REPLY. The caller has LC_ALL=C, so that characters
# are bytes; changing it here, for each text, takes longer than the rest.
__snapcell_json() {
    local text=$1 code code_text hex
    ((${#text} > $2)) && __snapcell_cut "$2"
    if [[ $text == *[$'\x80'-$'\xff']* && ! $text =~ $__snapcell_utf8 ]]; then
        text=${text//[$'\x80'-$'\xff']/$'\xef\xbf\xbd'}
    fi
    text=${text//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\n'/\\n}
    text=${text//$'\t'/\\t}
    if [[ $text == *[$'\x01'-$'\x1f']* ]]; then
        for ((code = 1; code < 32; code++)); do
            builtin printf -v hex '%02x' "$code"
            builtin printf -v hex "\\x$hex"
            [[ $text == *"$hex"* ]] || continue
            builtin printf -v code_text '\\u%04x' "$code"
            text=${text//"$hex"/"$code_text"}
        done
    fi
    REPLY=\"$text\"
}

# Cuts the caller's `text` to so many bytes, an ellipsis included, at the end of a character.
__snapcell_cut() {
    local end
    text=${text:0:$1-3}
    for end in 1 2 3; do
        text=${text%[$'\x80'-$'\xbf']}
    done
    text=${text%[$'\xc0'-$'\xff']}$'\xe2\x80\xa6'
}

# All variables whose names begin with a letter, in the array __snapcell_names of the caller.
__snapcell_list_names() {
    local __snapcell_letter __snapcell_words=''
    for __snapcell_letter in {a..z} {A..Z}; do
        __snapcell_words+=" \"\${!$__snapcell_letter@}\""
    done
    builtin eval "__snapcell_names=($__snapcell_words)"
}

__snapcell_note_initial() {
    local __snapcell_name __snapcell_names
    __snapcell_list_names
    for __snapcell_name in "${__snapcell_names[@]}" BASH_REMATCH \
        FUNCNAME LC_ALL OLDPWD OPTARG OPTIND PIPESTATUS REPLY; do
        __snapcell_initial[$__snapcell_name]=1
    done
}

# The user's variables as a JSON object, in __snapcell_locals of the caller. No local variable here or in its
# callers may have a name that a user's might have: it would stand before the user's.
__snapcell_tell_locals() {
    local __snapcell_names __snapcell_name REPLY IFS=' ' __snapcell_left=1048576 __snapcell_count=0
    __snapcell_locals=''
    __snapcell_list_names
    for __snapcell_name in "${__snapcell_names[@]}"; do
        [[ ${__snapcell_initial[$__snapcell_name]-} ]] && continue
        ((++__snapcell_count > 1000)) && break
        __snapcell_text "$__snapcell_name"
        __snapcell_json "$REPLY" 4096
        ((__snapcell_left -= ${#__snapcell_name} + ${#REPLY}, __snapcell_left < 0)) && break
        __snapcell_locals+=",\"$__snapcell_name\":$REPLY"
    done
    __snapcell_locals="{${__snapcell_locals#,}}"
}

# NAME: its value in REPLY; of an array its beginning, as bash would take it.
__snapcell_text() {
    local -n __snapcell_variable=$1
    local __snapcell_key
    if [[ ${__snapcell_variable@a} != *[aA]* ]]; then
        REPLY=${__snapcell_variable-}
        REPLY=${REPLY:0:4200}
        return
    fi
    if ((${#__snapcell_variable[@]} > 1000)); then
        REPLY="(${#__snapcell_variable[@]} elements)"
        return
    fi
    REPLY=''
    for __snapcell_key in "${!__snapcell_variable[@]}"; do
        REPLY+=" [${__snapcell_key:0:200}]=${__snapcell_variable[$__snapcell_key]:0:4200}"
        ((${#REPLY} > 4200)) && break
    done
    REPLY="(${REPLY# })"
}
