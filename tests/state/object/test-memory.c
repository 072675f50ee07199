#include "tests/state/object/history.h"

#define SKILL "{\"do\":{\"skill\":\"convert\",\"args\":[\"a\",\"b\"]},\"until\":\"never\"}"
#define STEPS                                                                                                          \
        "{\"do\":{\"steps\":[{\"skill\":\"fetch\"},{\"wait\":{\"elapsed\":{\"for\":\"5s\"}}},{\"skill\":\"store\"}]},"     \
        "\"until\":{\"success\":2}}"

static json_t *started(void) {
        return history_json("{\"skill\":\"convert\",\"args\":[],\"deadline_usec\":1,\"step\":0,\"attempt\":1}");
}

static json_t *dormant(const char *reason) {
        return history_json("{\"trigger\":{\"outcomes\":{\"kind\":\"input\",\"n\":1}},\"reason\":\"%s\",\"not_before\":0}",
                            reason);
}

static json_t *outcome(const char *kind) {
        return history_json("{\"kind\":\"%s\",\"latency_usec\":1500}", kind);
}

/* From evaluation back to evaluation. */
static void run(History *h, const char *kind) {
        history_add(h, ENTRY_STARTED, NULL, started());
        history_add(h, ENTRY_OUTCOME, outcome(kind), NULL);
}

static json_t *delegation(History *h, unsigned n, const char *gather, bool proposed) {
        _cleanup_json_ json_t *written = history_json("{\"do\":{\"skill\":\"convert\"}}"), *complete = NULL;
        json_t *children = json_object();
        char id[REGION_ID_MAX];

        cr_assert_eq(intent_complete(written, NULL, &complete, NULL), 0);
        for (unsigned i = 0; i < n; i++)
                json_object_set(children, history_id(h->ids++, id), complete);
        return json_pack("{s:o, s:o, s:o, s:b}", "children", children, "gather", history_json("%s", gather), "serial",
                         json_u64(json_number(h->m.fold, "serial") + 1), "proposed", proposed);
}

static void answer(History *h, unsigned child, const char *kind) {
        _cleanup_json_ json_t *o = outcome(kind);
        json_t *note = NULL;
        char id[REGION_ID_MAX];

        cr_assert_eq(memory_child_note(&h->m, history_id(child, id), o, &note, &h->d), 0, "%s", h->d.text);
        history_add(h, ENTRY_CHILD, NULL, note);
}

/* A memory in each state. */
static void reach(History *h, ObjectState s) {
        history_begin(h, SKILL, NULL);
        if (s == OBJECT_INSTANTIATED)
                return;
        history_add(h, ENTRY_EVALUATION, NULL, NULL);
        if (s == OBJECT_EXECUTION)
                history_add(h, ENTRY_STARTED, NULL, started());
        else if (s == OBJECT_DELEGATION)
                history_add(h, ENTRY_DELEGATION, NULL, delegation(h, 1, "{\"mode\":\"all\"}", false));
        else if (s == OBJECT_MUTATION) {
                json_t *after = json_deep_copy(h->m.intent);

                json_object_set_new(json_object_get(after, "do"), "args", json_pack("[s]", "a"));
                history_add(h, ENTRY_MUTATION, NULL,
                            json_pack("{s:s, s:O, s:o, s:s}", "how", "narrow", "before", h->m.intent, "after", after, "why", "x"));
        } else if (s == OBJECT_DORMANT || s == OBJECT_REENTRY) {
                history_add(h, ENTRY_DORMANT, NULL, dormant("sleep"));
                if (s == OBJECT_REENTRY)
                        history_add(h, ENTRY_REENTRY, NULL, history_json("{\"trigger\":{},\"evidence\":{}}"));
        } else if (s == OBJECT_TERMINATED)
                history_add(h, ENTRY_TERMINATED, NULL, history_json("{\"reason\":\"requested\"}"));
        cr_assert_eq(h->m.state, s);
}

