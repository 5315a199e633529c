/* The template: what every cell of the plan sees and cannot change. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "plan/plan_internal.h"

/* Of the host's /etc only what programs need and what says nothing about the host. */
static const char *const ETC[] = {
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "pki/tls/certs",
    "fonts",
    "localtime",
    "timezone",
    "mime.types",
    "protocols",
    "services",
    "rpc",
    "gai.conf",
    "inputrc",
    "bash.bashrc",
    "profile",
    "terminfo",
    "magic",
    "magic.mime",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "perl",
    "matplotlibrc",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-11-openjdk",
    "nodejs",
    "gitconfig.d",
    "ImageMagick-6",
    "ImageMagick-7",
    "texmf",
    "xml",
    "sgml",
    "papersize",
    "paperspecs",
    "os-release",
    "debian_version",
    "lsb-release",
    "locale.alias",
    "skel",
    "ghostscript",
    "libblas.so.3",
    NULL,
};

/* Always ours, whatever the root: they name the cell's one user and nobody else's machine. */
static const struct {
    const char *path, *content;
} MADE_UP[] = {
    {"/etc/group", "root:x:0:\nagent:x:999:\n" SC_CELL_USER ":x:1000:\nnogroup:x:65534:\n"},
    {"/etc/hosts", "127.0.0.1 localhost cell\n::1 localhost ip6-localhost ip6-loopback\n"},
    {"/etc/hostname", "cell\n"},
    {"/etc/resolv.conf",
     "# No network. An address without a route, so that asking fails at once and is counted.\n"
     "nameserver 192.0.2.53\n"},
    {"/etc/nsswitch.conf",
     "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"},
    {"/etc/machine-id", ""},
};
/* With a network the cell's own namespace answers for any address. */
static const char ASKS_NAMES[] = "nameserver 192.0.2.53\n";
static const char PASSWD[] = "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
                             "agent:x:999:999:Snapcell agent:/nonexistent:/usr/sbin/nologin\n" SC_CELL_USER
                             ":x:1000:1000:Cell user:" SC_CELL_HOME ":/bin/bash\n"
                             "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";

#define COPY_MAX (256 * 1024)

static const char *const DEVICES[] = {"null", "zero", "full", "random", "urandom", "tty", NULL};

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static int add_dir(struct sc_plan *plan, const char *path, uint32_t mode)
{
    return sc_plan_add_mount(plan, SC_MOUNT_DIR, path, NULL, NULL, mode);
}

static int add_link(struct sc_plan *plan, const char *path, const char *target)
{
    return sc_plan_add_mount(plan, SC_MOUNT_SYMLINK, path, target, NULL, 0);
}

/* A top-level name of the host: a link stays a link (merged /usr), a folder is bound. */
static int add_top(struct sc_plan *plan, const char *root, const char *name)
{
    char from[PATH_MAX], to[300], target[PATH_MAX];
    struct stat st;
    snprintf(from, sizeof from, "%s/%s", root, name);
    snprintf(to, sizeof to, "/%s", name);
    if (lstat(from, &st) < 0)
        return 0;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(from, target, sizeof target - 1);
        if (n < 0)
            return 0;
        target[n] = '\0';
        return add_link(plan, to, target);
    }
    return S_ISDIR(st.st_mode) ? sc_plan_add_bind(plan, from, to) : 0;
}

static int add_made_up(struct sc_plan *plan)
{
    int r = sc_plan_add_mount(plan, SC_MOUNT_FILE, "/etc/passwd", NULL, PASSWD, 0644);
    for (size_t i = 0; i < sizeof MADE_UP / sizeof MADE_UP[0] && r == 0; i++) {
        bool asks = plan->spec->net.mode != SC_NET_NONE && !strcmp(MADE_UP[i].path, "/etc/resolv.conf");
        r = sc_plan_add_mount(plan, SC_MOUNT_FILE, MADE_UP[i].path, NULL,
                              asks ? ASKS_NAMES : MADE_UP[i].content, 0644);
    }
    return r;
}

