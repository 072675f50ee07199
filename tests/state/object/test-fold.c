/* Random histories of objects, the same for the same seed: what a fold and a selection must keep in each of them. */
#include "tests/state/object/history.h"

#define FOLD_HISTORIES 60
#define FOLD_CYCLES 60

#define FOLD_SCOPE "{\"skills\":[\"convert\",\"fetch\"],\"reads\":[\"go\"],\"writes\":[],\"depth\":2,\"fanout\":6}"
#define FOLD_MAY "\"with\":{\"timeout\":\"10s\",\"may\":[\"delegate\",\"sleep\",\"mutate\"]}"
#define FOLD_CHILD "{\"do\":{\"skill\":\"fetch\"}}"

static const char *const fold_intents[] = {
        "{\"do\":{\"skill\":\"convert\",\"args\":[\"a\",\"b\",\"c\",\"d\"]},\"until\":\"never\"}",
        "{\"do\":{\"skill\":\"convert\",\"args\":[\"a\",\"b\"]},\"until\":{\"success\":3}," FOLD_MAY "}",
        ("{\"do\":{\"steps\":[{\"skill\":\"fetch\"},{\"wait\":{\"any\":[{\"prerequisite\":{\"slot\":\"go\"}},{\"elapsed\":{\"for\":\"20s\"}}]}},"
        "{\"skill\":\"convert\",\"args\":[\"x\",\"y\"]}]},\"until\":\"never\"," FOLD_MAY "}"),
        "{\"do\":{\"delegate\":[" FOLD_CHILD "," FOLD_CHILD "," FOLD_CHILD "],\"gather\":{\"mode\":\"all\",\"within\":\"30s\"}},\"until\":{\"success\":4}}",
        "{\"do\":{\"steps\":[{\"delegate\":[" FOLD_CHILD "," FOLD_CHILD "],\"gather\":{\"mode\":\"collect\"}},{\"delegate\":[" FOLD_CHILD
        "," FOLD_CHILD "," FOLD_CHILD "," FOLD_CHILD "],\"gather\":{\"mode\":\"quorum\",\"n\":2}}]},\"until\":\"never\"," FOLD_MAY "}",
        "{\"do\":{\"skill\":\"convert\"},\"until\":{\"slot\":\"go\",\"above\":6},\"with\":{\"attempts\":9,\"may\":[\"end\"]},"
        "\"constraints\":[{\"deadline\":\"10m\"}]}",
};

/* Proposals; each is there for intents that allow it, and for those that do not. */
static const char *const fold_proposals[] = {
        "{\"end\":\"I am sure\"}",
        "{\"sleep\":{\"elapsed\":{\"for\":\"3s\"}}}",
        "{\"sleep\":{\"prerequisite\":{\"slot\":\"secret\"}}}",
        "{\"sleep\":{\"prerequisite\":{\"slot\":\"go\",\"above\":3}}}",
        "{\"delegate\":[" FOLD_CHILD "],\"gather\":{\"mode\":\"any\"}}",
        "{\"delegate\":[{\"do\":{\"skill\":\"shell\"}}]}",
        "{\"delegate\":[" FOLD_CHILD "," FOLD_CHILD "],\"gather\":{\"within\":\"9s\"}}",
        "{\"mutate\":{\"how\":\"narrow\",\"intent\":{\"do\":{\"skill\":\"convert\",\"args\":[\"b\"]},\"until\":{\"success\":3}," FOLD_MAY "}}}",
        "{\"mutate\":{\"how\":\"rescope\",\"intent\":{\"do\":{\"skill\":\"shell\"},\"until\":\"never\"}}}",
        "[1]",
        "{\"end\":7,\"sleep\":{}}",
        "\"terminate\"",
};

static unsigned fold_below(uint64_t *seed, unsigned n) {
        *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
        return (unsigned)(*seed >> 33) % n;
}

static json_t *fold_local(History *h, uint64_t *seed) {
        json_t *local, *facts = json_object(), *slots = json_object();
        unsigned what = fold_below(seed, 12);

        if (fold_below(seed, 3) > 0)
                json_object_set_new(slots, "go", json_pack("{s:i, s:i}", "version", fold_below(seed, 9), "value", fold_below(seed, 9)));
        else
                json_object_set_new(slots, "go", json_null());
        json_object_set_new(facts, "slots", slots);
        json_object_set_new(facts, "objects", json_object());
        json_object_set_new(facts, "events", json_array());
        local = history_local(h, what == 0 ? "denied" : "allowed", NULL);
        json_object_set_new(local, "facts", facts);
        if (what < 3)
                json_object_set_new(json_object_get(local, "policy"), "ref", json_string("sha256:other"));
        if (what == 4)
                json_object_set_new(json_object_get(json_object_get(local, "policy"), "allows"),
                                    fold_below(seed, 2) ? "delegation" : "execution", json_false());
        return local;
}

