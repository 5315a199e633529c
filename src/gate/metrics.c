/* GET /metrics: what gate and keeper count, in Prometheus' text form. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "gate/parts.h"

struct row {
    const char *name, *type, *help;
    uint64_t value;
};

static int put(struct sc_buf *page, const struct row *row)
{
    return sc_buf_printf(page, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", row->name, row->help, row->name,
                         row->type, row->name, (unsigned long long)row->value);
}

static int put_answers(struct sc_buf *page, const struct counters *counters)
{
    static const char name[] = "snapcell_gate_answers_total";
    int r = sc_buf_printf(page, "# HELP %s Answers by class of status.\n# TYPE %s counter\n", name, name);
    for (int i = 1; i < 6 && r == 0; i++)
        r = sc_buf_printf(page, "%s{class=\"%dxx\"} %llu\n", name, i,
                          (unsigned long long)counters->by_class[i]);
    return r;
}

static void answer(struct request *request, const char *of_keeper)
{
    const struct gate *gate = request->gate;
    const struct row rows[] = {
        {"snapcell_gate_requests_total", "counter", "Requests of clients.", gate->counters.requests},
        {"snapcell_gate_asks_total", "counter", "Requests to the keeper.", gate->counters.asks},
        {"snapcell_gate_links_lost_total", "counter", "Connections to the keeper that broke.",
         gate->counters.keeper_lost},
        {"snapcell_gate_connections", "gauge", "Connections of clients.", gate->n_connections},
        {"snapcell_gate_requests", "gauge", "Requests under way, this one included.", gate->n_requests},
        {"snapcell_gate_links", "gauge", "Connections to the keeper.", gate->n_links},
        {"snapcell_gate_waiting", "gauge", "Requests that wait for a connection to the keeper.",
         gate->n_waiting},
    };
    struct sc_buf page;
    size_t len = 0;
    sc_buf_init(&page, (size_t)SC_KEEPER_REPLY_MAX);
    /* The gate's own figures are of all clients together. */
    bool all = request->person->operator;
    int r = all ? put_answers(&page, &gate->counters) : 0;
    for (size_t i = 0; all && i < sizeof rows / sizeof *rows && r == 0; i++)
        r = put(&page, &rows[i]);
    if (r == 0)
        r = sc_buf_add_str(&page, of_keeper);
    char *text = r == 0 ? sc_buf_steal(&page, &len) : NULL;
    sc_buf_fini(&page);
    answer_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, len);
}

static void on_told(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    json_t *told = NULL;
    json_error_t where;
    request->ask = NULL;
    if (!ok) {
        problem_keeper(request, error);
        return;
    }
    (void)sc_json_load(ok, len, 0, &told, &where);
    const char *text = json_string_value(json_object_get(told, "text"));
    if (text)
        answer(request, text);
    else
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    json_decref(told);
}

void handle_metrics(struct request *request)
{
    static const struct ask_events events = {.done = on_told};
    int why = 0;
    request->ask = ask_begin(request->gate, json_pack("{s:s}", "request", "metrics"), request->person->token,
                             false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}