static json_t *data_of(History *h, EntryKind kind) {
        switch (kind) {
        case ENTRY_INSTANTIATED:
                return json_pack("{s:O, s:O}", "intent", h->m.intent, "context", h->m.context);
        case ENTRY_STARTED:
                return started();
        case ENTRY_MUTATION: {
                json_t *after = json_deep_copy(h->m.intent);

                json_object_set_new(json_object_get(after, "do"), "args", json_pack("[s]", "b"));
                return json_pack("{s:s, s:O, s:o, s:s}", "how", "narrow", "before", h->m.intent, "after", after, "why", "x");
        }
        case ENTRY_DELEGATION:
                return delegation(h, 2, "{\"mode\":\"all\"}", false);
        case ENTRY_DORMANT:
                return dormant("sleep");
        case ENTRY_TERMINATED:
                return history_json("{\"reason\":\"requested\"}");
        case ENTRY_INPUT:
                return history_json("{\"from\":\"model\",\"input\":\"terminate\"}");
        case ENTRY_REENTRY:
                return history_json("{\"trigger\":{},\"evidence\":{}}");
        case ENTRY_EVALUATION:
        case ENTRY_OUTCOME:
        case ENTRY_CHILD:
        case ENTRY_CHECKPOINT:
        case ENTRY_ADOPTED:
        case ENTRY_KIND_COUNT_:
                break;
        }
        return json_object();
}

/* Row: state; what may follow, in the order of the kinds of entries. */
static const char *const moves_table[OBJECT_STATE_COUNT_] = {
        /*                        ins eva sta mut del dor ree ter out inp ado */
        [OBJECT_INSTANTIATED] = " .   x   .   .   .   .   .   .   .   x   x ",
        [OBJECT_EVALUATION] = "   .   .   x   x   x   x   x   x   .   x   x ",
        [OBJECT_EXECUTION] = "    .   .   .   .   .   x   .   x   x   x   x ",
        [OBJECT_MUTATION] = "     .   x   .   .   .   .   .   .   .   x   x ",
        [OBJECT_DELEGATION] = "   .   x   .   .   .   x   .   .   .   x   x ",
        [OBJECT_DORMANT] = "      .   .   .   .   .   .   x   x   .   x   x ",
        [OBJECT_REENTRY] = "      .   x   .   .   .   .   .   .   .   x   x ",
        [OBJECT_TERMINATED] = "   .   .   .   .   .   .   .   .   .   .   x ",
};

// O-18, O-19, O-20, O-37: an entry that does not follow is refused, and changes nothing
Test(memory, moves) {
        static const EntryKind kinds[] = {ENTRY_INSTANTIATED, ENTRY_EVALUATION, ENTRY_STARTED, ENTRY_MUTATION,
                                          ENTRY_DELEGATION,   ENTRY_DORMANT,    ENTRY_REENTRY, ENTRY_TERMINATED,
                                          ENTRY_OUTCOME,      ENTRY_INPUT,      ENTRY_ADOPTED};

        for (ObjectState s = OBJECT_INSTANTIATED; s < OBJECT_STATE_COUNT_; s++) {
                const char *cell = moves_table[s];

                for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
                        _cleanup_free_ char *before = NULL, *after = NULL;
                        History h;
                        int r;

                        cell += strspn(cell, " ");
                        reach(&h, s);
                        if (kinds[k] == ENTRY_DELEGATION && s == OBJECT_DELEGATION)
                                h.ids += 10;
                        before = history_memory(&h.m);
                        r = history_try(&h, kinds[k], kinds[k] == ENTRY_OUTCOME ? outcome("success") : NULL,
                                        data_of(&h, kinds[k]));
                        after = history_memory(&h.m);
                        cr_expect_eq(r, *cell == 'x' ? 0 : OBJECT_E_MOVE, "%s, %s: %d %s", object_state_name(s),
                                     entry_kind_name(kinds[k]), r, h.d.text);
                        cr_expect_eq(strcmp(before, after) == 0, *cell != 'x', "%s, %s: changed", object_state_name(s),
                                     entry_kind_name(kinds[k]));
                        cell++;
                        history_end(&h);
                }
        }
}

static const struct {
        const char *name;
        int code;
} chain_rows[] = {
        {"a gap", OBJECT_E_CHAIN},       {"another predecessor", OBJECT_E_CHAIN}, {"another object", OBJECT_E_CHAIN},
        {"another state", OBJECT_E_MOVE}, {"a state for a note", OBJECT_E_MOVE},  {"the first entry once more", OBJECT_E_CHAIN},
};