/* Facts alone that select_needs() names. */
static json_t *fold_needed(const ObjectMemory *m, const json_t *local) {
        const json_t *slots = json_object_get(json_object_get(local, "facts"), "slots"), *name;
        _cleanup_json_ json_t *needs = NULL;
        json_t *copy = json_deep_copy(local), *only = json_object();
        size_t i;

        cr_assert_eq(select_needs(m, &needs), 0);
        json_array_foreach(json_object_get(needs, "slots"), i, name)
                if (json_object_get(slots, json_text(name)))
                        json_object_set(only, json_text(name), json_object_get(slots, json_text(name)));
        json_object_set_new(json_object_get(copy, "facts"), "slots", only);
        return copy;
}

static char *fold_answer(const ObjectMemory *m, const json_t *local) {
        _cleanup_(selected_deinit) Selected s = {0};
        _cleanup_json_ json_t *all = NULL;
        Diag d;
        int r = select_action(m, local, &s, &d);

        all = json_pack("{s:i, s:s, s:s*, s:O*, s:O*}", "r", r, "action", object_action_name(s.action), "reason", s.reason, "data",
                        s.data, "unmet", s.unmet);
        return history_text(all);
}

static void fold_from_lines(const Buf *lines, size_t from, ObjectMemory *ret) {
        const char *line = lines->data + from, *end;

        for (; *line; line = end + 1) {
                _cleanup_entry_ Entry e = ENTRY_NULL;
                Diag d;

                end = strchr(line, '\n');
                cr_assert_eq(entry_parse(line, (size_t)(end - line), &e, &d), 0, "%s", d.text);
                if (ret->n == 0 && e.kind == ENTRY_CHECKPOINT)
                        cr_assert_eq(memory_from_checkpoint(&e, ret, &d), 0, "%s", d.text);
                else
                        cr_assert_eq(memory_apply(ret, &e, &d), 0, "%s", d.text);
        }
}

/* O-11, O-13, O-39: a copy through JSON, a copy through the lines, and the memory itself select the same. */
static void fold_expect_same(const History *h, const json_t *local, unsigned history) {
        _cleanup_memory_ ObjectMemory read = OBJECT_MEMORY_NULL, folded = OBJECT_MEMORY_NULL;
        _cleanup_free_ char *text = history_memory(&h->m), *of_lines = NULL;
        _cleanup_free_ char *one = fold_answer(&h->m, local), *two = NULL, *three = NULL, *four = NULL;
        _cleanup_json_ json_t *v = NULL, *needed = fold_needed(&h->m, local);
        Diag d;

        cr_assert_eq(json_parse(text, strlen(text), 1 << 22, 128, &v, &d), 0, "%s", d.text);
        cr_assert_eq(memory_from_json(v, h->m.object, &read, &d), 0, "%s", d.text);
        fold_from_lines(&h->lines, 0, &folded);
        of_lines = history_memory(&folded);
        two = fold_answer(&read, local);
        three = fold_answer(&folded, local);
        four = fold_answer(&h->m, needed);
        cr_assert_str_eq(of_lines, text, "history %u, entry %u", history, (unsigned)h->m.n);
        cr_assert_str_eq(one, two, "history %u, entry %u: through JSON", history, (unsigned)h->m.n);
        cr_assert_str_eq(one, three, "history %u, entry %u: through lines", history, (unsigned)h->m.n);
        cr_assert_str_eq(one, four, "history %u, entry %u: with the facts of select_needs()", history, (unsigned)h->m.n);
}

