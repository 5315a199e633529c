/* libFuzzer target: what strangers send to the egress process. The first byte says which reader gets the
 * rest. Names that come out are clean, answers are bounded and hold the question, and nothing is read behind
 * the end. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns.h"
#include "net/http.h"
#include "net/peek.h"
#include "net/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_clean(const char *name)
{
    char again[SC_NET_NAME_MAX + 1];
    if (strlen(name) > SC_NET_NAME_MAX || !sc_net_name_clean(name, strlen(name), again) ||
        strcmp(name, again) != 0)
        abort();
}

static void try_dns(const uint8_t *data, size_t size)
{
    static const struct sc_addr addr = {true, {0x20, 1}};
    struct sc_dns_query query;
    uint8_t answer[SC_DNS_MESSAGE_MAX];
    char name[SC_NET_NAME_MAX + 1];
    int r = sc_dns_parse(data, size, &query);
    if (r < 0)
        return;
    if (strlen(query.name) > SC_NET_NAME_MAX || (r == 0 && 12 + query.question_len > size))
        abort();
    if (r == 0 && sc_net_name_clean(query.name, strlen(query.name), name))
        must_be_clean(name);
    size_t len = sc_dns_answer(&query, data, SC_DNS_OK, r == 0 ? &addr : NULL, 1, answer);
    if (len < 12 || len > sizeof answer || memcmp(answer, data, 2) != 0)
        abort();
}

/* The same in one piece and byte by byte: what is known does not change by more. */
static void try_peek(const uint8_t *data, size_t size)
{
    char name[SC_NET_NAME_MAX + 1] = "", early[SC_NET_NAME_MAX + 1] = "";
    size_t most = size < SC_PEEK_MAX ? size : SC_PEEK_MAX;
    enum sc_peek whole = sc_peek(data, most, name);
    if (whole == SC_PEEK_NAME)
        must_be_clean(name);
    for (size_t len = 1; len < most && len < 400; len++) {
        enum sc_peek part = sc_peek(data, len, early);
        if (part == SC_PEEK_NAME && (whole != SC_PEEK_NAME || strcmp(name, early) != 0))
            abort();
        if (part != SC_PEEK_MORE)
            break;
    }
}

/* Cut anywhere, the same requests are seen, and the same bytes belong to them. */
static void try_http(const uint8_t *data, size_t size)
{
    struct sc_http whole, parts;
    size_t cut = size ? data[0] % 16 + 1 : 1, done = 0;
    void (*const init)(struct sc_http *, const char *) =
        size && data[0] & 16 ? sc_http_init_doubtful : sc_http_init;
    init(&whole, "example.org");
    init(&parts, "example.org");
    int one = sc_http_feed(&whole, data, size), many = 0;
    while (done < size && many == 0) {
        size_t here = size - done < cut ? size - done : cut;
        many = sc_http_feed(&parts, data + done, here);
        done += here;
    }
    if ((one < 0) != (many < 0) || whole.requests != parts.requests)
        abort();
}

struct allowed {
    size_t requests;
};

static int allow_plain(void *userdata, const struct sc_net_request *request,
                       const struct sc_net_rule **ret_credential)
{
    (void)ret_credential;
    struct allowed *allowed = userdata;
    if (!sc_net_path_is_plain(request->path, request->path_len) || request->method_len == 0)
        abort();
    allowed->requests++;
    return 0;
}

/* Cut anywhere, the same goes on; and read again, what went on is the same requests, none of which is
 * refused. */
static void try_strict(const uint8_t *data, size_t size)
{
    static struct sc_http http;
    struct allowed whole = {0}, parts = {0}, again = {0};
    struct sc_buf one, many, twice;
    size_t cut = size ? data[0] % 16 + 1 : 1;
    int r = 0;
    sc_buf_init(&one, 4 * size + 1);
    sc_buf_init(&many, 4 * size + 1);
    sc_buf_init(&twice, 4 * size + 1);
    sc_http_init_strict(&http, "example.org", allow_plain, &whole);
    int first = sc_http_feed_strict(&http, data, size, &one);
    sc_http_init_strict(&http, "example.org", allow_plain, &parts);
    for (size_t done = 0, here; done < size && r == 0; done += here) {
        here = size - done < cut ? size - done : cut;
        r = sc_http_feed_strict(&http, data + done, here, &many);
    }
    sc_http_init_strict(&http, "example.org", allow_plain, &again);
    if (first != r || whole.requests != parts.requests || one.len != many.len ||
        (one.len && memcmp(one.data, many.data, one.len) != 0))
        abort();
    if (first == 0 && (sc_http_feed_strict(&http, one.data, one.len, &twice) < 0 ||
                       again.requests != whole.requests || twice.len != one.len))
        abort();
    sc_buf_fini(&one);
    sc_buf_fini(&many);
    sc_buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {try_dns, try_peek, try_http, try_strict};
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    uint8_t *exact = realloc(copy, size > 1 ? size - 1 : 1);
    readers[data[0] % 4](exact, size - 1);
    free(exact);
    return 0;
}
