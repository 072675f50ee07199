/* Runs: CLI. */
#include "audit/regions.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/size.h"
#include "cli/audit.h"
#include "cli/query.h"

#include <inttypes.h>

static json_t *regions_number_or_null(uint64_t v) {
        return v ? json_u64(v) : json_null();
}

static json_t *regions_row_json(const RegionFacts *f) {
        _cleanup_json_ json_t *applies = json_array();
        char a[CLOCK_TEXT_MAX], b[CLOCK_TEXT_MAX], c[CLOCK_TEXT_MAX];

        for (RegionQuestion q = 0; applies && q < REGION_QUESTIONS_N; q++)
                if (region_question_is(q, f) &&
                    json_array_append_new(applies, json_string(region_questions[q].word)) < 0)
                        return NULL;
        if (!applies)
                return NULL;
        return json_pack(
                "{s:s, s:{s:s, s:s}, s:s, s:s?, s:s?, s:s?, s:s, s:s, s:O?, s:s, s:s, s:s, s:O?, s:o, s:b, s:O, s:O?, s:O?, "
                "s:{s:o, s:o, s:o, s:o}}",
                "region", f->id, "skill", "name", f->skill, "digest", f->digest, "allocated",
                clock_format(f->allocated_usec, a), "released", f->released ? clock_format(f->released_usec, b) : NULL,
                "ended", f->ended ? clock_format(f->ended_usec, c) : NULL, "outcome", f->ended ? f->outcome : NULL,
                "tier", f->tier, "key_scope", f->scope, "beyond_parent", f->beyond, "discipline", f->asked, "grade",
                facts_text(f, "grade"), "proof", f->ended ? proof_name(facts_proof(f)) : "alive", "teardown",
                f->teardown, "bound_usec", regions_number_or_null(f->bound_usec), "alive", f->ended == 0 && !f->orphan,
                "applies", applies, "session", f->session, "turn", f->turn, "ledger", "allocated", json_u64(f->allocated), "released",
                regions_number_or_null(f->released), "recovered", regions_number_or_null(f->recovered), "ended",
                regions_number_or_null(f->ended));
}

static json_t *regions_answers_json(const History *h) {
        _cleanup_json_ json_t *o = json_object();

        for (RegionQuestion q = 0; o && q < REGION_QUESTIONS_N; q++) {
                json_t *list = json_array();

                if (json_object_set_new(o, region_questions[q].word, list) < 0)
                        return NULL;
                for (size_t i = 0; i < h->n; i++)
                        if (region_question_is(q, h->regions[i]) &&
                            json_array_append_new(list, json_string(h->regions[i]->id)) < 0)
                                return NULL;
        }
        return TAKE_PTR(o);
}

/* Tells whether the answer is good: of a single question, or of all questions that can fail. */
static bool regions_hold(const History *h, const RegionQuestion *only) {
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (only ? q == *only : region_questions[q].fails)
                        for (size_t i = 0; i < h->n; i++)
                                if (region_question_is(q, h->regions[i]))
                                        return false;
        return true;
}

static json_t *regions_to_json(const History *h, const QueryOptions *query, const RegionQuestion *only) {
        _cleanup_json_ json_t *list = json_array(), *answers = regions_answers_json(h);

        for (size_t i = 0; list && i < h->n; i++)
                if ((!only || region_question_is(*only, h->regions[i])) &&
                    json_array_append_new(list, regions_row_json(h->regions[i])) < 0)
                        return NULL;
        if (!list || !answers)
                return NULL;
        return json_pack("{s:i, s:b, s:s, s:o, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:O, s:O}", "version", 1,
                         "holds", regions_hold(h, only), "origin", h->origin, "entries", json_u64(h->entries), "root",
                         h->root, "question", only ? region_questions[*only].word : NULL, "since", query->since,
                         "until", query->until, "skill", query->q.skill, "scope", query->q.scope, "count",
                         json_u64(h->n), "answers", answers, "regions", list);
}

