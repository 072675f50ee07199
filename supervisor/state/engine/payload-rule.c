/* The entries of a kernel: a rule is a text; a statement is typed, with section, subject, predicate, object and sources
 * (M-29, M-68). Both have an id and a lifecycle. */
#include "engine/payload-check.h"

#include "record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 512, SOURCES_MOST = 8, AT_MOST = 160 };

/* [a-z][a-z0-9_-]{0,31} */
static int rule_check_section(const char *at, const json_t *v, Diag *reterr) {
        const char *s = json_text(v);
        size_t n = s ? strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") : 0;

        if (!s)
                return diag(reterr, PAYLOAD_E_TYPE, "%s is not a string", at);
        return n > 0 && n <= 32 && s[n] == 0 && *s >= 'a' && *s <= 'z'
                       ? 0
                       : diag(reterr, PAYLOAD_E_VALUE, "%s is \"%s\": a section has a-z, then at most 31 of a-z 0-9 _ -",
                              at, DIAG_QUOTED(s));
}

/* A record of the scope {"kind","id","version"?}, an entry of the ledger {"event"}, or words {"text"}. A source is a
 * citation: nothing need be there, and nothing is held by it; a reference of the kernel holds. */
static int rule_check_source(const char *at, const json_t *v, Diag *reterr) {
        static const char *const record[] = {"kind", "id", NULL}, *const versioned[] = {"kind", "id", "version", NULL},
                                 *const event[] = {"event", NULL}, *const words[] = {"text", NULL};
        const char *const *members = json_object_get(v, "text")      ? words
                                     : json_object_get(v, "event")   ? event
                                     : json_object_get(v, "version") ? versioned
                                                                     : record;
        const json_t *number = json_object_get(v, members == event ? "event" : "version");
        const char *kind = json_text(json_object_get(v, "kind"));
        char what[AT_MOST + 64];
        uint64_t n;
        int r = payload_check_members(at, v, members, reterr);

        if (r == 0 && number && (json_get_u64(number, &n) < 0 || n == 0))
                r = diag(reterr, PAYLOAD_E_VALUE, "%s.%s is not a number from 1 on", at,
                         members == event ? "event" : "version");
        if (r != 0 || members == event)
                return r;
        if (members == words) {
                snprintf(what, sizeof(what), "%s.text", at);
                return payload_check_text(what, json_object_get(v, "text"), NAME_MOST, true, reterr);
        }
        if (!kind || !kind_from_name(kind))
                return diag(reterr, PAYLOAD_E_VALUE, "%s.kind is not a family or a bucket", at);
        snprintf(what, sizeof(what), "%s.id", at);
        return payload_check_id(what, kind_from_name(kind), json_object_get(v, "id"), reterr);
}

static int rule_check_sources(const char *at, const json_t *v, Diag *reterr) {
        int r = payload_check_list(at, v, SOURCES_MOST, "sources", reterr);

        if (r == 0 && json_array_size(v) == 0)
                return diag(reterr, PAYLOAD_E_EMPTY, "%s is empty: a statement names at least one source", at);
        for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
                char one[AT_MOST + 24];

                snprintf(one, sizeof(one), "%s[%zu]", at, i);
                r = rule_check_source(one, json_array_get(v, i), reterr);
        }
        return r;
}

static int rule_check_statement(const char *one, const json_t *rule, size_t max, Diag *reterr) {
        static const struct {
                const char *name;
                size_t most;
        } texts[] = {{"subject", NAME_MOST}, {"predicate", NAME_MOST}, {"object", 0}};
        char what[AT_MOST];
        int r;

        snprintf(what, sizeof(what), "%s.section", one);
        r = rule_check_section(what, json_object_get(rule, "section"), reterr);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++) {
                snprintf(what, sizeof(what), "%s.%s", one, texts[i].name);
                r = payload_check_text(what, json_object_get(rule, texts[i].name), texts[i].most ?: max,
                                       texts[i].most > 0, reterr);
        }
        snprintf(what, sizeof(what), "%s.sources", one);
        return r ?: rule_check_sources(what, json_object_get(rule, "sources"), reterr);
}

static int rule_check(const PayloadField *f, const char *one, const json_t *rule, json_t *ids, Diag *reterr) {
        static const char *const of_rule[] = {"id", "statement", "lifecycle", NULL},
                                 *const of_statement[] = {"id",     "section", "subject",   "predicate",
                                                          "object", "sources", "lifecycle", NULL};
        const bool typed = json_object_get(rule, "section") || json_object_get(rule, "subject");
        const char *id;
        char what[AT_MOST];
        int r = payload_check_members(one, rule, typed ? of_statement : of_rule, reterr);

        snprintf(what, sizeof(what), "%s.id", one);
        r = r ?: payload_check_id(what, f->kind, json_object_get(rule, "id"), reterr);
        if (r != 0)
                return r;
        id = json_text(json_object_get(rule, "id"));
        if (json_object_get(ids, id))
                return diag(reterr, PAYLOAD_E_VALUE, "%s is \"%s\", as in another rule: ids are unique", what, id);
        if (json_object_set_new(ids, id, json_true()) < 0)
                return -ENOMEM;
        snprintf(what, sizeof(what), "%s.statement", one);
        r = typed ? rule_check_statement(one, rule, f->max, reterr)
                  : payload_check_text(what, json_object_get(rule, "statement"), f->max, false, reterr);
        snprintf(what, sizeof(what), "%s.lifecycle", one);
        return r ?: payload_check_choice(f->choices, what, json_object_get(rule, "lifecycle"), reterr);
}

int payload_check_rules(const PayloadField *f, const char *at, const json_t *v, Diag *reterr) {
        _cleanup_json_ json_t *ids = json_object();
        int r = ids ? payload_check_list(at, v, PAYLOAD_RULES_MAX, "rules", reterr) : -ENOMEM;

        for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
                char one[AT_MOST - 16];

                snprintf(one, sizeof(one), "%s[%zu]", at, i);
                r = rule_check(f, one, json_array_get(v, i), ids, reterr);
        }
        return r;
}