// O-5, O-7, O-17, O-19: number, predecessor, object and state of an entry are those that follow
Test(memory, chain) {
        for (size_t i = 0; i < ARRAY_SIZE(chain_rows); i++) {
                _cleanup_free_ char *before = NULL, *after = NULL;
                _cleanup_entry_ Entry e = ENTRY_NULL;
                EntryKind kind = i == 4 ? ENTRY_INPUT : ENTRY_EVALUATION;
                History h, other;
                int r;

                history_begin(&h, SKILL, NULL);
                other = h;
                if (i == 0)
                        other.m.n++;
                if (i == 1)
                        other.m.head[31] ^= 1;
                if (i == 2)
                        history_id(2, other.m.object);
                if (i == 4)
                        other.m.state = OBJECT_EVALUATION;
                if (i == 5) {
                        other.m.n = 0;
                        kind = ENTRY_INSTANTIATED;
                }
                history_make(&other, kind, NULL, NULL, &e);
                if (i == 3)
                        e.state = OBJECT_DORMANT;
                before = history_memory(&h.m);
                r = memory_apply(&h.m, &e, &h.d);
                after = history_memory(&h.m);
                cr_expect_eq(r, chain_rows[i].code, "%s: %d %s", chain_rows[i].name, r, h.d.text);
                cr_expect_str_eq(before, after, "%s", chain_rows[i].name);
                history_end(&h);
        }
}

static const struct {
        const char *name, *gather;
        unsigned children;
        const char *answers; /* a letter a child, in their order: s, f, t, p; .: none */
        const char *kind;    /* of the aggregate; NULL: open */
        unsigned again, n;   /* children of the retry, and its n */
} gather_rows[] = {
        {"all, none", "{\"mode\":\"all\"}", 3, "...", NULL, 0, 0},
        {"all, some", "{\"mode\":\"all\"}", 3, "ss.", NULL, 0, 0},
        {"all, a failure alone", "{\"mode\":\"all\"}", 3, "f..", NULL, 0, 0},
        {"all", "{\"mode\":\"all\"}", 3, "sss", "success", 0, 0},
        {"all but one", "{\"mode\":\"all\"}", 3, "sfs", "partial", 1, 0},
        {"all, nothing", "{\"mode\":\"all\"}", 2, "tp", "partial", 2, 0},
        {"any, none", "{\"mode\":\"any\"}", 3, "ff.", NULL, 0, 0},
        {"any, the first", "{\"mode\":\"any\"}", 3, "s", "success", 0, 0},
        {"any, the last", "{\"mode\":\"any\"}", 3, "fts", "success", 0, 0},
        {"any, nothing", "{\"mode\":\"any\"}", 3, "ftp", "failure", 3, 0},
        {"quorum, open", "{\"mode\":\"quorum\",\"n\":2}", 3, "sf.", NULL, 0, 0},
        {"quorum", "{\"mode\":\"quorum\",\"n\":2}", 3, "sfs", "success", 0, 0},
        {"quorum, early", "{\"mode\":\"quorum\",\"n\":2}", 3, "ss", "success", 0, 0},
        {"quorum, out of reach", "{\"mode\":\"quorum\",\"n\":2}", 3, "sff", "failure", 2, 1},
        {"quorum, early out of reach", "{\"mode\":\"quorum\",\"n\":3}", 3, "f", "failure", 3, 3},
        {"collect, open", "{\"mode\":\"collect\"}", 2, "f", NULL, 0, 0},
        {"collect", "{\"mode\":\"collect\"}", 2, "fs", "success", 0, 0},
};

