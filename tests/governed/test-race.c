#include "tests/governed/pipeline.h"

#include "record/event.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 10 };

typedef struct Worker {
        Store *store;
        NoteRun run;
        unsigned index;
        int r;
        Promoted sum;
        Diag d;
} Worker;

static int note(Worker *w, const char *text) {
        uint64_t number;
        Txn *t;
        int r = store_begin(w->store, true, &t, &w->d);

        if (r != 0)
                return r;
        r = engine_note_add(t, w->run.id, NOTE_AGENT, text, strlen(text), NULL, &number, &w->d);
        if (r == 0)
                return store_commit(t, &w->d);
        store_abort(t);
        return r;
}

static int promote(Worker *w) {
        Promoted sum;
        bool of_store;
        int r = belief_promote(w->store, &(Promoting){.run = w->run.id, .batch = 1 + w->index % 4, .policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO}, &sum,
                              &of_store, &w->d);

        if (r == 0) {
                w->sum.notes += sum.notes;
                w->sum.committed += sum.committed;
                w->sum.pending += sum.pending;
        }
        return r;
}

/* What each says: of rows of its own, of rows that all speak of, and of rows that another one makes, before or after that. */
static void *work(void *arg) {
        Worker *w = arg;
        char text[200];

        for (unsigned i = 0; w->r == 0 && i < ROUNDS; i++) {
                static const char *const forms[][2] = {{"issue own", ": only ours"}, {"task shared_task: at", ""}, {"decision: we take road number", ""},
                                                       {"resolve made_by", ": over"}, {"constraint shared_rule: never more than", ""},
                                                       {"issue made_by", ": to be resolved by the one before"}};

                for (unsigned k = 0; w->r == 0 && k < ARRAY_SIZE(forms); k++) {
                        unsigned whose = k == 3 ? (w->index + 1) % THREADS : w->index;

                        snprintf(text, sizeof(text), k == 0 || k == 3 || k == 5 ? "%s_%u_%u%s" : "%s %u %u%s", forms[k][0],
                                 whose, i, forms[k][1]);
                        w->r = note(w, text);
                }
                if (w->r == 0)
                        w->r = promote(w);
        }
        return NULL;
}

/* Rows as anybody sees them, without the sequences, which count other events, too. */
static json_t *belief(Store *s) {
        static const char *const counted[] = {"created", "last"};
        json_t *rows = NULL, *row;
        Txn *t;
        size_t i;
        Diag d;

        cr_assert_eq(store_begin(s, false, &t, &d), 0);
        cr_assert_eq(belief_list(t, pipe_scope(t), KIND_NONE, RECORD_NONE, &rows), 0);
        store_abort(t);
        json_array_foreach(rows, i, row)
                for (size_t k = 0; k < ARRAY_SIZE(counted); k++)
                        json_object_del(row, counted[k]);
        return rows;
}

/* Notes that had an effect, in the order of the ledger: [{"agent","text"}…] */
static json_t *said(Store *s) {
        json_t *list = json_array();
        uint64_t n, last;
        Txn *t;
        Diag d;

        cr_assert_eq(store_begin(s, false, &t, &d), 0);
        cr_assert_eq(ledger_state(t, &n, &last), 0);
        for (uint64_t i = 0; i < n; i++) {
                _cleanup_json_ json_t *entry = NULL, *body = NULL;
                const char *type;

                cr_assert_eq(event_get(t, i, &entry), 0);
                type = pipe_word(entry, "type");
                if ((strncmp(type, "canon.", 6) == 0 && !json_object_get(entry, "pending")) || strcmp(type, "note.pending") == 0) {
                        cr_assert_eq(record_body(t, i, &body), 0);
                        json_array_append_new(list, json_pack("{s:s, s:s}", "agent", pipe_word(entry, "agent"), "text",
                                                              pipe_word(body, *type == 'c' ? "raw_input" : "note")));
                }
        }
        store_abort(t);
        return list;
}

/* Is an item open that would end the row: said before the row was there (G-62)? */
static bool waits_for(Pipe *p, const char *id) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        bool found = false;
        Wait w = {0};

        while (!found && wait_next(t, w.id + 1, 0, WAIT_OPEN, &w) == 0) {
                _cleanup_json_ json_t *body = NULL;

                cr_assert_eq(record_body(t, w.id, &body), 0);
                found = json_text_is(json_object_get(json_object_get(body, "request"), "target_id"), id);
        }
        return found;
}

