/* Names of Python's standard library that lead to the same thing. */
#include <stdlib.h>
#include <string.h>

#include "check/python.h"
#include "stdlib.gen.h"

struct same {
    const char *name, *means;
};

/* Longest match first where one begins with another. */
static const struct same SAME[] = {
    {"__builtin__", "builtins"},
    {"__builtins__", "builtins"},
    {"builtins.__builtins__", "builtins"},
    {"_frozen_importlib", "importlib"},
    {"_frozen_importlib_external", "importlib"},
    {"_imp", "importlib"},
    {"imp", "importlib"},
    {"_io", "io"},
    {"_pyio", "io"},
    {"_pickle", "pickle"},
    {"cPickle", "pickle"},
    {"_posixsubprocess", "subprocess"},
    {"_posixshmem", "multiprocessing"},
    {"_socket", "socket"},
    {"_ssl", "ssl"},
    {"_ctypes", "ctypes"},
    {"_thread", "threading"},
    /* The same under other names. */
    {"io.open", "builtins.open"},
    {"io.open_code", "builtins.open"},
    {"io.FileIO", "builtins.open"},
    {"codecs.open", "builtins.open"},
    {"json.codecs.open", "builtins.open"},
    {"tokenize.open", "builtins.open"},
    {"fileinput.input", "builtins.open"},
    {"fileinput.FileInput", "builtins.open"},
    {"linecache.getline", "builtins.open"},
    {"linecache.getlines", "builtins.open"},
    {"builtins.object.__setattr__", "builtins.setattr"},
    {"builtins.type.__setattr__", "builtins.setattr"},
    {"builtins.super().__setattr__", "builtins.setattr"},
    {"builtins.object.__delattr__", "builtins.delattr"},
    {"asyncio.create_subprocess_exec", "subprocess.Popen"},
    {"asyncio.create_subprocess_shell", "subprocess.Popen"},
    {"asyncio.subprocess.create_subprocess_exec", "subprocess.Popen"},
    {"asyncio.subprocess.create_subprocess_shell", "subprocess.Popen"},
    {"nt", "os"},
    {"posix", "os"},
    {"posixpath", "os.path"},
    {"ntpath", "os.path"},
    {"genericpath", "os.path"},
    {"six.moves.builtins", "builtins"},
};

static const char *renamed(struct sc_reading *reading, const char *name)
{
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++) {
        size_t len = strlen(SAME[i].name);
        if (!strncmp(name, SAME[i].name, len) && (name[len] == '\0' || name[len] == '.'))
            return sc_pool_printf(&reading->pool, "%s%s", SAME[i].means, name + len);
    }
    return name;
}

/* Modules that other modules carry along as an attribute, often behind an underscore. */
static bool is_carried(const char *part, size_t len)
{
    static const char *const carried[] = {"os",     "sys",    "subprocess", "builtins", "importlib",
                                          "ctypes", "pickle", "shutil",     "posix",    "socket"};
    for (size_t i = 0; i < sizeof carried / sizeof carried[0]; i++)
        if (strlen(carried[i]) == len && !memcmp(part, carried[i], len))
            return true;
    return false;
}

/* "random._os.sep" → "os.sep". socket.socket is a class, asyncio.subprocess a module of its own. */
static const char *hopped(struct sc_reading *reading, const char *name)
{
    const char *from = name, *before = name;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *part = dot + 1;
        while (*part == '_')
            part++;
        size_t len = strcspn(part, ".");
        bool repeats = !strncmp(before, part, len) && (before[len] == '.' || before[len] == '\0');
        if (is_carried(part, len) && !repeats && strncmp(name, "asyncio.subprocess", 18) != 0 &&
            strncmp(name, "builtins.", 9) != 0)
            from = part;
        before = part;
    }
    return from == name ? name : sc_pool_text(&reading->pool, from, strlen(from));
}

/* A built-in function belongs to its module: print.__self__ is builtins. */
static const char *unbound(struct sc_reading *reading, const char *name)
{
    const char *self = strstr(name, ".__self__");
    if (strncmp(name, "builtins.", 9) != 0 || !self || (self[9] != '\0' && self[9] != '.'))
        return name;
    return sc_pool_printf(&reading->pool, "builtins%s", self + 9);
}

const char *sc_python_canonical(struct sc_reading *reading, const char *name)
{
    const char *plain = strchr(name, '.') ? unbound(reading, hopped(reading, name)) : name;
    return renamed(reading, plain);
}

static int by_text(const void *key, const void *entry)
{
    return strcmp(key, *(const char *const *)entry);
}

bool sc_python_is_stdlib(const char *name, size_t len)
{
    char room[64];
    if (len >= sizeof room)
        return false;
    memcpy(room, name, len);
    room[len] = '\0';
    return bsearch(room, STDLIB_MODULES, sizeof STDLIB_MODULES / sizeof STDLIB_MODULES[0],
                   sizeof STDLIB_MODULES[0], by_text);
}
