#include "cli/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/http_parts.h"
#include "cli/session.h"

#define KEY_MAX 256
#define WHOLE_MAX ((size_t)256 * 1024 * 1024) /* an answer in one piece, as the keeper bounds it */
#define PROBLEM_MAX ((size_t)1024 * 1024)

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

/* ---- one run ---- */

struct run {
    struct http_answer answer;
    const struct sc_keeper_exchange *exchange;
    bool streams;
    struct sc_buf whole; /* an answer in one piece, or a problem */
    struct sc_cli_lines events;
    json_t *result;
    struct sc_err *err;
    int r; /* of an event */
};

/* From a problem document. */
static int take_problem(const json_t *problem, struct sc_err *err)
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

static int give(struct run *run, enum sc_keeper_stream stream, const void *data, size_t len)
{
    return run->exchange->output && len ? run->exchange->output(run->exchange->output_data, stream, data, len)
                                        : 0;
}

/* The exact bytes, where they are no text. */
static int give_output(struct run *run, enum sc_keeper_stream stream, const json_t *data)
{
    const json_t *exact = json_object_get(data, "b64"), *text = json_object_get(data, "text");
    struct sc_buf bytes;
    if (!json_is_string(exact))
        return json_is_string(text) ? give(run, stream, json_string_value(text), json_string_length(text))
                                    : -EPROTO;
    sc_buf_init(&bytes, json_string_length(exact) + 4);
    int r = sc_b64_decode(&bytes, json_string_value(exact), json_string_length(exact));
    if (r == 0)
        r = give(run, stream, bytes.data, bytes.len);
    sc_buf_fini(&bytes);
    return r;
}

static int give_display(struct run *run, const json_t *data)
{
    char *text = sc_json_dump(data, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    if (!text)
        return -ENOMEM;
    text[len] = '\n'; /* in the place of its NUL */
    int r = give(run, SC_KEEPER_DISPLAYS, text, len + 1);
    free(text);
    return r;
}

static void take_event(void *userdata, const json_t *event)
{
    struct run *run = userdata;
    const char *name = json_string_value(json_object_get(event, "event"));
    json_t *data = json_object_get(event, "data");
    if (run->r < 0)
        return;
    if (!name || !data)
        run->r = -EPROTO;
    else if (!strcmp(name, "stdout"))
        run->r = give_output(run, SC_KEEPER_STDOUT, data);
    else if (!strcmp(name, "stderr"))
        run->r = give_output(run, SC_KEEPER_STDERR, data);
    else if (!strcmp(name, "display"))
        run->r = give_display(run, data);
    else if (!strcmp(name, "error"))
        run->r = take_problem(data, run->err);
    else if (!strcmp(name, "end") && !run->result)
        run->result = json_incref(data);
}

static int take_body(void *userdata, const void *data, size_t len)
{
    struct run *run = userdata;
    if (run->answer.status != 200 || !run->streams)
        return sc_buf_add(&run->whole, data, len);
    int r = sc_cli_lines_add(&run->events, data, len);
    return r < 0 ? r : run->r;
}

/* What was asked for is there, or the story in `err`. */
static int conclude(struct run *run)
{
    json_t *value = NULL;
    json_error_t where;
    const char *text = run->whole.data ? (const char *)run->whole.data : "";
    if (run->answer.status == 200 && run->streams)
        return run->result ? 0 : -EPROTO;
    if (sc_json_load(text, run->whole.len, JSON_ALLOW_NUL, &value, &where) < 0)
        return -EPROTO;
    if (run->answer.status == 200) {
        run->result = value;
        return json_is_object(value) ? 0 : -EPROTO;
    }
    int r = take_problem(value, run->err);
    json_decref(value);
    return r;
}

static int send_request(struct sc_cli_http *http, const char *body, bool streams)
{
    struct sc_buf head;
    sc_buf_init(&head, 4096);
    int r = sc_buf_printf(&head,
                          "POST /v1/run HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\nAccept: %s\r\n",
                          http->host, strlen(body), streams ? "application/x-ndjson" : "application/json");
    if (r == 0 && http->key)
        r = sc_buf_printf(&head, "Authorization: Bearer %s\r\n", http->key);
    if (r == 0)
        r = sc_buf_add_str(&head, "\r\n");
    if (r == 0)
        r = sc_write_all(http->fd, head.data, head.len);
    if (r == 0)
        r = sc_write_all(http->fd, body, strlen(body));
    if (head.data)
        explicit_bzero(head.data, head.len);
    sc_buf_fini(&head);
    /* Who refuses without reading all of it has answered. */
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

static int read_answer(struct sc_cli_http *http, struct run *run)
{
    static char piece[65536];
    int r = 0;
    while (r == 0 && !run->answer.ended) {
        struct pollfd fds[] = {{.fd = http->fd, .events = POLLIN},
                               {.fd = run->exchange->stop_fd, .events = POLLIN}};
        if (poll(fds, run->exchange->stop_fd > 0 ? 2 : 1, -1) < 0) {
            r = errno == EINTR ? 0 : -errno;
            continue;
        }
        if (fds[1].revents)
            return -ECANCELED;
        ssize_t n = read(http->fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        r = n <= 0 ? -EPIPE : http_answer_add(&run->answer, piece, (size_t)n);
    }
    return r;
}

int sc_cli_http_run(struct sc_cli_http *http, json_t *body, bool streams,
                    const struct sc_keeper_exchange *exchange, json_t **ret_result, struct sc_err *err)
{
    struct run run = {.exchange = exchange, .streams = streams, .err = err};
    char *text = sc_json_dump(body, JSON_COMPACT);
    json_decref(body);
    if (!text)
        return sc_err_sys(err, -ENOMEM, "request");
    http_answer_init(&run.answer, take_body, &run);
    sc_buf_init(&run.whole, streams ? PROBLEM_MAX : WHOLE_MAX);
    sc_cli_lines_init(&run.events, take_event, &run);
    int r = send_request(http, text, streams);
    if (r == 0)
        r = read_answer(http, &run);
    if (r == 0)
        r = conclude(&run);
    if (r < 0 && err->kind == SC_ERR_NONE)
        sc_err_set(err, SC_ERR_SANDBOX, r, "url: %s",
                   r == -EPIPE       ? "the service went away; what became of the run is not known"
                   : r == -ECANCELED ? "cancelled"
                   : r == -EPROTO    ? "what answers there is no service of Snapcell"
                                     : strerror(-r));
    *ret_result = r == 0 ? run.result : NULL;
    if (r < 0)
        json_decref(run.result);
    free(text);
    http_answer_fini(&run.answer);
    sc_buf_fini(&run.whole);
    sc_cli_lines_fini(&run.events);
    return r;
}