// G-54: 8 threads at once lose nothing, see each other's rows, and leave what the same notes leave one after the other, in the ledger's order
Test(race, of_threads_is_some_serial_order) {
        _cleanup_json_ json_t *rows = NULL, *again = NULL, *notes = NULL, *row = NULL;
        uint64_t pending = 0, committed = 0;
        Worker workers[THREADS] = {0};
        pthread_t threads[THREADS];
        NoteRun runs[THREADS];
        json_t *one;
        size_t i;

        {
                _cleanup_pipe_ Pipe p;

                pipe_init(&p);
                for (unsigned k = 0; k < THREADS; k++) {
                        char agent[20];

                        snprintf(agent, sizeof(agent), "agent%u", k);
                        workers[k] = (Worker){.store = p.f.store, .index = k, .run = pipe_begin(&p, agent)};
                }
                for (unsigned k = 0; k < THREADS; k++)
                        cr_assert_eq(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
                for (unsigned k = 0; k < THREADS; k++) {
                        pthread_join(threads[k], NULL);
                        cr_assert_eq(workers[k].r, 0, "%d %s", workers[k].r, workers[k].d.text);
                        cr_expect_eq(workers[k].sum.notes, ROUNDS * 6);
                        committed += workers[k].sum.committed;
                        pending += workers[k].sum.pending;
                }
                cr_expect_eq(committed + pending, THREADS * ROUNDS * 6);
                row = pipe_row(&p, "task_state", "shared_task");
                cr_expect_eq(json_integer_value(json_object_get(row, "version")), THREADS * ROUNDS);
                json_decref(row);
                row = pipe_row(&p, "constraints", "shared_rule");
                cr_expect_eq(json_integer_value(json_object_get(row, "version")), THREADS * ROUNDS);
                for (unsigned k = 0; k < THREADS; k++)
                        for (unsigned j = 0; j < ROUNDS; j++) {
                                _cleanup_json_ json_t *made = NULL;
                                char id[40];

                                snprintf(id, sizeof(id), "made_by_%u_%u", k, j);
                                made = pipe_row(&p, "issues", id);
                                cr_expect_str_eq(pipe_word(made, "state"), waits_for(&p, id) ? "open" : "resolved", "%s", id);
                        }
                rows = belief(p.f.store);
                notes = said(p.f.store);
                pipe_holds(&p);
        }
        cr_expect_eq(json_array_size(notes), THREADS * ROUNDS * 6);
        {
                _cleanup_pipe_ Pipe p;

                pipe_init(&p);
                for (unsigned k = 0; k < THREADS; k++) {
                        char agent[20];

                        snprintf(agent, sizeof(agent), "agent%u", k);
                        runs[k] = pipe_begin(&p, agent);
                }
                json_array_foreach(notes, i, one) {
                        const char *run = runs[pipe_word(one, "agent")[5] - '0'].id;

                        pipe_note(&p, run, NOTE_AGENT, pipe_word(one, "text"));
                        pipe_promote(&p, run, 1, NULL);
                }
                again = belief(p.f.store);
                pipe_holds(&p);
        }
        cr_expect_eq(json_array_size(rows), json_array_size(again));
        json_array_foreach(rows, i, one)
                cr_expect(json_equal(one, json_array_get(again, i)), "%s %s", pipe_word(one, "bucket"), pipe_word(one, "id"));
}

typedef struct Reader {
        Pipe *p;
        json_t *before, *after;
} Reader;

static void *read_rows(void *arg) {
        Reader *r = arg;

        r->before = pipe_row(r->p, "issues", "net_down");
        r->after = pipe_row(r->p, "issues", "second_one");
        return NULL;
}

// G-53: who reads is through while somebody's write is not, and sees what was there before it
Test(race, readers_wait_for_no_writer) {
        _cleanup_json_ json_t *payload = json_pack("{s:s}", "title", "another"), *row = NULL;
        _cleanup_pipe_ Pipe p;
        Reader r = {.p = &p};
        pthread_t thread;
        Mutated m;
        Txn *t;
        Diag d;

        pipe_init(&p);
        pipe_say(&p, "issue net_down: the network is down", NULL);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(engine_mutate(t, &(Mutation){.who = PIPE_WHO, .kind = KIND_ISSUE, .op = OP_UPSERT, .id = "second_one", .expect = MUTATION_ANY, .payload = payload}, &m,
                                   &d), 0, "%s", d.text);
        cr_assert_eq(pthread_create(&thread, NULL, read_rows, &r), 0);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        cr_expect(r.before && !r.after);
        store_fixture_commit(&p.f, t);
        json_decref(r.before);
        row = pipe_row(&p, "issues", "second_one");
        cr_expect_not_null(row);
        pipe_holds(&p);
}