// O-26, O-28, O-50: aggregates, what closes them, and what a retry delegates
Test(memory, aggregates) {
        static const char *const kinds[] = {['s'] = "success", ['f'] = "failure", ['t'] = "timeout", ['p'] = "partial"};

        for (size_t i = 0; i < ARRAY_SIZE(gather_rows); i++) {
                const json_t *again, *closed;
                History h;

                history_begin(&h, SKILL, NULL);
                history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                history_add(&h, ENTRY_DELEGATION, NULL, delegation(&h, gather_rows[i].children, gather_rows[i].gather, false));
                h.now += 7;
                for (unsigned c = 0; gather_rows[i].answers[c]; c++)
                        if (gather_rows[i].answers[c] != '.')
                                answer(&h, 1000 + c, kinds[(size_t)gather_rows[i].answers[c]]);
                closed = json_object_get(json_object_get(h.m.fold, "closed"), "1");
                again = json_object_get(h.m.fold, "again");
                cr_expect_eq(!json_object_get(h.m.fold, "delegation"), gather_rows[i].kind != NULL, "%s", gather_rows[i].name);
                cr_expect_str_eq(json_str(closed, "kind"), gather_rows[i].kind ?: "", "%s", gather_rows[i].name);
                cr_expect_str_eq(json_str(json_object_get(h.m.fold, "last"), "kind"), gather_rows[i].kind ?: "", "%s",
                                 gather_rows[i].name);
                cr_expect_eq(json_array_size(json_object_get(again, "delegate")), gather_rows[i].again, "%s",
                             gather_rows[i].name);
                cr_expect_eq(json_number(json_object_get(again, "gather"), "n"), gather_rows[i].n, "%s", gather_rows[i].name);
                if (gather_rows[i].kind)
                        cr_expect_eq(json_number(closed, "latency_usec"), 7, "%s", gather_rows[i].name);
                cr_expect_eq(json_number(h.m.fold, "successes"), gather_rows[i].kind && strcmp(gather_rows[i].kind, "success") == 0,
                             "%s", gather_rows[i].name);
                history_end(&h);
        }
}

// O-26: an answer after the aggregate closed is late, also after the end, and must be said to be late; a second one is none
Test(memory, late_answers) {
        for (unsigned ended = 0; ended < 2; ended++) {
                _cleanup_free_ char *before = NULL, *after = NULL;
                _cleanup_json_ json_t *o = outcome("success");
                json_t *note = NULL, *lie;
                char id[REGION_ID_MAX];
                History h;

                history_begin(&h, SKILL, NULL);
                history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                history_add(&h, ENTRY_DELEGATION, NULL, delegation(&h, 3, "{\"mode\":\"any\"}", false));
                answer(&h, 1001, "success");
                cr_expect_eq(json_object_size(json_object_get(h.m.fold, "children_ever")), 2);
                if (ended) {
                        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                        history_add(&h, ENTRY_TERMINATED, NULL, history_json("{\"reason\":\"requested\"}"));
                }
                cr_assert_eq(memory_child_note(&h.m, history_id(1000, id), o, &note, &h.d), 0);
                cr_expect(json_is_true(json_object_get(note, "late")));
                lie = json_copy(note);
                json_object_set_new(lie, "late", json_false());
                before = history_memory(&h.m);
                cr_expect_eq(history_try(&h, ENTRY_CHILD, NULL, lie), ended ? OBJECT_E_MOVE : OBJECT_E_SYNTAX, "ended %u",
                             ended);
                after = history_memory(&h.m);
                cr_expect_str_eq(before, after);
                history_add(&h, ENTRY_CHILD, NULL, json_incref(note));
                cr_expect_eq(history_try(&h, ENTRY_CHILD, NULL, note), OBJECT_E_SYNTAX, "a second answer, ended %u", ended);
                cr_expect_eq(memory_child_note(&h.m, id, o, &note, &h.d), OBJECT_E_SYNTAX);
                cr_expect_eq(memory_child_note(&h.m, history_id(1001, id), o, &note, &h.d), OBJECT_E_SYNTAX);
                cr_expect_eq(memory_child_note(&h.m, history_id(77, id), o, &note, &h.d), OBJECT_E_SYNTAX);
                cr_expect_eq(json_number(h.m.fold, "successes"), 1, "a late answer changes no result");
                history_end(&h);
        }
}

// O-26, O-28, O-50: children without an answer when `within` is over; a later answer is late, and not lost
Test(memory, non_responses) {
        _cleanup_json_ json_t *none = NULL, *notes = NULL, *o = outcome("success"), *late = NULL;
        char id[REGION_ID_MAX];
        json_t *note;
        History h;
        size_t i;

        history_begin(&h, SKILL, NULL);
        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
        history_add(&h, ENTRY_DELEGATION, NULL, delegation(&h, 4, "{\"mode\":\"quorum\",\"n\":3,\"within_usec\":1000}", false));
        answer(&h, 1001, "success");
        cr_assert_eq(memory_non_responses(&h.m, h.now + 999, &none), 0);
        cr_expect_eq(json_array_size(none), 0);
        cr_assert_eq(memory_non_responses(&h.m, h.now + 1000, &notes), 0);
        cr_expect_eq(json_array_size(notes), 2, "two of the three are enough to close");
        json_array_foreach(notes, i, note)
                history_add(&h, ENTRY_CHILD, NULL, json_incref(note));
        cr_expect_not(json_object_get(h.m.fold, "delegation"));
        cr_expect_str_eq(json_str(json_object_get(h.m.fold, "last"), "kind"), "failure");
        cr_expect_eq(json_array_size(json_object_get(json_object_get(h.m.fold, "again"), "delegate")), 3);
        cr_assert_eq(memory_child_note(&h.m, history_id(1000, id), o, &late, &h.d), 0, "%s", h.d.text);
        cr_expect(json_is_true(json_object_get(late, "late")));
        history_end(&h);
}

