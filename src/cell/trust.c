#include "cell/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/proto.h"
#include "base/fd.h"
#include "base/frame.h"

#define SYSTEM_MAX (900 * 1024) /* the place in the cell has a megabyte */

/* Where Debian, Fedora, SUSE and Alpine have them. */
static const char *const BUNDLES[] = {"/etc/ssl/certs/ca-certificates.crt",
                                      "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                      "/etc/ssl/cert.pem"};

static int read_system(struct sc_buf *system, struct sc_err *err)
{
    for (size_t i = 0; i < sizeof BUNDLES / sizeof BUNDLES[0]; i++) {
        int r = sc_buf_read_file(system, AT_FDCWD, BUNDLES[i]);
        if (r == 0)
            return 0;
        if (r != -ENOENT)
            return sc_err_sys(err, r, "reading %s", BUNDLES[i]);
    }
    return 0;
}

static int read_own(struct sc_buf *roots, struct sc_err *err)
{
    const char *path = getenv(SC_TRUST_VARIABLE);
    if (!path || !*path)
        return 0;
    int r = sc_buf_read_file(roots, AT_FDCWD, path);
    return r < 0 ? sc_err_set(err, SC_ERR_HOST, r, SC_TRUST_VARIABLE "=%s: cannot be read: %s", path,
                              strerror(-r))
                 : 0;
}

int sc_trust_open(struct sc_trust *ret_trust, struct sc_err *err)
{
    struct sc_trust trust = SC_TRUST_NONE;
    struct sc_buf roots;
    sc_buf_init(&trust.system, SYSTEM_MAX);
    sc_buf_init(&roots, 2 * SYSTEM_MAX);
    int r = read_system(&trust.system, err);
    if (r == 0)
        r = read_own(&roots, err);
    if (r == 0 && (sc_buf_add_str(&roots, "\n") < 0 ||
                   (trust.system.len && sc_buf_add(&roots, trust.system.data, trust.system.len) < 0)))
        r = sc_err_sys(err, -ENOMEM, "certificates");
    if (r == 0 && roots.len == 1)
        r = sc_err_set(
            err, SC_ERR_HOST, -ENOENT,
            "network: requests over TLS need authorities that upstreams are trusted by, and this host "
            "has none: install ca-certificates, or name a file by " SC_TRUST_VARIABLE);
    if (r == 0) {
        trust.roots = sc_memfd_sealed("snapcell-roots", roots.data, roots.len);
        r = trust.roots < 0 ? sc_err_sys(err, trust.roots, "certificates") : 0;
    }
    sc_buf_fini(&roots);
    if (r < 0) {
        sc_trust_close(&trust);
        return r;
    }
    *ret_trust = trust;
    return 0;
}

void sc_trust_close(struct sc_trust *trust)
{
    sc_buf_fini(&trust->system);
    sc_close(&trust->roots);
}

static int say_all(int control, const void *data, size_t len)
{
    int r = 0;
    for (const char *at = data; r == 0 && len > 0;) {
        size_t n = len < SC_FRAME_MAX ? len : SC_FRAME_MAX;
        r = sc_frame_send(control, SC_MSG_DATA, 0, at, n);
        at += n;
        len -= n;
    }
    return r;
}

int sc_trust_lay(int control, const struct sc_trust *trust, const char *authority, struct sc_err *err)
{
    int r = sc_frame_send(control, SC_MSG_TRUST, 0, NULL, 0);
    if (r == 0)
        r = say_all(control, authority, strlen(authority));
    if (r == 0)
        r = say_all(control, trust->system.data, trust->system.len);
    if (r == 0)
        r = sc_frame_send(control, SC_MSG_CLOSE, 0, NULL, 0);
    if (r == -EAGAIN)
        return sc_err_sys(err, -ETIMEDOUT, "the agent does not take its certificates");
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}
