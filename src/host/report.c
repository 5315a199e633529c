/* The doctor's report, as text for people and as JSON for programs. */
#include "host/host.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"

#define REPORT_MAX (1 << 20)

static const char *const LEVEL_WORDS[] = {"ok", "degraded", "blocker"};
static const char *const LAYOUT_WORDS[] = {"none", "v1", "v2", "hybrid"};

/* Neighbours often want the same cure: said once. */
static int add_finding_text(struct sc_buf *text, const struct sc_finding *finding,
                            const struct sc_finding *before)
{
    int r = sc_buf_printf(text, "%-9s %-18s %s\n", LEVEL_WORDS[finding->level], finding->name, finding->what);
    bool again = before && before->fix[0] && !strcmp(before->fix, finding->fix);
    if (r == 0 && again)
        r = sc_buf_printf(text, "%29sfix: the same\n", "");
    else if (r == 0 && finding->fix[0])
        r = sc_buf_printf(text, "%29sfix: %s\n", "", finding->fix);
    return r;
}

/* The last finding before the i-th that had a fix. */
static const struct sc_finding *fixed_before(const struct sc_finding *findings, int i)
{
    while (--i >= 0)
        if (findings[i].fix[0])
            return &findings[i];
    return NULL;
}

static int add_summary(struct sc_buf *text, const struct sc_finding *findings, int n)
{
    int count[3] = {0};
    for (int i = 0; i < n; i++)
        count[findings[i].level]++;
    if (!count[SC_FINDING_BLOCKER] && !count[SC_FINDING_DEGRADED])
        return sc_buf_add_str(text, "\nCells have every layer on this host.\n");
    if (!count[SC_FINDING_BLOCKER])
        return sc_buf_printf(text, "\nCells run here; %d thing%s weaker than could be.\n",
                             count[SC_FINDING_DEGRADED], count[SC_FINDING_DEGRADED] == 1 ? " is" : "s are");
    return sc_buf_printf(text, "\n`snapcell run` with its defaults is refused here: %d blocker%s.\n",
                         count[SC_FINDING_BLOCKER], count[SC_FINDING_BLOCKER] == 1 ? "" : "s");
}

char *sc_host_report_text(const struct sc_host *host)
{
    struct sc_finding *findings = calloc(SC_FINDINGS_MAX, sizeof *findings);
    struct sc_buf text;
    sc_buf_init(&text, REPORT_MAX);
    int n = findings ? sc_host_findings(host, findings) : -1, r = n < 0 ? -1 : 0;
    for (int i = 0; r == 0 && i < n; i++)
        r = add_finding_text(&text, &findings[i], fixed_before(findings, i));
    if (r == 0)
        r = add_summary(&text, findings, n);
    free(findings);
    char *answer = r == 0 ? sc_buf_steal(&text, NULL) : NULL;
    sc_buf_fini(&text);
    return answer;
}

/* Directories may have any bytes in their names; JSON may not. */
static json_t *text_json(const char *text)
{
    char shown[SC_HOST_PATH_MAX];
    if (sc_utf8_valid(text, strlen(text)))
        return json_string(text);
    return json_string(sc_text_show(shown, sizeof shown, text, strlen(text)));
}

static json_t *findings_json(const struct sc_host *host)
{
    struct sc_finding *findings = calloc(SC_FINDINGS_MAX, sizeof *findings);
    json_t *list = findings ? json_array() : NULL;
    int n = list ? sc_host_findings(host, findings) : 0;
    for (int i = 0; i < n && list; i++) {
        json_t *one =
            json_pack("{s:s, s:s, s:o, s:s}", "level", LEVEL_WORDS[findings[i].level], "name",
                      findings[i].name, "what", text_json(findings[i].what), "fix", findings[i].fix);
        if (!one || json_array_append_new(list, one) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    free(findings);
    return list;
}

static json_t *cgroup_json(const struct sc_host *host)
{
    json_t *groups = json_object();
    for (int i = 0; i < SC_CTL_COUNT && groups; i++) {
        const struct sc_host_controller *c = &host->controllers[i];
        json_t *one = json_pack("{s:i, s:o, s:o}", "version", (int)c->version, "dir", text_json(c->dir),
                                "why", text_json(c->why));
        if (!one || json_object_set_new(groups, SC_CONTROLLER_NAMES[i], one) < 0) {
            json_decref(groups);
            groups = NULL;
        }
    }
    return groups;
}

static json_t *userns_json(const struct sc_host *host)
{
    return json_pack("{s:b, s:b, s:s, s:i, s:s}", "works", host->userns_errno == 0, "tried",
                     host->userns_tried, "failed_step", host->userns_step, "errno", -host->userns_errno,
                     "error", host->userns_errno ? strerror(-host->userns_errno) : "");
}

static json_t *apparmor_json(const struct sc_host *host)
{
    return json_pack("{s:b, s:b, s:b}", "enabled", host->apparmor_enabled, "profile_loaded",
                     host->apparmor_profile_loaded, "restricts_user_namespaces",
                     host->apparmor_restricts_userns);
}

static json_t *ids_json(const struct sc_host *host)
{
    bool subordinate = !host->root && host->sub_uid != (uid_t)-1;
    return json_pack("{s:I, s:I, s:b, s:b, s:o, s:o}", "uid", (json_int_t)host->uid, "gid",
                     (json_int_t)host->gid, "initial_user_namespace", host->initial_userns, "subordinate",
                     subordinate, "cell_uid_base",
                     host->root ? json_integer(host->cell_uid_base) : json_null(), "cell_uid_count",
                     host->root ? json_integer(host->cell_uid_count) : json_null());
}

/* Takes `value`. */
static int put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value);
}

static int fill(json_t *report, const struct sc_host *host)
{
    return put(report, "kernel", json_string(host->kernel)) ||
           put(report, "root", json_boolean(host->root)) || put(report, "findings", findings_json(host)) ||
           put(report, "cgroup", cgroup_json(host)) ||
           put(report, "cgroup_layout", json_string(LAYOUT_WORDS[host->cgroup_layout])) ||
           put(report, "cgroup_kill", json_boolean(host->cgroup_v2_kill)) ||
           put(report, "in_scope", json_boolean(host->in_scope)) ||
           put(report, "user_namespaces", userns_json(host)) ||
           put(report, "landlock_abi", json_integer(host->landlock_abi)) ||
           put(report, "seccomp_user_notif", json_boolean(host->seccomp_user_notif)) ||
           put(report, "time_namespace", json_boolean(host->time_namespace)) ||
           put(report, "cgroup_namespace", json_boolean(host->cgroup_namespace)) ||
           put(report, "pidfd", json_boolean(host->pidfd)) || put(report, "apparmor", apparmor_json(host)) ||
           put(report, "in_container", json_boolean(host->in_container)) ||
           put(report, "systemd", json_boolean(host->systemd)) || put(report, "ids", ids_json(host)) ||
           put(report, "memory_bytes", json_integer((json_int_t)host->memory_bytes)) ||
           put(report, "swap_bytes", json_integer((json_int_t)host->swap_bytes)) ||
           put(report, "cpus", json_integer(host->cpus)) ||
           put(report, "open_files_hard", json_integer((json_int_t)(host->open_files_hard & INT64_MAX))) ||
           put(report, "loop_devices", json_boolean(host->loop_devices));
}

char *sc_host_report_json(const struct sc_host *host)
{
    json_t *report = json_object();
    char *text = report && fill(report, host) == 0 ? sc_json_dump(report, JSON_INDENT(2)) : NULL;
    json_decref(report);
    return text;
}
