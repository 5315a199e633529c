/* What a script of Bash does: the commands it runs, whatever way their names are written. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "check/bindings.h"
#include "check/reading.h"

#define USE_DYNAMIC_COMMAND "?dynamic-command"
#define USE_SHELL_TEXT "?shell-text" /* a shell or interpreter is given text to run */
#define USE_NETWORK_FILE "?network-file"
#define USE_WRITE_OUTSIDE "?write-outside"

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

/* ---- values: what words come to ---- */

/* A text being put together. */
struct room {
    char text[SC_VALUE_TEXT_MAX];
    size_t len;
    bool full; /* or not known */
};

static void put(struct room *room, char c)
{
    if (room->len == sizeof room->text || !c)
        room->full = true;
    else
        room->text[room->len++] = c;
}

static const char *text_in(struct sc_reading *reading, const struct room *room)
{
    return room->full ? NULL : sc_pool_text(&reading->pool, room->text, room->len);
}

/* Outside quotes a backslash takes the next character as it is; one before a line end takes both away. */
static const char *unescaped(struct sc_reading *reading, const char *text, size_t len, const char *special)
{
    struct room room = {.len = 0};
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' && i + 1 < len && (!special || strchr(special, text[i + 1]))) {
            i++;
            if (text[i] == '\n')
                continue;
        }
        put(&room, text[i]);
    }
    return text_in(reading, &room);
}

/* $'…' */
static const char *ansi_c(struct sc_reading *reading, const char *text, size_t len)
{
    static const char from[] = "abefnrtv", to[] = "\a\b\033\f\n\r\t\v";
    struct room room = {.len = 0};
    for (size_t i = 2; i + 1 < len; i++) {
        if (text[i] != '\\') {
            put(&room, text[i]);
            continue;
        }
        char digits[5] = "";
        char c = text[++i];
        const char *simple = strchr(from, c);
        size_t n = 0, most = c == 'u' ? 4 : 2;
        if (c == 'x' || c == 'u') {
            while (n < most && i + 1 < len && isxdigit((unsigned char)text[i + 1]))
                digits[n++] = text[++i];
            put(&room, (char)strtoul(digits, NULL, 16));
        } else if (c >= '0' && c <= '7') {
            digits[n++] = c;
            while (n < 3 && i + 1 < len && text[i + 1] >= '0' && text[i + 1] <= '7')
                digits[n++] = text[++i];
            put(&room, (char)strtoul(digits, NULL, 8));
        } else {
            put(&room, simple && c ? to[simple - from] : c);
        }
    }
    return text_in(reading, &room);
}

/* Parts side by side: e"va"l. */
static const char *concatenated(struct sc_reading *reading, uint32_t node)
{
    struct room room = {.len = 0};
    for (uint32_t child = sc_tree_first(&reading->tree, node); child != SC_NO_NODE;
         child = sc_tree_next(&reading->tree, child)) {
        const char *text = sc_reading_constant(reading, child);
        if (!text)
            return NULL;
        while (*text)
            put(&room, *text++);
    }
    return text_in(reading, &room);
}

/* "…": only what has nothing put in but constants. Without a child it is empty. */
static const char *quoted(struct sc_reading *reading, uint32_t node)
{
    return sc_tree_first(&reading->tree, node) == SC_NO_NODE ? sc_pool_text(&reading->pool, "", 0)
                                                             : concatenated(reading, node);
}

static void variable_value(struct sc_reading *reading, uint32_t expansion, struct sc_values *values)
{
    uint32_t name = sc_tree_first(&reading->tree, expansion);
    size_t len;
    values->other = true;
    if (sc_reading_kind(reading, name) != SC_KIND_VARIABLE_NAME ||
        sc_tree_next(&reading->tree, name) != SC_NO_NODE)
        return;
    const char *text = sc_reading_text(reading, name, &len);
    const struct sc_meaning *meaning =
        sc_binding_meaning(reading, 0, sc_pool_text(&reading->pool, text, len));
    if (meaning && meaning->is_bound)
        *values = meaning->values;
}

static const char *text_value(struct sc_reading *reading, uint32_t node)
{
    size_t len;
    const char *text = sc_reading_text(reading, node, &len);
    switch (sc_reading_kind(reading, node)) {
    case SC_KIND_WORD:
    case SC_KIND_NUMBER:
        return unescaped(reading, text, len, NULL);
    case SC_KIND_STRING_CONTENT:
        return unescaped(reading, text, len, "$`\"\\\n");
    case SC_KIND_RAW_STRING:
        return len >= 2 && len < SC_VALUE_TEXT_MAX ? sc_pool_text(&reading->pool, text + 1, len - 2) : NULL;
    case SC_KIND_ANSI_C_STRING:
        return ansi_c(reading, text, len);
    case SC_KIND_STRING:
        return quoted(reading, node);
    case SC_KIND_CONCATENATION:
        return concatenated(reading, node);
    default:
        return NULL;
    }
}