// O-24..O-26: a delegation beyond the scope, or of a wrong form, is refused
Test(memory, bad_delegations) {
        static const struct {
                const char *name, *scope, *gather;
                unsigned children;
                int serial, code;
        } rows[] = {
                {"no depth", "{\"skills\":\"*\",\"reads\":[],\"writes\":[],\"depth\":0,\"fanout\":9}", "{\"mode\":\"all\"}", 1, 1, OBJECT_E_SCOPE},
                {"fanout", "{\"skills\":\"*\",\"reads\":[],\"writes\":[],\"depth\":1,\"fanout\":2}", "{\"mode\":\"all\"}", 3, 1, OBJECT_E_SCOPE},
                {"no children", NULL, "{\"mode\":\"all\"}", 0, 1, OBJECT_E_SYNTAX},
                {"no mode", NULL, "{\"mode\":\"most\"}", 1, 1, OBJECT_E_SYNTAX},
                {"no quorum", NULL, "{\"mode\":\"quorum\"}", 1, 1, OBJECT_E_SYNTAX},
                {"quorum of more", NULL, "{\"mode\":\"quorum\",\"n\":3}", 2, 1, OBJECT_E_SYNTAX},
                {"serial", NULL, "{\"mode\":\"all\"}", 1, 2, OBJECT_E_SYNTAX},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                json_t *data;
                History h;

                history_begin(&h, SKILL, rows[i].scope);
                history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                data = delegation(&h, rows[i].children, rows[i].gather, false);
                json_object_set_new(data, "serial", json_integer(rows[i].serial));
                cr_expect_eq(history_try(&h, ENTRY_DELEGATION, NULL, data), rows[i].code, "%s: %s", rows[i].name, h.d.text);
                history_end(&h);
        }
}

// O-22, O-23: a mutation begins at the intent, narrows, and stays in the scope; nothing else becomes the intent
Test(memory, mutations) {
        static const struct {
                const char *name, *how, *member, *value; /* of "do" */
                bool other_before;
                int code;
        } rows[] = {
                {"narrow", "narrow", "args", "[\"a\"]", false, 0},
                {"wider", "narrow", "args", "[\"a\",\"b\",\"c\"]", false, OBJECT_E_INTENT},
                {"no such kind", "widen", "args", "[\"a\"]", false, OBJECT_E_INTENT},
                {"beyond the scope", "rescope", "skill", "\"shell\"", false, OBJECT_E_INTENT},
                {"another before", "narrow", "args", "[\"a\"]", true, OBJECT_E_CHAIN},
                {"no intent", "narrow", "args", "7", false, OBJECT_E_INTENT},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *was = NULL;
                json_t *before, *after, *value;
                History h;
                int r;

                history_begin(&h, SKILL, "{\"skills\":[\"convert\"],\"reads\":[],\"writes\":[],\"depth\":0,\"fanout\":1}");
                history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                was = json_incref(h.m.intent);
                after = json_deep_copy(h.m.intent);
                value = json_loads(rows[i].value, JSON_DECODE_ANY, NULL);
                json_object_set_new(json_object_get(after, "do"), rows[i].member, value);
                before = rows[i].other_before ? json_deep_copy(after) : json_incref(h.m.intent);
                r = history_try(&h, ENTRY_MUTATION, NULL,
                                json_pack("{s:s, s:o, s:o, s:s}", "how", rows[i].how, "before", before, "after", after, "why", ""));
                cr_expect((r == 0) == (rows[i].code == 0) && (r == rows[i].code || r == OBJECT_E_SCOPE), "%s: %d %s",
                          rows[i].name, r, h.d.text);
                cr_expect_eq(json_equal(was, h.m.intent), r != 0, "%s", rows[i].name);
                history_end(&h);
        }
}

