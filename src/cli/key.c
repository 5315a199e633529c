/* `snapcell key`: makes, lists and revokes the keys of a service's clients. It works on the state folder,
 * whether or not a keeper serves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/say.h"
#include "keeper/keys.h"
#include "keeper/quotas.h"
#include "keeper/state.h"

#define LIFE_MOST_S (10LL * 366 * 24 * 3600)

static int open_state(const struct sc_cli_args *args, struct sc_err *err)
{
    const char *given = args->texts[SC_TEXT_STATE];
    char path[PATH_MAX];
    int r = given ? 0 : sc_state_path(path, err);
    return r < 0 ? r : sc_state_open(given ? given : path, err);
}

static int usage(const struct sc_cli_args *args, const char *what)
{
    struct sc_err err = {0};
    sc_err_usage(&err, "", "key %s: %s", args->operands[0], what);
    return sc_cli_fail(&err);
}

static int read_expiry(const char *text, int64_t *ret_expires_s, struct sc_err *err)
{
    uint64_t ns = 0;
    if (!text)
        return 0;
    if (sc_parse_duration(text, &ns) < 0 || ns < SC_NS_PER_S || ns / SC_NS_PER_S > (uint64_t)LIFE_MOST_S)
        return sc_err_usage(err, "expires", "expires: %s: must be a duration like 24h, 1s to 10 years", text);
    *ret_expires_s = time(NULL) + (int64_t)(ns / SC_NS_PER_S);
    return 0;
}

/* The key itself is alone on stdout, so that it can go into a file without passing anybody's eyes. */
static int add(const struct sc_cli_args *args, int folder)
{
    char text[SC_KEY_TEXT], id[SC_KEY_ID];
    const char *tenant = args->texts[SC_TEXT_TENANT];
    int64_t expires_s = 0;
    struct sc_err err = {0};
    if (args->n_operands != 1)
        return usage(args, "takes no operands");
    if (!tenant)
        return usage(args, "--tenant must be given");
    int r = read_expiry(args->texts[SC_TEXT_EXPIRES], &expires_s, &err);
    if (r == 0)
        r = sc_keys_add(folder, tenant, args->texts[SC_TEXT_NOTE], expires_s, text, id, &err);
    if (r < 0)
        return sc_cli_fail(&err);
    sc_cli_say("key %s of tenant %s; it is shown this once", id, tenant);
    char e2b[SC_KEY_TEXT];
    sc_key_e2b(text, e2b);
    int status = sc_cli_print(strdup(args->flags & SC_FLAG_E2B ? e2b : text));
    explicit_bzero(e2b, sizeof e2b);
    explicit_bzero(text, sizeof text);
    return status;
}

static json_t *value_of(const struct sc_key *key)
{
    json_t *value = json_pack("{s:s, s:s, s:s*, s:I}", "id", key->id, "tenant", key->tenant, "note",
                              key->note, "made", (json_int_t)key->made_s);
    if (value && key->expires_s && json_object_set_new(value, "expires", json_integer(key->expires_s)) < 0) {
        json_decref(value);
        return NULL;
    }
    return value;
}

static int list_json(const struct sc_keys *keys)
{
    json_t *list = json_array();
    int r = list ? 0 : -ENOMEM;
    for (size_t i = 0; i < keys->n && r == 0; i++)
        r = json_array_append_new(list, value_of(&keys->v[i]));
    json_t *value = r == 0 ? json_pack("{s:O}", "keys", list) : NULL;
    char *text = sc_json_dump(value, JSON_INDENT(1));
    json_decref(value);
    json_decref(list);
    return sc_cli_print_json(text);
}

static void format_time(int64_t seconds, char *ret_text, size_t size)
{
    time_t when = (time_t)seconds;
    struct tm parts;
    if (!seconds || !gmtime_r(&when, &parts) || !strftime(ret_text, size, "%Y-%m-%dT%H:%M:%SZ", &parts))
        snprintf(ret_text, size, "-");
}

static int list_text(const struct sc_keys *keys)
{
    struct sc_buf text;
    sc_buf_init(&text, (size_t)64 * 1024 * 1024);
    int r = sc_buf_printf(&text, "%-16s  %-20s  %-20s  %-20s  %s", "ID", "TENANT", "MADE", "EXPIRES", "NOTE");
    for (size_t i = 0; i < keys->n && r == 0; i++) {
        const struct sc_key *key = &keys->v[i];
        char made[32], expires[32], note[2 * SC_KEY_NOTE_MAX];
        format_time(key->made_s, made, sizeof made);
        format_time(key->expires_s, expires, sizeof expires);
        sc_text_show(note, sizeof note, key->note ? key->note : "", key->note ? strlen(key->note) : 0);
        r = sc_buf_printf(&text, "\n%-16s  %-20s  %-20s  %-20s  %s", key->id, key->tenant, made, expires,
                          note);
    }
    char *whole = r == 0 ? sc_buf_steal(&text, NULL) : NULL;
    sc_buf_fini(&text);
    return sc_cli_print(whole);
}

/* Reads the tenants' file, too: the place where its mistakes are told without a keeper. */
static int list(const struct sc_cli_args *args, int folder)
{
    struct sc_keys keys;
    struct sc_quotas quotas;
    struct sc_err err = {0};
    if (args->n_operands != 1)
        return usage(args, "takes no operands");
    if (sc_quotas_load(folder, &quotas, &err) < 0)
        return sc_cli_fail(&err);
    sc_quotas_fini(&quotas);
    if (sc_keys_load(folder, &keys, &err) < 0)
        return sc_cli_fail(&err);
    int status = args->flags & SC_FLAG_JSON ? list_json(&keys) : list_text(&keys);
    sc_keys_fini(&keys);
    return status;
}

static int revoke_one(const struct sc_cli_args *args, int folder)
{
    struct sc_err err = {0};
    if (args->n_operands != 2)
        return usage(args, "needs one ID; `snapcell key list` has them");
    return sc_keys_revoke(folder, args->operands[1], &err) < 0 ? sc_cli_fail(&err) : SC_CLI_EXIT_OK;
}

int sc_cli_key(const struct sc_cli_args *args)
{
    static const struct {
        const char *name;
        int (*word)(const struct sc_cli_args *args, int folder);
    } words[] = {{"add", add}, {"list", list}, {"revoke", revoke_one}};
    struct sc_err err = {0};
    char shown[64] = "needs a word";
    for (size_t i = 0; args->n_operands && i < sizeof words / sizeof *words; i++) {
        if (strcmp(args->operands[0], words[i].name) != 0)
            continue;
        int folder = open_state(args, &err);
        if (folder < 0)
            return sc_cli_fail(&err);
        int status = words[i].word(args, folder);
        sc_close(&folder);
        return status;
    }
    if (args->n_operands)
        sc_text_show(shown, sizeof shown, args->operands[0], strlen(args->operands[0]));
    sc_err_usage(&err, "", "key: %s: allowed are add, list, revoke", shown);
    return sc_cli_fail(&err);
}