static void bash_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    switch (sc_reading_kind(reading, node)) {
    case SC_KIND_COMMAND_NAME:
        sc_values_join(values, sc_reading_value(reading, sc_tree_first(&reading->tree, node)));
        break;
    case SC_KIND_SIMPLE_EXPANSION:
    case SC_KIND_EXPANSION:
        variable_value(reading, node, values);
        break;
    default: {
        const char *text = text_value(reading, node);
        if (text)
            sc_values_add(values, SC_VALUE_TEXT, text);
        else
            values->other = true;
    }
    }
}

/* ---- variables ---- */

static void bind(struct sc_reading *reading, uint32_t name, uint32_t value)
{
    size_t len;
    const char *text = sc_reading_text(reading, name, &len);
    struct sc_binding binding = {
        .how = value == SC_NO_NODE ? SC_BIND_OWN : SC_BIND_VALUE, .node = value, .at = name};
    binding.what = sc_pool_text(&reading->pool, text, len);
    sc_binding_add(reading, &binding);
}

/* x+=y, and what commands like `read` set, is not known. */
static void bind_node(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    size_t len;
    uint32_t name = sc_tree_field(tree, node, SC_FIELD_NAME),
             value = sc_tree_field(tree, node, SC_FIELD_VALUE);
    switch (sc_reading_kind(reading, node)) {
    case SC_KIND_VARIABLE_ASSIGNMENT:
        if (sc_reading_kind(reading, name) == SC_KIND_VARIABLE_NAME) {
            bool adds = value != SC_NO_NODE && tree->nodes[value].start - tree->nodes[name].end > 1;
            bind(reading, name, adds ? SC_NO_NODE : value);
        }
        break;
    case SC_KIND_VARIABLE_NAME:
        if (sc_reading_kind(reading, tree->nodes[node].parent) == SC_KIND_FOR_STATEMENT)
            bind(reading, node, SC_NO_NODE);
        break;
    case SC_KIND_WORD:
        /* An argument may name a variable that its command sets. */
        sc_reading_text(reading, node, &len);
        if (sc_reading_kind(reading, tree->nodes[node].parent) == SC_KIND_COMMAND && len < 64)
            bind(reading, node, SC_NO_NODE);
        break;
    default:
        break;
    }
}

static void bash_bind(struct sc_reading *reading)
{
    sc_scope_add(reading, SC_NO_NODE, 0, SC_SCOPE_MODULE);
    for (uint32_t node = 0; node < reading->tree.n; node++)
        bind_node(reading, node);
}

/* ---- commands ---- */

static const char *const SHELLS[] = {"sh",   "bash", "dash", "zsh", "ksh", "python", "python3",
                                     "perl", "node", "ruby", "awk", "php", NULL};
/* Commands that run the command in their arguments. */
static const char *const WRAPPERS[] = {"command", "builtin", "env",     "exec",   "nohup",  "time",    "sudo",
                                       "xargs",   "nice",    "timeout", "stdbuf", "setsid", "busybox", "doas",
                                       "ionice",  "chrt",    "unshare", "flock",  "coproc", NULL};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool is_argument(const struct sc_reading *reading, uint32_t node)
{
    return reading->tree.nodes[node].field == SC_FIELD_ARGUMENT;
}

static void use_command(struct sc_reading *reading, uint32_t node, uint32_t word);

/* The command behind a wrapper's options, assignments and numbers. */
static void use_wrapped(struct sc_reading *reading, uint32_t command, uint32_t word)
{
    for (uint32_t at = sc_tree_next(&reading->tree, word); at != SC_NO_NODE;
         at = sc_tree_next(&reading->tree, at)) {
        const char *text = sc_reading_constant(reading, at);
        if (!is_argument(reading, at) ||
            (text && (text[0] == '-' || isdigit((unsigned char)text[0]) || strchr(text, '='))))
            continue;
        use_command(reading, command, at);
        return;
    }
}

/* find … -exec COMMAND */
static void use_after_exec(struct sc_reading *reading, uint32_t command, uint32_t word)
{
    static const char *const options[] = {"-exec", "-execdir", "-ok", "-okdir", NULL};
    for (uint32_t at = sc_tree_next(&reading->tree, word); at != SC_NO_NODE;
         at = sc_tree_next(&reading->tree, at)) {
        const char *text = sc_reading_constant(reading, at);
        uint32_t next = sc_tree_next(&reading->tree, at);
        if (text && is_one_of(text, options) && next != SC_NO_NODE)
            use_command(reading, command, next);
    }
}