// O-1, O-2, O-25: an object whose intent does not parse, or needs more than its scope, does not begin
Test(memory, bad_beginnings) {
        static const struct {
                const char *name, *intent, *context;
                int code;
        } rows[] = {
                {"no intent", "7", "{\"scope\":{}}", OBJECT_E_INTENT},
                {"no context", "{\"do\":{\"skill\":\"a\"}}", "null", OBJECT_E_INTENT},
                {"no do", "{}", "{\"scope\":{\"skills\":\"*\",\"reads\":\"*\",\"writes\":\"*\",\"depth\":0,\"fanout\":0}}", OBJECT_E_INTENT},
                {"no such skill in the scope", "{\"do\":{\"skill\":\"a\"}}",
                 "{\"scope\":{\"skills\":[\"b\"],\"reads\":[],\"writes\":[],\"depth\":0,\"fanout\":0}}", OBJECT_E_SCOPE},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                History h = {.node = "node-a", .now = HISTORY_BEGIN};
                json_t *data = history_json("{\"intent\":%s,\"context\":%s}", rows[i].intent, rows[i].context);

                crypto_sign_seed_keypair(h.public, h.secret, (const uint8_t *)"the seed of a key of the tests..");
                history_id(1, h.m.object);
                cr_expect_eq(history_try(&h, ENTRY_INSTANTIATED, NULL, data), rows[i].code, "%s: %s", rows[i].name, h.d.text);
                cr_expect_eq(h.m.n, 0, "%s", rows[i].name);
                history_end(&h);
        }
}

// O-54: no sequence of entries makes the fold grow without limit
Test(memory, bounds) {
        _cleanup_free_ char *text = NULL;
        char big[5000], node[32], id[REGION_ID_MAX];
        json_t *o;
        History h;

        memset(big, 'x', sizeof(big) - 1);
        big[sizeof(big) - 1] = 0;
        history_begin(&h, SKILL, NULL);
        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
        for (unsigned i = 0; i < 200; i++) {
                snprintf(node, sizeof(node), "node-%u", i);
                h.node = node;
                history_add(&h, ENTRY_STARTED, NULL, started());
                o = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s}", "kind", "negative", "latency_usec", 1, "capability", big, "reason",
                              big, "value", big, "remainder", big);
                history_add(&h, ENTRY_OUTCOME, o, json_pack("{s:{s:s}}", "next", "end", big));
        }
        cr_expect_eq(json_array_size(json_object_get(h.m.fold, "negative")), MEMORY_NEGATIVE_MAX);
        cr_expect_str_eq(json_str(json_array_get(json_object_get(h.m.fold, "negative"), MEMORY_NEGATIVE_MAX - 1), "node"),
                         "node-199", "the newest stay");
        cr_expect_not(json_object_get(json_object_get(h.m.fold, "last"), "value"));
        cr_expect_not(json_object_get(json_object_get(h.m.fold, "last"), "capability"));
        h.node = "node-a";
        for (unsigned i = 0; i < 12; i++) { /* nobody answers */
                history_add(&h, ENTRY_DELEGATION, NULL, delegation(&h, 500, "{\"mode\":\"quorum\",\"n\":500}", false));
                history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                history_add(&h, ENTRY_CHILD, NULL,
                            history_json("{\"child\":\"%s\",\"status\":\"non_response\",\"late\":false,\"serial\":%u}",
                                         history_id(1000 + 500 * i, id), i + 1));
        }
        cr_expect(json_object_size(json_object_get(h.m.fold, "children_ever")) <= MEMORY_CHILDREN_MAX);
        cr_expect(json_object_get(json_object_get(h.m.fold, "children_ever"), history_id(6999, id)), "the newest stay");
        for (unsigned i = 0; i < 40; i++) {
                history_add(&h, ENTRY_DELEGATION, NULL, delegation(&h, 1, "{\"mode\":\"all\"}", false));
                history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                answer(&h, h.ids - 1, "failure");
        }
        cr_expect_eq(json_object_size(json_object_get(h.m.fold, "closed")), MEMORY_CLOSED_MAX);
        cr_expect(json_object_get(json_object_get(h.m.fold, "closed"), "52"), "the newest stay");
        history_add(&h, ENTRY_DORMANT, NULL, dormant("sleep"));
        for (unsigned i = 0; i < 200; i++) {
                h.now++;
                history_add(&h, ENTRY_INPUT, NULL, json_pack("{s:s, s:s}", "from", "model", "input", big));
        }
        cr_expect_eq(json_array_size(json_object_get(json_object_get(h.m.fold, "counts"), "input")), MEMORY_COUNTS_MAX);
        cr_expect_eq(json_number(h.m.fold, "inputs"), 200);
        text = history_memory(&h.m);
        cr_expect(strlen(text) < 128 * 1024, "%zu bytes", strlen(text));
        history_end(&h);
}

