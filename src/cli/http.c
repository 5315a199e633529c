/* Where a service is, and how a request to it begins. */
#include "cli/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/http_parts.h"

#define KEY_MAX 256

/* ---- where it is ---- */

static int wrong_url(const char *url, struct sc_err *err)
{
    return sc_err_usage(err, "url",
                        "url: %.200s: allowed are unix:///PATH and http://ADDRESS:PORT with 127.0.0.1, "
                        "localhost or [::1]",
                        url);
}

static int connect_unix(struct sc_cli_http *http, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path)
        return -ENAMETOOLONG;
    strcpy(to.sun_path, path);
    http->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (http->fd < 0 || connect(http->fd, (struct sockaddr *)&to, sizeof to) < 0)
        return -errno;
    snprintf(http->host, sizeof http->host, "snapcell");
    return 0;
}

static int connect_loopback(struct sc_cli_http *http, const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(address, port, &hints, &found) != 0)
        return -EINVAL;
    http->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = http->fd < 0 || connect(http->fd, found->ai_addr, found->ai_addrlen) < 0 ? -errno : 0;
    freeaddrinfo(found);
    return r;
}

/* http://NAME:PORT, with or without a slash behind it. */
static int connect_http(struct sc_cli_http *http, const char *url, struct sc_err *err)
{
    static const struct {
        const char *name, *address;
    } names[] = {{"127.0.0.1:", "127.0.0.1"}, {"localhost:", "127.0.0.1"}, {"[::1]:", "::1"}};
    const char *at = url + strlen("http://");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i].name), digits;
        char port[6];
        if (strncmp(at, names[i].name, len) != 0)
            continue;
        digits = strspn(at + len, "0123456789");
        if (digits == 0 || digits > 5 || (at[len + digits] && strcmp(at + len + digits, "/") != 0))
            return wrong_url(url, err);
        snprintf(port, sizeof port, "%.*s", (int)digits, at + len);
        snprintf(http->host, sizeof http->host, "%.*s", (int)(len + digits), at);
        int r = connect_loopback(http, names[i].address, port);
        return r == -EINVAL ? wrong_url(url, err) : r;
    }
    return wrong_url(url, err);
}

/* ---- the key ---- */

static int read_key(struct sc_cli_http *http, const char *path, struct sc_err *err)
{
    char text[KEY_MAX + 2];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int r = sc_err_usage(err, "key-file", "key-file: %s: must be a file that can be read: %s", path,
                             strerror(errno));
        sc_close(&fd);
        return r;
    }
    ssize_t n = S_ISREG(st.st_mode) && !(st.st_mode & 077) ? read(fd, text, sizeof text - 1) : -1;
    sc_close(&fd);
    if (n < 0)
        return sc_err_usage(err, "key-file",
                            "key-file: %s: must be a file that only its owner may read (mode 0600)", path);
    text[n] = '\0';
    size_t len = strcspn(text, "\n");
    bool one_line = len > 0 && len <= KEY_MAX && (text[len] == '\0' || text[len + 1] == '\0');
    text[len] = '\0';
    for (size_t i = 0; i < len; i++)
        one_line = one_line && text[i] > ' ' && text[i] < 127;
    http->key = one_line ? strdup(text) : NULL;
    explicit_bzero(text, sizeof text);
    if (!one_line)
        return sc_err_usage(err, "key-file", "key-file: %s: must hold one key, on one line", path);
    return http->key ? 0 : sc_err_sys(err, -ENOMEM, "key");
}

int sc_cli_http_open(const char *url, const char *key_file, struct sc_cli_http **ret_http, struct sc_err *err)
{
    static const char unix_scheme[] = "unix://";
    struct sc_cli_http *http = calloc(1, sizeof *http);
    if (!http)
        return sc_err_sys(err, -ENOMEM, "url");
    http->fd = -1;
    int r = key_file ? read_key(http, key_file, err) : 0;
    if (r == 0 && !strncmp(url, unix_scheme, strlen(unix_scheme)) && url[strlen(unix_scheme)] == '/')
        r = connect_unix(http, url + strlen(unix_scheme));
    else if (r == 0 && !strncmp(url, "http://", strlen("http://")))
        r = connect_http(http, url, err);
    else if (r == 0)
        r = wrong_url(url, err);
    if (r < 0 && err->kind == SC_ERR_NONE)
        sc_err_set(err, SC_ERR_HOST, r, "url: %.200s: nobody serves there: %s", url, strerror(-r));
    if (r < 0)
        sc_cli_http_close(http);
    else
        *ret_http = http;
    return r;
}

void sc_cli_http_close(struct sc_cli_http *http)
{
    if (!http)
        return;
    sc_close(&http->fd);
    if (http->key)
        explicit_bzero(http->key, strlen(http->key));
    free(http->key);
    free(http);
}

/* ---- what every request has ---- */

int http_add_head(struct sc_buf *head, const struct sc_cli_http *http, const char *target, const char *type,
                  const char *accept, size_t length)
{
    int r = sc_buf_printf(head,
                          "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n"
                          "Content-Length: %zu\r\nAccept: %s\r\n",
                          target, http->host, type, length, accept);
    if (r == 0 && http->key)
        r = sc_buf_printf(head, "Authorization: Bearer %s\r\n", http->key);
    return r == 0 ? sc_buf_add_str(head, "\r\n") : r;
}

void http_forget(struct sc_buf *head)
{
    if (head->data)
        explicit_bzero(head->data, head->len);
    sc_buf_fini(head);
}

int http_take_problem(const json_t *problem, struct sc_err *err)
{
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *field = json_string_value(json_object_get(problem, "field"));
    json_int_t status = json_integer_value(json_object_get(problem, "status"));
    if (!detail)
        return sc_err_set(err, SC_ERR_SANDBOX, -EPROTO, "url: what answers there is no service of Snapcell");
    if (status >= 400 && status < 500 && status != 429)
        return sc_err_usage(err, field ? field : "", "%s", detail);
    return sc_err_set(err, status == 500 ? SC_ERR_SANDBOX : SC_ERR_HOST, -EAGAIN, "%s", detail);
}