static void regions_print_row(const RegionFacts *f) {
        char time[CLOCK_TEXT_MAX], over[SIZE_TEXT_MAX], took[SIZE_TEXT_MAX], bound[SIZE_TEXT_MAX];
        const char *grade = facts_text(f, "grade");

        printf("%s  %.19sZ  ", f->id, clock_format(f->allocated_usec, time));
        cli_print_safe(f->skill);
        if (f->ended == 0)
                printf("  %s", f->orphan ? "never released, supervisor gone" : "alive");
        else
                printf("  %s  %s  %s  %s overwritten  %s of %s", f->outcome, *f->asked ? f->asked : "?",
                       *grade ? grade : "no record", size_format(facts_number(f, "bytes_overwritten"), over),
                       duration_format(facts_number(f, "usec"), took),
                       f->bound_usec ? duration_format(f->bound_usec, bound) : "no bound");
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_question_is(q, f))
                        printf("  %s%s", region_questions[q].fails ? "!" : "", region_questions[q].word);
        putchar('\n');
}

static void regions_print_answers(const History *h, const RegionQuestion *only) {
        size_t alive = 0;

        for (size_t i = 0; i < h->n; i++)
                alive += h->regions[i]->ended == 0 && !h->regions[i]->orphan;
        if (h->n == 0)
                printf("no region matches the filters\n");
        printf("%zu region%s (%zu alive) in %" PRIu64 " entries of %s\nroot %s\n", h->n, h->n == 1 ? "" : "s", alive,
               h->entries, h->origin, h->root);
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++) {
                size_t n = 0;

                if (only && q != *only)
                        continue;
                for (size_t i = 0; i < h->n; i++)
                        n += region_question_is(q, h->regions[i]);
                printf("  %-10s  ", region_questions[q].word);
                if (n > 0)
                        printf("%zu %s\n", n, region_questions[q].what);
                else
                        printf("none %s\n", region_questions[q].what);
        }
}

static int regions_not_a_question(const char *word) {
        _cleanup_buf_ Buf list = {0};

        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (buf_printf(&list, "%s%s", q > 0 ? ", " : "", region_questions[q].word) < 0)
                        break;
        return cli_usage("audit", "'%s' is not a question about regions; the questions are: %.*s", word, (int)list.n,
                         list.n > 0 ? list.data : "");
}

/* Regions are not judged when their record differs from the signed record. */
static int regions_no_answer(const Store *s, bool json, int r, const Diag *d) {
        if (r == HISTORY_E_BROKEN && json) {
                _cleanup_json_ json_t *o = json_pack("{s:i, s:b, s:{s:s}}", "version", 1, "holds", false, "problem",
                                                     "what", d->text);

                (void)print_json(stdout, o);
        }
        return audit_failed(s, r, d);
}

int cmd_audit_regions(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTIONS_QUERY, {0}};
        _cleanup_history_ History h = {0};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        RegionQuestion question, *only = NULL;
        StoreOptions o = {.help = audit_help, .once = QUERY_ONCE};
        QueryOptions query;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (optind < argc) {
                if (region_question_parse(argv[optind], &question) < 0)
                        return regions_not_a_question(argv[optind]);
                only = &question;
                optind++;
        }
        if (optind < argc)
                return cli_usage("audit", "'%s' is an extra argument", argv[optind]);
        if (query_options(&query, o.value, &d) < 0)
                return cli_usage("audit", "%s", d.text);
        r = with_store("audit", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return audit_not_opened(&o, "holds", r);
        r = store_begin(s, false, &t, &d) ?: history_read(t, &query.q, &h, &d);
        if (r != 0)
                return regions_no_answer(s, o.json, r, &d);
        if (query_check_skill(&query, &h, &d) < 0)
                return cli_fail("audit", EXIT_USAGE, "%s", d.text);
        r = regions_hold(&h, only) ? EXIT_OK : EXIT_NOT;
        if (o.json)
                return cli_print("audit", r, regions_to_json(&h, &query, only));
        for (size_t i = 0; i < h.n; i++)
                if (!only || region_question_is(*only, h.regions[i]))
                        regions_print_row(h.regions[i]);
        regions_print_answers(&h, only);
        return cli_done("audit", r);
}