// O-54: a checkpoint that is not the fold of the entries before is refused, and no memory begins there
Test(memory, checkpoints) {
        _cleanup_memory_ ObjectMemory begun = OBJECT_MEMORY_NULL;
        _cleanup_json_ json_t *fold = NULL, *other = NULL;
        _cleanup_entry_ Entry e = ENTRY_NULL;
        History h;

        history_begin(&h, SKILL, NULL);
        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
        run(&h, "failure");
        cr_assert_eq(memory_to_json(&h.m, &fold), 0);
        other = json_deep_copy(fold);
        json_object_set_new(json_object_get(other, "fold"), "successes", json_integer(1));
        cr_expect_eq(history_try(&h, ENTRY_CHECKPOINT, NULL, json_pack("{s:O}", "fold", other)), OBJECT_E_CHAIN);
        cr_expect_eq(h.m.checkpoint, 0);
        history_add(&h, ENTRY_CHECKPOINT, NULL, json_pack("{s:O}", "fold", fold));
        cr_expect_eq(h.m.checkpoint, h.m.n);
        json_object_set_new(other, "version", json_integer(2));
        cr_expect_eq(memory_from_json(other, h.m.object, &begun, &h.d), OBJECT_E_VERSION); // O-41
        history_make(&h, ENTRY_INPUT, NULL, NULL, &e);
        cr_expect_eq(memory_from_checkpoint(&e, &begun, &h.d), OBJECT_E_SYNTAX);
        history_end(&h);
}

// O-4, O-14, O-48, O-50: what the fold keeps of outcomes, through the steps of two rounds
Test(memory, steps) {
        static const struct {
                const char *kind;
                unsigned step, successes, attempts, weight10, timeouts;
        } rows[] = {
                {"failure", 0, 0, 1, 7, 0},  {"timeout", 0, 0, 2, 17, 1}, {"timeout", 0, 0, 3, 27, 2}, {"partial", 0, 0, 4, 30, 2},
                {"success", 1, 0, 0, 0, 0},  {"wait", 2, 0, 0, 0, 0},     {"denied", 2, 0, 1, 10, 0},  {"interrupted", 2, 0, 2, 13, 0},
                {"fault", 2, 0, 3, 20, 0},   {"negative", 2, 0, 4, 20, 0}, {"success", 0, 1, 0, 0, 0}, {"success", 1, 1, 0, 0, 0},
                {"wait", 2, 1, 0, 0, 0},     {"success", 0, 2, 0, 0, 0},
        };
        History h;

        history_begin(&h, STEPS, NULL);
        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                h.now += HISTORY_SEC;
                if (strcmp(rows[i].kind, "wait") == 0) {
                        history_add(&h, ENTRY_DORMANT, NULL, dormant("wait"));
                        history_add(&h, ENTRY_REENTRY, NULL, history_json("{\"trigger\":{},\"evidence\":{}}"));
                        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                } else {
                        run(&h, rows[i].kind);
                        cr_expect_str_eq(json_str(json_object_get(h.m.fold, "last"), "kind"), rows[i].kind);
                        cr_expect_eq(json_number(h.m.fold, "last_time"), h.now);
                        cr_expect_eq(json_number(h.m.fold, "latency_usec"), 1500);
                }
                cr_expect_not(json_object_get(h.m.fold, "started"), "row %zu", i);
                cr_expect_eq(json_number(h.m.fold, "step"), rows[i].step, "row %zu", i);
                cr_expect_eq(json_number(h.m.fold, "successes"), rows[i].successes, "row %zu", i);
                cr_expect_eq(json_number(h.m.fold, "attempts"), rows[i].attempts, "row %zu", i);
                cr_expect_eq(json_number(h.m.fold, "weight10"), rows[i].weight10, "row %zu", i);
                cr_expect_eq(json_number(h.m.fold, "timeouts"), rows[i].timeouts, "row %zu", i);
        }
        history_end(&h);
}