/* A small file is copied, all else is bound. */
static int add_shared(struct sc_plan *plan, const char *from, const char *path)
{
    struct stat st;
    if (stat(from, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= COPY_MAX && access(from, R_OK) == 0)
        return sc_plan_add_mount(plan, SC_MOUNT_COPY, path, from, NULL, st.st_mode & 0555);
    return sc_plan_add_bind(plan, from, path);
}

static int add_host_root(struct sc_plan *plan)
{
    static const char *const tops[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
    int r = 0;
    for (size_t i = 0; i < sizeof tops / sizeof tops[0] && r == 0; i++)
        r = add_top(plan, "", tops[i]);
    for (size_t i = 0; ETC[i] && r == 0; i++) {
        char path[128];
        snprintf(path, sizeof path, "/etc/%s", ETC[i]);
        if (exists(path))
            r = add_shared(plan, path, path);
    }
    return r;
}

static bool is_ours(const char *path)
{
    static const char *const ours[] = {"/proc", "/sys", "/dev",   "/tmp",
                                       "/home", "/run", "/.cell", "/etc/passwd"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (!strcmp(path, ours[i]))
            return true;
    for (size_t i = 0; i < sizeof MADE_UP / sizeof MADE_UP[0]; i++)
        if (!strcmp(path, MADE_UP[i].path))
            return true;
    return false;
}

/* All names of one folder of --root, in a fixed order so that equal plans print equally. */
static int add_entries(struct sc_plan *plan, const char *root, const char *folder, struct sc_err *err)
{
    char path[PATH_MAX], inside[PATH_MAX];
    struct dirent **names;
    snprintf(path, sizeof path, "%s%s", root, folder);
    int n = scandir(path, &names, NULL, alphasort);
    if (n < 0)
        return errno == ENOMEM
                   ? -ENOMEM
                   : sc_err_usage(err, "root", "--root %s: cannot be read: %s", path, strerror(errno));
    int r = 0;
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        int len = snprintf(inside, sizeof inside, "%s/%s", folder, name);
        if (r == 0 && len < (int)sizeof inside && strcmp(name, ".") && strcmp(name, "..") &&
            !is_ours(inside) && strcmp(inside, "/etc")) {
            struct stat st;
            char from[PATH_MAX], target[PATH_MAX];
            int whole = snprintf(from, sizeof from, "%s%s", root, inside);
            if (whole < (int)sizeof from && lstat(from, &st) == 0) {
                ssize_t t = S_ISLNK(st.st_mode) ? readlink(from, target, sizeof target - 1) : -1;
                if (t >= 0) {
                    target[t] = '\0';
                    r = add_link(plan, inside, target);
                } else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) {
                    r = add_shared(plan, from, inside);
                }
            }
        }
        free(names[i]);
    }
    free(names);
    return r;
}

static int add_own_root(struct sc_plan *plan, struct sc_err *err)
{
    const char *root = plan->spec->root;
    char etc[PATH_MAX];
    struct stat st;
    int r = add_entries(plan, root, "", err);
    /* A root that a stranger made may have its /etc as a link: out here that would name a folder of the host.
     */
    bool own = snprintf(etc, sizeof etc, "%s/etc", root) < (int)sizeof etc && lstat(etc, &st) == 0 &&
               S_ISDIR(st.st_mode);
    return r == 0 && own ? add_entries(plan, root, "/etc", err) : r;
}

static int add_devices(struct sc_plan *plan)
{
    int r = add_dir(plan, "/dev", 0755);
    for (size_t i = 0; DEVICES[i] && r == 0; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/%s", DEVICES[i]);
        r = sc_plan_add_mount(plan, SC_MOUNT_DEVICE, path, path, NULL, 0);
    }
    static const char *const links[][2] = {{"/dev/fd", "/proc/self/fd"},
                                           {"/dev/stdin", "/proc/self/fd/0"},
                                           {"/dev/stdout", "/proc/self/fd/1"},
                                           {"/dev/stderr", "/proc/self/fd/2"},
                                           {"/dev/ptmx", "pts/ptmx"}};
    for (size_t i = 0; i < sizeof links / sizeof links[0] && r == 0; i++)
        r = add_link(plan, links[i][0], links[i][1]);
    if (r == 0)
        r = add_dir(plan, "/dev/shm", 0755);
    return r == 0 ? add_dir(plan, "/dev/pts", 0755) : r;
}

/* Where the cell's own file systems will stand. */
static int add_places(struct sc_plan *plan)
{
    static const char *const places[] = {"/proc", "/sys", "/run", "/tmp", "/home", SC_CELL_HOME};
    int r = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && r == 0; i++)
        r = add_dir(plan, places[i], 0755);
    if (r == 0 && plan->own_authority)
        r = add_dir(plan, SC_CELL_TRUST_FOLDER, 0755);
    if (r == 0 && !(plan->spec->root && exists(plan->spec->root)))
        r = add_dir(plan, "/var", 0755);
    if (r == 0 && !plan->spec->root)
        r = add_link(plan, "/var/tmp", "../tmp");
    return r;
}