/* sh -c TEXT, … | sh, sh <<< TEXT, bash <(…) */
static bool is_given_text(struct sc_reading *reading, uint32_t command, uint32_t word)
{
    static const char *const options[] = {"-c", "-e", "-s", "-", "-E", "-lc", "-ic", "/dev/stdin", NULL};
    const struct sc_tree *tree = &reading->tree;
    bool has_operand = false;
    for (uint32_t at = sc_tree_next(tree, word); at != SC_NO_NODE; at = sc_tree_next(tree, at)) {
        const char *text = sc_reading_constant(reading, at);
        if ((text && is_one_of(text, options)) ||
            sc_reading_kind(reading, at) == SC_KIND_PROCESS_SUBSTITUTION ||
            sc_reading_kind(reading, at) == SC_KIND_HERESTRING_REDIRECT)
            return true;
        has_operand |= is_argument(reading, at) && !(text && text[0] == '-');
    }
    uint32_t above = sc_reading_parent(reading, command);
    if (has_operand || above == SC_NO_NODE)
        return false;
    if (sc_reading_kind(reading, above) == SC_KIND_REDIRECTED_STATEMENT)
        return true;
    return sc_reading_kind(reading, above) == SC_KIND_PIPELINE && sc_tree_first(tree, above) != command;
}

static void use_named(struct sc_reading *reading, uint32_t command, uint32_t word, const char *name)
{
    sc_reading_use(reading, word, sc_pool_text(&reading->pool, name, strlen(name)));
    if (is_one_of(name, WRAPPERS))
        use_wrapped(reading, command, word);
    if (!strcmp(name, "find"))
        use_after_exec(reading, command, word);
    if (is_one_of(name, SHELLS) && is_given_text(reading, command, word))
        sc_reading_use_as(reading, word, USE_SHELL_TEXT, name);
}

static void use_command(struct sc_reading *reading, uint32_t command, uint32_t word)
{
    const struct sc_values *names = sc_reading_value(reading, word);
    /* A wrapper of a wrapper of a wrapper: as deep as a command has words. */
    if (reading->depth > 100)
        return;
    reading->depth++;
    for (uint8_t i = 0; i < names->n; i++)
        use_named(reading, command, word, base_name(names->v[i].text));
    reading->depth--;
    if (names->n == 0 || names->other)
        sc_reading_use_as(reading, word, USE_DYNAMIC_COMMAND, "a computed command");
}

/* ((x > 1)) computes and runs nothing, though the grammar has it as a command's name. */
static bool is_arithmetic(const struct sc_reading *reading, uint32_t name)
{
    size_t len;
    return sc_reading_kind(reading, sc_tree_first(&reading->tree, name)) == SC_KIND_ARITHMETIC_EXPANSION &&
           sc_reading_text(reading, name, &len)[0] == '(';
}

/* A command that is nothing but an assignment has no name. */
static void walk_command(struct sc_reading *reading, uint32_t node)
{
    uint32_t name = sc_tree_field(&reading->tree, node, SC_FIELD_NAME);
    if (name != SC_NO_NODE && !is_arithmetic(reading, name))
        use_command(reading, node, name);
}

static bool writes(const struct sc_reading *reading, uint32_t redirect)
{
    size_t len;
    const char *text = sc_reading_text(reading, redirect, &len);
    return memchr(text, '>', len < 4 ? len : 4);
}

static void walk_redirect(struct sc_reading *reading, uint32_t node)
{
    uint32_t to = sc_tree_field(&reading->tree, node, SC_FIELD_DESTINATION);
    const struct sc_values *paths = sc_reading_value(reading, to);
    for (uint8_t i = 0; i < paths->n; i++) {
        const char *path = paths->v[i].text;
        if (!strncmp(path, "/dev/tcp/", 9) || !strncmp(path, "/dev/udp/", 9))
            sc_reading_use_as(reading, node, USE_NETWORK_FILE, path);
        else if (sc_path_is_outside(path) && writes(reading, node))
            sc_reading_use_as(reading, node, USE_WRITE_OUTSIDE, path);
    }
    if (paths->n == 0 && to != SC_NO_NODE) {
        /* /dev/tcp/$host/80: the beginning tells. */
        size_t len;
        const char *text = sc_reading_text(reading, to, &len);
        if (len > 5 && (!strncmp(text + (text[0] == '"'), "/dev/tcp/", 9) || !strncmp(text, "/dev/udp/", 9)))
            sc_reading_use_as(reading, node, USE_NETWORK_FILE, "/dev/tcp");
    }
}

static void bash_walk(struct sc_reading *reading)
{
    for (uint32_t node = 0; node < reading->tree.n; node++)
        switch (sc_reading_kind(reading, node)) {
        case SC_KIND_COMMAND:
            walk_command(reading, node);
            break;
        case SC_KIND_FILE_REDIRECT:
            walk_redirect(reading, node);
            break;
        default:
            break;
        }
}

const struct sc_reader SC_READER_BASH = {bash_bind, bash_value, bash_walk, NULL};