// O-38: the started execution is there until its outcome; an outcome of no kind is refused
Test(memory, started) {
        char trace[REGION_ID_MAX];
        History h;

        history_begin(&h, SKILL, NULL);
        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
        history_add(&h, ENTRY_STARTED, NULL, started());
        cr_expect_str_eq(json_str(json_object_get(h.m.fold, "started"), "trace"), history_id(900002, trace));
        cr_expect_str_eq(json_str(json_object_get(h.m.fold, "started"), "node"), "node-a");
        cr_expect_eq(history_try(&h, ENTRY_OUTCOME, outcome("great"), NULL), OBJECT_E_SYNTAX);
        cr_expect_eq(history_try(&h, ENTRY_OUTCOME, NULL, NULL), OBJECT_E_SYNTAX);
        cr_expect(json_object_get(h.m.fold, "started"));
        history_add(&h, ENTRY_OUTCOME, outcome("interrupted"), NULL);
        cr_expect_not(json_object_get(h.m.fold, "started"));
        history_end(&h);
}

// O-26: how an end looks to the parent
Test(memory, status) {
        static const struct {
                const char *reason, *last, *kind;
        } rows[] = {
                {"satisfied", "success", "success"}, {"policy", "failure", "denied"},      {"deadline", "failure", "timeout"},
                {"requested", NULL, "interrupted"},  {"attempts", "partial", "partial"},   {"attempts", "failure", "failure"},
                {"ended", "success", "success"},     {"ended", "negative", "negative"},    {"ended", NULL, "failure"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *status = NULL;
                History h;

                history_begin(&h, SKILL, NULL);
                history_add(&h, ENTRY_EVALUATION, NULL, NULL);
                if (rows[i].last)
                        run(&h, rows[i].last);
                cr_expect(memory_status(&h.m, &status) == 0 && !status, "row %zu", i);
                h.now += 9;
                history_add(&h, ENTRY_TERMINATED, NULL, history_json("{\"reason\":\"%s\"}", rows[i].reason));
                cr_assert_eq(memory_status(&h.m, &status), 0);
                cr_expect_str_eq(json_str(status, "kind"), rows[i].kind, "row %zu", i);
                cr_expect_eq(json_number(status, "latency_usec"), 9, "row %zu", i);
                history_end(&h);
        }
}

// O-23, O-25: constraints make the scope smaller that children have a part of
Test(memory, scope) {
        static const struct {
                const char *name, *constraints, *skills, *writes;
        } rows[] = {
                {"none", "[]", "\"*\"", "[\"a\",\"b\"]"},
                {"slots", "[{\"slots_write\":[\"b\",\"c\"]}]", "\"*\"", "[\"b\"]"},
                {"no slots", "[{\"slots_write\":[]}]", "\"*\"", "[]"},
                {"skills", "[{\"skills\":[\"convert\",\"fetch\"]}]", "[\"convert\",\"fetch\"]", "[\"a\",\"b\"]"},
                {"twice", "[{\"skills\":[\"convert\",\"fetch\"]},{\"skills\":[\"convert\"]},{\"slots_write\":[\"a\"]}]", "[\"convert\"]", "[\"a\"]"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *intent = NULL, *skills = NULL, *writes = NULL;
                _cleanup_json_ json_t *scope = NULL;
                History h;

                cr_assert(asprintf(&intent, "{\"do\":{\"skill\":\"convert\"},\"constraints\":%s}", rows[i].constraints) > 0);
                history_begin(&h, intent, "{\"skills\":\"*\",\"reads\":[],\"writes\":[\"a\",\"b\"],\"depth\":1,\"fanout\":1}");
                cr_assert_eq(memory_scope(&h.m, &scope), 0);
                skills = history_text(json_object_get(scope, "skills"));
                writes = history_text(json_object_get(scope, "writes"));
                cr_expect_str_eq(skills, rows[i].skills, "%s", rows[i].name);
                cr_expect_str_eq(writes, rows[i].writes, "%s", rows[i].name);
                history_end(&h);
        }
}