/* O-18, O-20: an entry of a kind that does not follow, or with a wrong number, changes nothing. */
static void fold_expect_refused(History *h, uint64_t *seed, unsigned history) {
        EntryKind kind = fold_below(seed, ENTRY_KIND_COUNT_);
        ObjectState to = entry_kind_state(kind);
        bool number = fold_below(seed, 4) == 0;
        _cleanup_free_ char *before = NULL, *after = NULL;
        _cleanup_entry_ Entry e = ENTRY_NULL;

        if (to == OBJECT_NONE ? h->m.state != OBJECT_TERMINATED || kind == ENTRY_ADOPTED : object_state_can_move(h->m.state, to))
                number = true;
        history_make(h, kind, NULL, NULL, &e);
        if (number)
                e.n += fold_below(seed, 2) ? 1 : UINT64_MAX;
        before = history_memory(&h->m);
        cr_assert(memory_apply(&h->m, &e, &h->d) > 0, "history %u: %s in state %s", history, entry_kind_name(kind),
                  object_state_name(h->m.state));
        after = history_memory(&h->m);
        cr_assert_str_eq(before, after, "history %u: %s was refused, and changed the memory", history, entry_kind_name(kind));
}

/* No proposal is taken that with.may does not name (O-23, O-45). */
static void fold_expect_allowed(const History *h, const Selected *s, unsigned history) {
        static const struct {
                const char *reason, *may;
                ObjectAction action;
        } rows[] = {
                {"proposed", "delegate", ACTION_DELEGATION}, {"proposed", "mutate", ACTION_MUTATION},
                {"sleep", "sleep", ACTION_DORMANCY},         {"ended", "end", ACTION_TERMINATION},
        };
        const json_t *may = json_object_get(json_object_get(h->m.intent, "with"), "may"), *word;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                bool named = false;
                size_t k;

                if (s->action != rows[i].action || strcmp(s->reason, rows[i].reason) != 0)
                        continue;
                json_array_foreach(may, k, word)
                        named = named || json_text_is(word, rows[i].may);
                cr_assert(named, "history %u: %s was taken, and with.may does not name it", history, rows[i].may);
        }
        cr_assert(s->action == ACTION_NONE || select_evaluates_first(h->m.state, s->action) ||
                          object_state_can_move(h->m.state, OBJECT_EXECUTION + (int)s->action - (int)ACTION_EXECUTION),
                  "history %u", history);
}

/* One of the children without an answer ends, or answers late. */
static void fold_answer_child(History *h, uint64_t *seed) {
        static const char *const kinds[] = {"success", "success", "failure", "partial", "timeout"};
        const json_t *ever = json_object_get(h->m.fold, "children_ever");
        size_t n = json_object_size(ever), pick = n > 0 ? fold_below(seed, (unsigned)n) : 0;
        json_t *child, *note;
        const char *id;

        json_object_foreach((json_t *)ever, id, child)
                if (pick-- == 0) {
                        _cleanup_json_ json_t *o = history_json("{\"kind\":\"%s\",\"latency_usec\":5,\"value\":[1,2]}", kinds[fold_below(seed, 5)]);

                        cr_assert_eq(memory_child_note(&h->m, id, o, &note, &h->d), 0, "%s", h->d.text);
                        break;
                }
        if (n > 0)
                history_add(h, ENTRY_CHILD, NULL, note);
}

static void fold_outcome(History *h, uint64_t *seed) {
        json_t *o = history_json("{\"latency_usec\":%u}", fold_below(seed, 20000000)), *data = NULL;
        OutcomeKind k = fold_below(seed, 2) ? OUTCOME_KIND_SUCCESS : fold_below(seed, OUTCOME_KIND_COUNT_);

        json_object_set_new(o, "kind", json_string(outcome_kind_name(k)));
        if (k == OUTCOME_KIND_PARTIAL)
                json_object_set_new(o, "remainder", fold_below(seed, 2) ? json_pack("[s]", "rest") : json_string("from 7"));
        if (k == OUTCOME_KIND_NEGATIVE)
                json_object_set_new(o, "capability", json_string("gpu"));
        if (fold_below(seed, 2))
                data = json_pack("{s:o}", "next", history_json("%s", fold_proposals[fold_below(seed, ARRAY_SIZE(fold_proposals) - 1)]));
        history_add(h, ENTRY_OUTCOME, o, data);
}

