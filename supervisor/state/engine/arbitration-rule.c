#include "engine/arbitration.h"

#include "schema/limits.h"

#include <errno.h>
#include <string.h>

#define RULE_TEXT_MAX 4096
#define RULE_DEPTH_MAX 3

static const char *const kinds[ARBITRATION_KINDS_] = {
        [ARBITRATION_FIRST] = "first",           [ARBITRATION_CAS] = "cas",
        [ARBITRATION_PRIORITY] = "priority",     [ARBITRATION_QUORUM] = "quorum",
        [ARBITRATION_CONFIDENCE] = "confidence", [ARBITRATION_JUDGE] = "judge",
};
/* The third member of each kind, after rule and of. */
static const char *const members[ARBITRATION_KINDS_] = {
        [ARBITRATION_PRIORITY] = "skills", [ARBITRATION_QUORUM] = "least", [ARBITRATION_CONFIDENCE] = "floor"};

#define RULE_REFUSE(reterr, ...) diag(reterr, ARBITRATION_E_RULE, "rule of arbitration: " __VA_ARGS__)

/* ARBITRATION_KINDS_ with a message for another word. */
static ArbitrationKind rule_kind(const char *word, size_t n, Diag *reterr) {
        for (ArbitrationKind k = 0; k < ARBITRATION_KINDS_; k++)
                if (strlen(kinds[k]) == n && memcmp(kinds[k], word, n) == 0)
                        return k;
        RULE_REFUSE(reterr, "rule is to be first, cas, priority, quorum, confidence or judge");
        return ARBITRATION_KINDS_;
}

static int rule_parse_skills(const json_t *list, ArbitrationRule *r, Diag *reterr) {
        if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > ARBITRATION_SKILLS_MAX)
                return RULE_REFUSE(reterr, "skills is to be a list of 1 to %d names", ARBITRATION_SKILLS_MAX);
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *v = json_array_get(list, i);
                const char *name = json_text(v);

                if (!name || !*name || strlen(name) >= ARBITRATION_SKILL_MAX)
                        return RULE_REFUSE(reterr, "skill %zu is to be a name of at most %d bytes", i,
                                           ARBITRATION_SKILL_MAX - 1);
                for (const char *p = name; *p; p++)
                        if (*p <= ' ' || *p >= 0x7f || *p == ',' || *p == '"' || *p == '\\')
                                return RULE_REFUSE(reterr, "skill %zu is not a skill's name", i);
                for (size_t k = 0; k < i; k++)
                        if (strcmp(r->skills[k], name) == 0)
                                return RULE_REFUSE(reterr, "skill %s stands in the list twice", name);
                strcpy(r->skills[i], name);
        }
        r->n_skills = json_array_size(list);
        return 0;
}

static int rule_parse_by(const json_t *by, ArbitrationRule *r, Diag *reterr) {
        const char *name = json_text(by);

        if (!by)
                return 0;
        if (!name || !*name || strlen(name) >= ARBITRATION_FIELD_MAX)
                return RULE_REFUSE(reterr, "by, the compared member of the values, is to be a name of at most %d bytes",
                                   ARBITRATION_FIELD_MAX - 1);
        strcpy(r->by, name);
        return 0;
}

int arbitration_hash_of(const ArbitrationRule *rule, const void *value, size_t n, uint8_t ret[static HASH_BYTES]) {
        _cleanup_json_ json_t *o = NULL;
        _cleanup_free_ char *text = NULL;
        const json_t *member;
        size_t n_text;
        int r;

        if (!*rule->by) {
                hash_bytes(value, n, ret);
                return 0;
        }
        r = json_parse(value, n, SLOT_VALUE_MAX, JSON_DEPTH_DEFAULT, &o, NULL);
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        member = json_object_get(o, rule->by);
        if (!member)
                return -ENOENT;
        r = json_canonical(member, &text, &n_text);
        if (r == 0)
                hash_bytes(text, n_text, ret);
        return r;
}

int arbitration_rule_parse(const json_t *json, ArbitrationRule *ret, Diag *reterr) {
        const json_t *of = json_object_get(json, "of"), *own;
        const char *word = json_text(json_object_get(json, "rule")), *key;
        ArbitrationRule r = {0};
        json_t *v;
        int e = 0;

        if (!json_is_object(json) || !word)
                return RULE_REFUSE(reterr, "an object with the members rule and of");
        r.kind = rule_kind(word, strlen(word), reterr);
        if (r.kind == ARBITRATION_KINDS_)
                return ARBITRATION_E_RULE;
        json_object_foreach((json_t *)json, key, v)
                if (strcmp(key, "rule") != 0 && strcmp(key, "of") != 0 &&
                    (r.kind != ARBITRATION_QUORUM || strcmp(key, "by") != 0) &&
                    (!members[r.kind] || strcmp(key, members[r.kind]) != 0))
                        return RULE_REFUSE(reterr, "%s has rule, of%s%s, and nothing else", word,
                                           members[r.kind] ? ", " : "", members[r.kind] ? members[r.kind] : "");
        if (!json_is_integer(of) || json_integer_value(of) < 1 || json_integer_value(of) > ARBITRATION_PROPOSALS_MAX)
                return RULE_REFUSE(reterr, "of, the proposals to gather, is to be a whole number from 1 to %d",
                                   ARBITRATION_PROPOSALS_MAX);
        r.of = (unsigned)json_integer_value(of);
        own = members[r.kind] ? json_object_get(json, members[r.kind]) : NULL;
        if (r.kind == ARBITRATION_PRIORITY)
                e = rule_parse_skills(own, &r, reterr);
        else if (r.kind == ARBITRATION_QUORUM) {
                if (!json_is_integer(own) || json_integer_value(own) < 1 || json_integer_value(own) > r.of)
                        return RULE_REFUSE(reterr, "least is to be a whole number from 1 to of");
                r.least = (unsigned)json_integer_value(own);
                e = rule_parse_by(json_object_get(json, "by"), &r, reterr);
        } else if (r.kind == ARBITRATION_CONFIDENCE) {
                if (!json_is_number(own) || !(json_number_value(own) >= 0 && json_number_value(own) <= 1))
                        return RULE_REFUSE(reterr, "floor is to be a number from 0 to 1");
                r.floor = json_number_value(own) + 0.0; /* -0 becomes 0 */
        }
        if (e == 0)
                *ret = r;
        return e;
}

