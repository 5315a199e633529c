/* Lists of allowed and denied destinations as rules. With them, as with E2B, what is allowed counts more than
 * what is denied, and all that neither names is allowed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>

#include "gate/e2b/e2b.h"

#define ENTRY_MOST 260

/* "ADDRESS" or "ADDRESS/BITS". */
static bool is_address(const char *entry, bool *ret_v6)
{
    char text[INET6_ADDRSTRLEN + 1];
    struct in6_addr room;
    size_t len = strcspn(entry, "/");
    if (len >= sizeof text)
        return false;
    memcpy(text, entry, len);
    text[len] = '\0';
    *ret_v6 = inet_pton(AF_INET6, text, &room) == 1;
    return *ret_v6 || inet_pton(AF_INET, text, &room) == 1;
}

static bool is_all(const char *entry)
{
    return !strcmp(entry, "0.0.0.0/0") || !strcmp(entry, "::/0") || !strcmp(entry, "ALL_TRAFFIC");
}

/* A rule's text: an address is meant with all of its ports. */
static int rule_of(const char *entry, char *ret_rule, size_t size)
{
    bool v6 = false;
    if (strlen(entry) > ENTRY_MOST || strpbrk(entry, ":[]* ") != NULL) {
        if (strlen(entry) > ENTRY_MOST || (strncmp(entry, "*.", 2) != 0 && !is_address(entry, &v6)))
            return -EINVAL;
    }
    if (!is_address(entry, &v6))
        snprintf(ret_rule, size, "%s", entry);
    else
        snprintf(ret_rule, size, v6 ? "[%s]:*" : "%s:*", entry);
    return 0;
}

static int add_allowed(json_t *rules, const json_t *list, char *why, size_t size)
{
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)list, i, value)
    {
        char rule[ENTRY_MOST + 8];
        const char *entry = json_string_value(value);
        if (!entry || rule_of(entry, rule, sizeof rule) < 0) {
            snprintf(why, size, "allowOut[%zu]: must be a name, *.NAME, an address or ADDRESS/BITS", i);
            return -EINVAL;
        }
        if (json_array_append_new(rules, json_pack("{s:s}", "allow", is_all(entry) ? "*" : rule)) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Everything, or nothing of it: a name may lead to a denied address, and a rule about addresses would not see
 * that. */
static int read_denied(const json_t *list, bool *ret_all, char *why, size_t size)
{
    size_t i;
    json_t *value;
    *ret_all = false;
    json_array_foreach((json_t *)list, i, value)
    {
        const char *entry = json_string_value(value);
        if (entry && is_all(entry)) {
            *ret_all = true;
        } else {
            snprintf(why, size,
                     "denyOut[%zu]: allowed here is 0.0.0.0/0 alone, and beside it what allowOut names", i);
            return -EINVAL;
        }
    }
    return 0;
}

static int refuse_unserved(const json_t *asked, char *why, size_t size)
{
    static const char *const known[] = {"allowOut", "denyOut", "allow_internet_access", "allowPublicTraffic",
                                        NULL};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)asked, name, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], name) != 0)
            i++;
        bool is_empty = json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0) ||
                        (json_is_array(value) && json_array_size(value) == 0);
        if (known[i] || is_empty)
            continue;
        snprintf(why, size, "network.%.60s: is not served here", name);
        return -EINVAL;
    }
    if (json_is_true(json_object_get(asked, "allowPublicTraffic"))) {
        snprintf(why, size, "network.allowPublicTraffic: a sandbox is never open to the public");
        return -EINVAL;
    }
    return 0;
}

int e2b_network(const json_t *asked, json_t **ret_network, char *ret_why, size_t size)
{
    bool denies_all = false;
    json_t *rules = json_array();
    int r = refuse_unserved(asked, ret_why, size);
    if (r == 0)
        r = read_denied(json_object_get(asked, "denyOut"), &denies_all, ret_why, size);
    if (r == 0)
        r = add_allowed(rules, json_object_get(asked, "allowOut"), ret_why, size);
    bool is_off = json_is_false(json_object_get(asked, "allow_internet_access"));
    if (r == 0 && (denies_all || is_off))
        *ret_network = json_array_size(rules) ? json_pack("{s:s, s:O}", "mode", "rules", "rules", rules)
                                              : json_pack("{s:s}", "mode", "none");
    else if (r == 0)
        *ret_network = json_pack("{s:s}", "mode", "open");
    json_decref(rules);
    return r < 0 ? r : *ret_network ? 0 : -ENOMEM;
}
