/* How much a note, a run and a record may be: one more is refused, and nothing of it is written. */
#include "tests/governed/pipeline.h"

#include "record/event.h"

/* Puts a run's row as if so many notes had been added. */
static void notes_were(Pipe *p, unsigned notes) {
        char row[200];
        Txn *t = store_fixture_begin(&p->f, true);

        snprintf(row, sizeof(row), "{\"agent\":\"alice\",\"notes\":%u,\"processed\":0,\"scope\":%lu,\"settled\":0}", notes, p->run.scope);
        cr_assert_eq(table_put(t, TABLE_RUN, BYTES_STR(p->run.id), BYTES_STR(row)), 0);
        store_fixture_commit(&p->f, t);
}

static int add(Pipe *p, const char *text, size_t n) {
        Txn *t = store_fixture_begin(&p->f, true);
        uint64_t number, before, after;
        int r;

        cr_assert_eq(table_rows(t, TABLE_NOTE, &before), 0);
        r = engine_note_add(t, p->run.id, NOTE_AGENT, text, n, NULL, &number, &p->f.d);
        cr_assert_eq(table_rows(t, TABLE_NOTE, &after), 0);
        cr_expect_eq(after, before + (r == 0), "%d", r);
        store_fixture_commit(&p->f, t);
        return r;
}

// G-1, G-23: a note has 1 to 32768 bytes, a run 65536 notes
Test(bounds, notes) {
        static char text[NOTE_TEXT_MAX + 1];
        _cleanup_pipe_ Pipe p;

        memset(text, 'x', sizeof(text));
        pipe_init(&p);
        cr_expect_eq(add(&p, text, 0), ENGINE_E_EMPTY);
        cr_expect_eq(add(&p, text, 1), 0);
        cr_expect_eq(add(&p, text, NOTE_TEXT_MAX), 0);
        cr_expect_eq(add(&p, text, NOTE_TEXT_MAX + 1), ENGINE_E_TOO_LARGE);
        notes_were(&p, NOTES_MAX - 1);
        cr_expect_eq(add(&p, text, 1), 0);
        cr_expect_eq(add(&p, text, 1), ENGINE_E_TOO_MANY);
}

/* A skill whose body has so many canonical bytes: each of its steps is within its own bound. */
static json_t *skill_of(size_t bytes) {
        enum { STEP = 16000 };
        json_t *payload = json_pack("{s:s, s:[]}", "name", "large", "steps"), *steps = json_object_get(payload, "steps");
        static char text[2 * STEP];
        size_t n = strlen("{\"payload\":{\"name\":\"large\",\"steps\":[]}}");

        memset(text, 'x', sizeof(text));
        for (int i = 0; n < bytes; i++) {
                size_t left = bytes - n, around = strlen("{\"instruction\":\"\",\"order\":1000}") + (i > 0), take = left > 2 * STEP ? STEP : left > STEP ? left / 2 : left;

                cr_assert_gt(take, around);
                json_array_append_new(steps, json_pack("{s:s%, s:i}", "instruction", text, take - around, "order", 1000 + i));
                n += take;
        }
        return payload;
}

// G-23, M-11: 1 MiB of payload and what comes with it; beyond it mutation.refused is all that is there
Test(bounds, the_body_of_a_record) {
        static const struct {
                size_t bytes;
                int code;
        } rows[] = {{MUTATION_BODY_MAX, 0}, {MUTATION_BODY_MAX + 1, ENGINE_E_TOO_LARGE}, {3 * MUTATION_BODY_MAX, ENGINE_E_TOO_LARGE}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *payload = skill_of(rows[i].bytes), *entry = NULL;
                uint64_t bodies, seq, last;
                _cleanup_pipe_ Pipe p;
                Mutated m;
                Txn *t;

                pipe_init(&p);
                bodies = pipe_rows(&p, TABLE_BODY);
                t = store_fixture_begin(&p.f, true);
                cr_expect_eq(engine_mutate(t, &(Mutation){.kind = KIND_SKILL, .op = OP_SAVE, .id = "large", .payload = payload, .expect = MUTATION_ANY, .who = PIPE_WHO},
                                           &m, &p.f.d), rows[i].code, "%zu bytes: %s", rows[i].bytes, p.f.d.text);
                cr_assert_eq(ledger_state(t, &seq, &last), 0);
                cr_assert_eq(event_get(t, seq - 1, &entry), 0);
                store_fixture_commit(&p.f, t);
                cr_expect_str_eq(pipe_word(entry, "type"), rows[i].code ? "mutation.refused" : "memory.save");
                cr_expect_str_eq(pipe_word(entry, "code"), rows[i].code ? "too_large" : "");
                cr_expect_eq(pipe_rows(&p, TABLE_BODY), bodies + (rows[i].code == 0), "row %zu", i);
                pipe_holds(&p);
        }
}