/* Expands KIND[:OWN]/OF to JSON. Returns 0, ARBITRATION_E_RULE, -ENOMEM. */
static int rule_expand(const char *text, json_t **ret, Diag *reterr) {
        const char *slash = strrchr(text, '/'), *colon = memchr(text, ':', slash ? (size_t)(slash - text) : 0),
                   *end = colon ? colon : slash;
        _cleanup_json_ json_t *o = json_object(), *own = NULL, *of = NULL;
        ArbitrationKind k;
        int r = 0;

        if (!slash)
                return RULE_REFUSE(reterr, "KIND/N or KIND:…/N, N being the number of proposals to gather, or JSON");
        k = rule_kind(text, (size_t)(end - text), reterr);
        if (k == ARBITRATION_KINDS_)
                return ARBITRATION_E_RULE;
        if (!members[k] != !colon)
                return RULE_REFUSE(reterr, "%s%s/N", kinds[k], members[k] ? ":…" : "");
        if (json_parse(slash + 1, strlen(slash + 1), RULE_TEXT_MAX, 1, &of, NULL) != 0)
                return RULE_REFUSE(reterr, "the part after / is to be a number");
        if (colon && k == ARBITRATION_PRIORITY) {
                own = json_array();
                for (const char *p = colon + 1, *comma; own && p; p = comma ? comma + 1 : NULL) {
                        comma = memchr(p, ',', (size_t)(slash - p));
                        if (json_array_append_new(own, json_stringn(p, (size_t)((comma ? comma : slash) - p))) < 0)
                                return RULE_REFUSE(reterr, "a skill's name is not UTF-8");
                }
        } else if (colon)
                r = json_parse(colon + 1, (size_t)(slash - colon - 1), RULE_TEXT_MAX, 1, &own, NULL);
        if (r > 0)
                return RULE_REFUSE(reterr, "%s is to be a number", members[k]);
        if (r < 0 || !o || json_object_set_new(o, "rule", json_string(kinds[k])) < 0 ||
            json_object_set(o, "of", of) < 0 || (own && json_object_set(o, members[k], own) < 0))
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

int arbitration_rule_parse_text(const char *text, ArbitrationRule *ret, Diag *reterr) {
        _cleanup_json_ json_t *json = NULL;
        Diag why;
        int r;

        if (strlen(text) > RULE_TEXT_MAX)
                return RULE_REFUSE(reterr, "too long");
        if (text[strspn(text, " \t\r\n")] == '{') {
                r = json_parse(text, strlen(text), RULE_TEXT_MAX, RULE_DEPTH_MAX, &json, &why);
                if (r > 0)
                        return RULE_REFUSE(reterr, "%s", why.text);
        } else
                r = rule_expand(text, &json, reterr);
        return r != 0 ? r : arbitration_rule_parse(json, ret, reterr);
}

json_t *arbitration_rule_json(const ArbitrationRule *rule) {
        const char *word = kinds[rule->kind], *own = members[rule->kind];
        _cleanup_json_ json_t *list = NULL;
        int of = (int)rule->of;

        switch (rule->kind) {
        case ARBITRATION_QUORUM:
                return json_pack("{s:s, s:i, s:i, s:s*}", "rule", word, "of", of, own, (int)rule->least, "by",
                                 *rule->by ? rule->by : NULL);
        case ARBITRATION_CONFIDENCE:
                return json_pack("{s:s, s:i, s:f}", "rule", word, "of", of, own, rule->floor);
        case ARBITRATION_PRIORITY:
                list = json_array();
                for (size_t i = 0; i < rule->n_skills; i++)
                        if (json_array_append_new(list, json_string(rule->skills[i])) < 0)
                                return NULL;
                return json_pack("{s:s, s:i, s:O}", "rule", word, "of", of, own, list);
        case ARBITRATION_FIRST:
        case ARBITRATION_CAS:
        case ARBITRATION_JUDGE:
        case ARBITRATION_KINDS_:
                break;
        }
        return json_pack("{s:s, s:i}", "rule", word, "of", of);
}
