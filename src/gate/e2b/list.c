/* GET /v2/sandboxes: filters, order, pages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "gate/e2b/e2b.h"

#define PAGE_STANDARD 100
#define PAGE_MOST 1000
#define FILTERS_MAX 32

struct wanted {
    char *metadata[2 * FILTERS_MAX]; /* names and values */
    size_t n_metadata;
    char *template_id, *after; /* or NULL */
    bool running, paused;
    size_t limit;
    bool pages; /* also tells of the next one */
};

static void free_wanted(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct wanted *wanted = call->state;
    for (size_t i = 0; i < 2 * wanted->n_metadata; i++)
        free(wanted->metadata[i]);
    free(wanted->template_id);
    free(wanted->after);
    free(wanted);
}

/* "k=v&k2=v2", in which each part is encoded twice: once as a form, once before that. */
static int read_metadata(struct wanted *wanted, char *form)
{
    char *pair;
    while ((pair = strsep(&form, "&"))) {
        char *value = strchr(pair, '=');
        if (!*pair)
            continue;
        if (!value || wanted->n_metadata == FILTERS_MAX)
            return -EINVAL;
        *value++ = '\0';
        if (text_unescape(pair, true) < 0 || text_unescape(value, true) < 0 ||
            text_unescape(pair, false) < 0 || text_unescape(value, false) < 0)
            return -EINVAL;
        wanted->metadata[2 * wanted->n_metadata] = strdup(pair);
        wanted->metadata[2 * wanted->n_metadata++ + 1] = strdup(value);
    }
    return 0;
}

/* Given several times, or with commas. */
static int read_states(struct request *request, struct wanted *wanted)
{
    char *list;
    for (unsigned n = 0; (list = e2b_query(request, "state", n)); n++) {
        char *rest = list, *state;
        int r = 0;
        while ((state = strsep(&rest, ","))) {
            if (!strcmp(state, "running"))
                wanted->running = true;
            else if (!strcmp(state, "paused"))
                wanted->paused = true;
            else
                r = -EINVAL;
        }
        free(list);
        if (r < 0)
            return r;
    }
    if (!wanted->running && !wanted->paused)
        wanted->running = wanted->paused = true;
    return 0;
}

static bool read_query(struct request *request, struct wanted *wanted)
{
    char *metadata = e2b_query(request, "metadata", 0), *limit = e2b_query(request, "limit", 0);
    uint64_t most = PAGE_STANDARD;
    int r = metadata ? read_metadata(wanted, metadata) : 0;
    if (r < 0)
        problem(request, "usage", "metadata", "metadata: must be NAME=VALUE pairs, at most %d", FILTERS_MAX);
    if (r == 0 && (r = read_states(request, wanted)) < 0)
        problem(request, "usage", "state", "state: allowed are running, paused");
    if (r == 0 && limit && (sc_parse_u64(limit, &most) < 0 || most < 1 || most > PAGE_MOST)) {
        r = -EINVAL;
        problem(request, "usage", "limit", "limit: allowed are 1 to %d", PAGE_MOST);
    }
    wanted->limit = wanted->pages ? (size_t)most : SIZE_MAX;
    wanted->template_id = e2b_query(request, "template", 0);
    wanted->after = e2b_query(request, "nextToken", 0);
    free(metadata);
    free(limit);
    return r == 0;
}

static bool is_wanted(const struct wanted *wanted, const json_t *told)
{
    const json_t *metadata = json_object_get(told, "metadata");
    bool paused = !strcmp(e2b_text(told, "state"), "paused");
    if (paused ? !wanted->paused : !wanted->running)
        return false;
    if (wanted->template_id && strcmp(wanted->template_id, e2b_text(told, "templateID")) != 0)
        return false;
    for (size_t i = 0; i < wanted->n_metadata; i++) {
        const char *value = e2b_text(metadata, wanted->metadata[2 * i]);
        if (!value || strcmp(value, wanted->metadata[2 * i + 1]) != 0)
            return false;
    }
    return true;
}

/* Newest first; of the same moment by their ids, so that pages fit together. */
static int by_age(const void *a, const void *b)
{
    const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
    int order = strcmp(e2b_text(right, "startedAt"), e2b_text(left, "startedAt"));
    return order ? order : strcmp(e2b_text(left, "sandboxID"), e2b_text(right, "sandboxID"));
}

/* Where the page after the one that ended with "ID" begins: behind it, or at the beginning when it is gone.
 */
static size_t begins_at(json_t *const *all, size_t n, const char *after)
{
    for (size_t i = 0; after && i < n; i++)
        if (!strcmp(e2b_text(all[i], "sandboxID"), after))
            return i + 1;
    return 0;
}

static void answer_page(struct request *request, const struct wanted *wanted, json_t **all, size_t n)
{
    json_t *page = json_array();
    size_t at = begins_at(all, n, wanted->after);
    for (; at < n && json_array_size(page) < wanted->limit; at++)
        (void)json_array_append(page, all[at]);
    const char *last = at < n ? e2b_text(all[at - 1], "sandboxID") : NULL;
    char token[80] = "";
    snprintf(token, sizeof token, "%s", last ? last : "");
    answer_json(request, MHD_HTTP_OK, page);
    if (*token)
        answer_header(request, "x-next-token", token);
}

static void on_list(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    const struct wanted *wanted = call->state;
    const json_t *sessions = json_object_get(said->ok, "sessions");
    json_t *session;
    size_t i, n = 0;
    if (!e2b_fine(request, said))
        return;
    json_t **all = calloc(json_array_size(sessions) + 1, sizeof *all);
    if (!all) {
        problem_begin(request, -ENOMEM);
        return;
    }
    json_array_foreach((json_t *)sessions, i, session)
    {
        json_t *told = e2b_is_sandbox(session) ? e2b_describe(session) : NULL;
        if (told && is_wanted(wanted, told))
            all[n++] = told;
        else
            json_decref(told);
    }
    qsort(all, n, sizeof *all, by_age);
    answer_page(request, wanted, all, n);
    for (i = 0; i < n; i++)
        json_decref(all[i]);
    free(all);
}

void e2b_handle_list(struct request *request)
{
    struct wanted *wanted = e2b_state(request, sizeof *wanted, free_wanted);
    if (!wanted)
        return;
    wanted->pages = !strncmp(request->route->path, "/v2/", 4);
    if (read_query(request, wanted))
        e2b_ask(request, json_pack("{s:s}", "request", "session.list"), false, on_list);
}