/* `path` is inside `folder`, or is it. */
static bool below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return !strncmp(path, folder, len) && (path[len] == '/' || path[len] == '\0');
}

/* A folder of the host at the same path, unless the root shows it already. */
static int add_same(struct sc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_mounts; i++)
        if (plan->mounts[i].kind == SC_MOUNT_BIND && !strcmp(plan->mounts[i].path, plan->mounts[i].source) &&
            below(path, plan->mounts[i].path))
            return 0;
    return sc_plan_add_bind(plan, path, path);
}

static bool holds_home(const char *folder)
{
    char home[PATH_MAX];
    const char *named = getenv("HOME");
    return named && realpath(named, home) && below(home, folder);
}

/* The folder above the `bin` that `program` lies in, after all links: where an interpreter keeps its library.
 */
static int add_prefix(struct sc_plan *plan, const char *option, const char *program, struct sc_err *err)
{
    char real[PATH_MAX];
    if (!realpath(program, real))
        return errno == ENOMEM ? -ENOMEM
                               : sc_err_usage(err, option, "--%s %s: cannot be resolved: %s", option, program,
                                              strerror(errno));
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(real, '/');
        if (!slash || slash == real)
            return sc_err_usage(err, option,
                                "--%s %s: must lie two folders below / at least, as PREFIX/bin/NAME", option,
                                program);
        *slash = '\0';
    }
    if (holds_home(real))
        return sc_err_usage(err, option,
                            "--%s %s: its prefix %s holds your home folder, which the cell would see whole: "
                            "must lie in a folder of its own, as PREFIX/bin/NAME",
                            option, program, real);
    return add_same(plan, real);
}

static int add_interpreters(struct sc_plan *plan, struct sc_err *err)
{
    const struct sc_spec *spec = plan->spec;
    char python[PATH_MAX];
    int r = 0;
    if (spec->venv) {
        r = add_same(plan, spec->venv);
        snprintf(python, sizeof python, "%s/bin/python", spec->venv);
        if (r == 0)
            r = add_prefix(plan, "venv", python, err);
    }
    if (r == 0 && spec->interpreter)
        r = add_prefix(plan, "interpreter", spec->interpreter, err);
    return r;
}

int sc_plan_root(struct sc_plan *plan, struct sc_err *err)
{
    const struct sc_spec *spec = plan->spec;
    int r = spec->root ? add_own_root(plan, err) : add_host_root(plan);
    if (r == 0)
        r = add_made_up(plan);
    if (r == 0)
        r = add_places(plan);
    if (r == 0)
        r = add_devices(plan);
    if (r == 0)
        r = add_interpreters(plan, err);
    for (size_t i = 0; i < spec->n_dirs && r == 0; i++)
        if (spec->dirs[i].read_only_mount)
            r = sc_plan_add_bind(plan, spec->dirs[i].host, spec->dirs[i].path);
    return r;
}
