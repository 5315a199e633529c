/* What `serve --dev` needs no configuration for: a state folder of its own beside the keeper's socket, with a
 * tenant that may do all, and one key, made anew at each start. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cli/serve.h"
#include "spec/spec.h"

#define TENANT "dev"

static int write_tenants(int folder, struct sc_err *err)
{
    struct sc_buf text;
    sc_buf_init(&text, 4096);
    int r =
        sc_buf_add_str(&text, "{\"version\": 1, \"standard\": {\"operator\": true, \"allow_degraded\": [");
    for (size_t i = 0; SC_DEGRADE_NAMES[i] && r == 0; i++)
        r = sc_buf_printf(&text, "%s\"%s\"", i ? ", " : "", SC_DEGRADE_NAMES[i]);
    if (r == 0)
        r = sc_buf_add_str(&text, "]}}\n");
    int fd =
        r < 0 ? -1
              : openat(folder, "tenants.json", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (r == 0)
        r = fd < 0 ? -errno : sc_write_all(fd, text.data, text.len);
    sc_close(&fd);
    sc_buf_fini(&text);
    return r < 0 ? sc_err_sys(err, r, "serve: tenants.json") : 0;
}

int sc_serve_dev(struct sc_serve_wants *wants, struct sc_err *err)
{
    char folder[PATH_MAX], id[SC_KEY_ID];
    const char *slash = strrchr(wants->socket, '/');
    int len = slash ? (int)(slash - wants->socket) : 1;
    if (wants->state[0])
        return sc_err_usage(err, "state", "state: --dev has a folder of its own; give one of the two");
    snprintf(folder, sizeof folder, "%.*s", len, slash ? wants->socket : ".");
    int n = snprintf(wants->state, sizeof wants->state, "%s/dev", folder);
    if (n < 0 || (size_t)n >= sizeof wants->state)
        return sc_err_usage(err, "socket", "socket: the path is too long");
    if ((mkdir(folder, 0700) < 0 && errno != EEXIST) || (mkdir(wants->state, 0700) < 0 && errno != EEXIST))
        return sc_err_sys(err, -errno, "serve: %s", wants->state);
    int fd = open(wants->state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sc_err_sys(err, -errno, "serve: %s", wants->state);
    (void)unlinkat(fd, SC_KEYS_FILE, 0); /* of the last time */
    int r = write_tenants(fd, err);
    if (r == 0)
        r = sc_keys_add(fd, TENANT, "snapcell serve --dev", 0, wants->key, id, err);
    close(fd);
    return r;
}