static void fold_happen(History *h, uint64_t *seed) {
        _cleanup_json_ json_t *silent = NULL, *fold = NULL;
        json_t *note;
        size_t i;

        switch (fold_below(seed, 8)) {
        case 0:
                history_add(h, ENTRY_INPUT, NULL, history_json("{\"from\":\"model\",\"input\":{\"end\":\"terminate\"}}"));
                break;
        case 1:
        case 2:
        case 3:
                fold_answer_child(h, seed);
                break;
        case 4:
                cr_assert_eq(memory_non_responses(&h->m, h->now, &silent), 0);
                json_array_foreach(silent, i, note)
                        history_add(h, ENTRY_CHILD, NULL, json_incref(note));
                break;
        case 5:
                cr_assert_eq(memory_to_json(&h->m, &fold), 0);
                history_add(h, ENTRY_CHECKPOINT, NULL, json_pack("{s:O}", "fold", fold));
                break;
        case 6: /* on request, now and then */
                if (fold_below(seed, 8) == 0 && object_state_can_move(h->m.state, OBJECT_TERMINATED))
                        history_add(h, ENTRY_TERMINATED, NULL, history_json("{\"reason\":\"requested\"}"));
                break;
        default:
                break;
        }
        h->node = fold_below(seed, 4) == 0 ? "node-b" : "node-a";
        h->now += fold_below(seed, 5) == 0 ? fold_below(seed, 90) * HISTORY_SEC : fold_below(seed, 3000000);
        if (fold_below(seed, 40) == 0)
                h->now -= MIN(h->now - HISTORY_BEGIN, 100 * HISTORY_SEC); /* clocks are set back */
}

/* From the start and from each checkpoint the same (O-17, O-54). */
static void fold_expect_folds(const History *h, unsigned history, unsigned *ret_checkpoints) {
        _cleanup_free_ char *text = history_memory(&h->m);
        const char *line = h->lines.data;

        for (; *line; line = strchr(line, '\n') + 1) {
                _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                _cleanup_free_ char *folded = NULL, *head = strndup(line, (size_t)(strchr(line, '\n') - line));

                if (line != h->lines.data && !strstr(head, "\"kind\":\"checkpoint\""))
                        continue;
                *ret_checkpoints += line != h->lines.data;
                fold_from_lines(&h->lines, (size_t)(line - h->lines.data), &m);
                folded = history_memory(&m);
                cr_assert_str_eq(folded, text, "history %u: folded from offset %zu", history, (size_t)(line - h->lines.data));
                cr_assert_eq(m.checkpoint, h->m.checkpoint);
        }
}

// O-4, O-10, O-11, O-13, O-17..O-20, O-23, O-27, O-34, O-39, O-44, O-47, O-53, O-54: properties of random histories
Test(fold, histories) {
        unsigned actions[ACTION_COUNT_] = {0}, ends = 0, checkpoints = 0, late = 0;

        for (unsigned i = 0; i < FOLD_HISTORIES; i++) {
                uint64_t seed = 1000 + i;
                History h;

                history_begin(&h, fold_intents[i % ARRAY_SIZE(fold_intents)], FOLD_SCOPE);
                for (unsigned c = 0; c < FOLD_CYCLES && h.m.state != OBJECT_TERMINATED; c++) {
                        _cleanup_json_ json_t *local = fold_local(&h, &seed);
                        _cleanup_(selected_deinit) Selected s = {0};

                        if (c % 5 == 0)
                                fold_expect_same(&h, local, i);
                        fold_expect_refused(&h, &seed, i);
                        history_select(&h, local, &s);
                        actions[s.action]++;
                        fold_expect_allowed(&h, &s, i);
                        history_perform(&h, &s);
                        if (h.m.state == OBJECT_EXECUTION && fold_below(&seed, 5) > 0)
                                fold_outcome(&h, &seed);
                        if (h.m.state != OBJECT_TERMINATED)
                                fold_happen(&h, &seed);
                        if (h.m.state == OBJECT_EXECUTION && fold_below(&seed, 2) > 0)
                                history_add(&h, ENTRY_OUTCOME, history_json("{\"kind\":\"interrupted\"}"), NULL);
                }
                ends += h.m.state == OBJECT_TERMINATED;
                while (h.m.state == OBJECT_TERMINATED && json_object_size(json_object_get(h.m.fold, "children_ever")) > 0) {
                        fold_answer_child(&h, &seed);
                        late++;
                }
                fold_expect_refused(&h, &seed, i);
                fold_expect_folds(&h, i, &checkpoints);
                history_end(&h);
        }
        for (ObjectAction a = ACTION_NONE; a < ACTION_COUNT_; a++)
                cr_expect(actions[a] >= 3, "only %u of %s: the histories show too little", actions[a], object_action_name(a));
        cr_expect(ends >= 3 && checkpoints >= 20 && late >= 1, "ends %u, checkpoints %u, late %u", ends, checkpoints, late);
}
