/* One rule of `network` in JSON, both ways. */
#ifndef SC_SPEC_NETWORK_RULE_H
#define SC_SPEC_NETWORK_RULE_H

#include "base/json.h"
#include "spec/json_read.h"
#include "spec/network.h"

#define SC_NET_BYTES_MAX (1ull << 44) /* of a budget */

/* `into` is the struct sc_net that gets one rule more, or those of a preset. */
sc_json_reader sc_net_read_rule;
/* One more of a rule's requests; `into` is the struct sc_net_rule. */
sc_json_reader sc_net_read_pattern;
int sc_net_add_pattern(struct sc_net_rule *rule, const char *path, const char *text, struct sc_err *err);
void sc_net_free_patterns(struct sc_net_rule *rule);
/* What `to` has is not freed. 0 or -ENOMEM, and then `to` has none. */
int sc_net_copy_patterns(const struct sc_net_rule *from, struct sc_net_rule *to);
/* A rule's credential; `into` is the struct sc_net_rule. */
sc_json_reader sc_net_read_credential;
json_t *sc_net_credential_json(const struct sc_net_rule *rule, bool whole);
/* Wipes it. */
void sc_net_free_credential(struct sc_net_rule *rule);
/* As sc_net_copy_patterns. */
int sc_net_copy_credential(const struct sc_net_rule *from, struct sc_net_rule *to);
/* May this rule have the requests, credential and TLS of `more`? */
int sc_net_check_requests(const struct sc_net_rule *rule, const struct sc_net_rule *more, const char *path,
                          struct sc_err *err);
/* A budget: 1 to max. */
int sc_net_read_count(uint64_t *into, const json_t *value, const char *path, uint64_t max,
                      struct sc_err *err);
/* NULL when memory ran out. */
json_t *sc_net_rule_json(const struct sc_net_rule *rule, bool whole);

#endif
