#include "audit/report-html.h"
#include "audit/map.h"
#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FLAGGED_MOST 500
#define LISTED_MOST 1000

typedef struct ReportSum {
        uint64_t n, proved, unproved, late, overwritten, slowest_usec;
} ReportSum;

/* The sum under a name; a new name gets a new sum. NULL, and r->error is set, when out of memory. */
static ReportSum *report_sum(Report *r, Map *m, const char *name) {
        ReportSum *s = map_have(m, name, sizeof(*s));

        if (!s)
                r->error = -ENOMEM;
        return s;
}

static int report_by_name(const void *a, const void *b) {
        const struct MapItem *const *x = a, *const *y = b;

        return strcmp((*x)->key, (*y)->key);
}

/* The map's items by name: owned array of borrowed items; NULL for an empty map. */
static const struct MapItem **report_sorted(Report *r, const Map *m) {
        const struct MapItem **list = m->n ? calloc(m->n, sizeof(*list)) : NULL;
        size_t n = 0;

        if (m->n && !list)
                r->error = -ENOMEM;
        for (size_t i = 0; list && i < m->room; i++)
                if (m->items[i].key)
                        list[n++] = &m->items[i];
        if (list)
                qsort(list, n, sizeof(*list), report_by_name);
        return list;
}

static void report_tags(Report *r, const RegionFacts *f) {
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_question_is(q, f))
                        report_put(r, "<span class=\"tag%s\">%s</span>", region_questions[q].fails ? " bad" : "",
                                   region_questions[q].word);
}

/* A table wider than the screen scrolls separately, also by the keyboard. */
void report_table_head(Report *r, const char *class, const char *label, const char *const *names) {
        report_put(r,
                   "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table of %s\"><table "
                   "class=\"%s\"><thead><tr>",
                   label, class);
        for (; *names; names++) /* a leading + marks a column of numbers, aligned to the right */
                report_put(r, "<th scope=\"col\"%s>%s</th>", **names == '+' ? " class=\"n\"" : "",
                           *names + (**names == '+'));
        report_put(r, "</tr></thead><tbody>");
}

static void report_text_cell(Report *r, bool bad, const char *text) {
        report_put(r, "<td%s>", bad ? " class=\"bad\"" : "");
        report_put_text(r, text);
        report_put(r, "</td>");
}

/* The skill; behind it the session and the number of a turn (I-87), or that the region is a session's own. */
static void report_skill_cell(Report *r, const RegionFacts *f) {
        uint64_t turn = 0;

        report_put(r, "<td>");
        report_put_text(r, f->skill);
        if (f->session) {
                json_get_u64(f->turn, &turn);
                report_put(r, "<small> turn %" PRIu64 " of session <span class=\"mono\">", turn);
                report_put_text(r, json_text(f->session) ?: "");
                report_put(r, "</span></small>");
        } else if (strcmp(f->tier, "session") == 0)
                report_put(r, "<small> a session</small>");
        report_put(r, "</td>");
}

/* Begins a region's row: id, skill, time of allocation. */
static void report_row_begin(Report *r, const RegionFacts *f, bool bad) {
        report_put(r, "<tr%s><td class=\"mono\">%s</td>", bad ? " class=\"bad\"" : "", f->id);
        report_skill_cell(r, f);
        report_put(r, "<td class=\"time\">");
        report_put_time(r, f->allocated_usec);
        report_put(r, "</td>");
}

static void report_bytes_cell(Report *r, const RegionFacts *f, const char *member, bool bad) {
        report_put(r, "<td class=\"n%s\">", bad ? " bad" : "");
        if (json_object_get(f->teardown, member))
                report_put_size(r, facts_number(f, member));
        else
                report_put(r, "not said");
        report_put(r, "</td>");
}

static void report_times_cells(Report *r, const RegionFacts *f) {
        char text[SIZE_TEXT_MAX];

        report_put(r, "<td class=\"n%s\">%s</td><td class=\"n\">", facts_late(f) ? " bad" : "",
                   f->ended ? duration_format(facts_number(f, "usec"), text) : "");
        report_put(r, "%s</td>", f->bound_usec ? duration_format(f->bound_usec, text) : "none");
}

/* Missed bytes, by reason; a record may also have a single number, and is skipped here. */
static void report_missed(Report *r, const json_t *reasons) {
        const char *reason;
        json_t *bytes;
        uint64_t n;

        json_object_foreach((json_t *)reasons, reason, bytes) {
                if (json_get_u64(bytes, &n) < 0 || n == 0)
                        continue;
                report_put(r, "Missed: ");
                report_put_size(r, n);
                report_put(r, " (");
                report_put_text(r, reason);
                report_put(r, "). ");
        }
}

/* The reasons for the red mark, in words. */
static void report_why(Report *r, const RegionFacts *f) {
        const char *grade = facts_text(f, "grade");

        if (!facts_in_order(f))
                report_put(r, "%s ",
                           f->orphan ? "Never released: the supervisor is gone, and the region is not recovered."
                                     : "Not released exactly once and before the end.");
        if (region_question_is(REGION_UNPROVED, f)) {
                report_put(r, "Grade ");
                report_put_text(r, *grade ? grade : "not recorded");
                if (facts_proof(f) == PROOF_PARTIAL && strcmp(grade, "partial") != 0)
                        report_put(r, ", in contradiction to the record's numbers");
                report_put(r, "; asked was ");
                report_put_text(r, *f->asked ? f->asked : "nothing");
                report_put(r, ". ");
                report_missed(r, json_object_get(f->teardown, "bytes_missed"));
        }
        if (facts_late(f))
                report_put(r, "Teardown passed the bound. ");
}

static void report_table_flagged(Report *r) {
        static const char *const names[] = {"region", "skill", "allocated", "ended", "what is not proved",
                                            "+held",  "+overwritten", "+verified", NULL};
        size_t n = 0, shown = 0;

        for (size_t i = 0; i < r->h->n; i++)
                n += report_fails(r->h->regions[i]);
        if (n == 0)
                return;
        report_put(r, "<section id=\"unproved\"><h2 class=\"bad-text\">Not proved: %zu region%s</h2>", n,
                   n == 1 ? "" : "s");
        report_table_head(r, "flagged", "regions not proved", names);
        for (size_t i = r->h->n; i > 0 && shown < FLAGGED_MOST; i--) {
                const RegionFacts *f = r->h->regions[i - 1];

                if (!report_fails(f))
                        continue;
                shown++;
                report_row_begin(r, f, true);
                report_text_cell(r, false, f->ended ? f->outcome : "not");
                report_put(r, "<td class=\"bad\">");
                report_why(r, f);
                report_put(r, "</td>");
                report_bytes_cell(r, f, "bytes_held", false);
                report_bytes_cell(r, f, "bytes_overwritten", false);
                report_bytes_cell(r, f, "bytes_verified", false);
                report_put(r, "</tr>");
        }
        report_put(r, "</tbody></table></div>");
        if (shown < n)
                report_put(r,
                           "<p class=\"bad-text\">The newest %zu of %zu; <code>lethe audit regions</code> lists "
                           "all.</p>",
                           shown, n);
        report_put(r, "</section>");
}

static void report_table_grades(Report *r) {
        static const char *const names[] = {"grade", "discipline asked", "key scope", "tier", "+regions", NULL};
        _cleanup_(map_deinit) Map map = {0};
        _cleanup_free_ const struct MapItem **list = NULL;

        for (size_t i = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];
                const char *grade = f->ended ? facts_text(f, "grade") : f->orphan ? "never released" : "alive";
                _cleanup_free_ char *key = NULL;
                /* a name may stand for good and bad regions: numbers can contradict a grade */
                bool bad = !facts_in_order(f) || region_question_is(REGION_UNPROVED, f);
                ReportSum *s;

                if (asprintf(&key, "%s\t%s\t%s\t%s\t%s", *grade ? grade : "not recorded",
                             *f->asked ? f->asked : "not said", f->scope, f->tier, bad ? "bad" : "") < 0) {
                        key = NULL;
                        r->error = -ENOMEM;
                        return;
                }
                s = report_sum(r, &map, key);
                if (!s)
                        return;
                s->n++;
        }
        list = report_sorted(r, &map);
        if (!list)
                return;
        report_put(r, "<section><h2>Grades</h2>");
        report_table_head(r, "grades", "grades", names);
        for (size_t i = 0; i < map.n; i++) {
                _cleanup_free_ char *key = strdup(list[i]->key);
                char *p = key, *field;
                bool bad = key && strcmp(strrchr(key, '\t') + 1, "bad") == 0;

                report_put(r, "<tr>");
                for (unsigned k = 0; k < 4 && (field = strsep(&p, "\t")); k++)
                        report_text_cell(r, k == 0 && bad, field);
                report_put(r, "<td class=\"n\">%" PRIu64 "</td></tr>", ((const ReportSum *)list[i]->value)->n);
        }
        report_put(r, "</tbody></table></div><p class=\"soft\">cleared: all memory that the region held at its end was "
                      "overwritten and read back; cleared_early: also what it gave back while running; cleared_kernel: "
                      "also the kernel's own copies. nothing_held: no program ever ran. partial: some memory was "
                      "missed. unscrubbed: no memory was overwritten. The last two are no proof; the others are a "
                      "proof only in agreement with the record's numbers.</p></section>");
}

static void report_table_not_covered(Report *r) {
        static const char *const names[] = {"class of storage", "+regions", NULL};
        _cleanup_(map_deinit) Map map = {0};
        _cleanup_free_ const struct MapItem **list = NULL;

        for (size_t i = 0; i < r->h->n; i++) {
                const json_t *classes = json_object_get(r->h->regions[i]->teardown, "not_covered"), *class;
                size_t k;

                json_array_foreach(classes, k, class) {
                        ReportSum *s = json_is_string(class) ? report_sum(r, &map, json_text(class)) : NULL;

                        if (s)
                                s->n++;
                }
        }
        list = report_sorted(r, &map);
        if (!list)
                return;
        report_put(r, "<section id=\"uncovered\"><h2 class=\"bad-text\">Not covered</h2><p>Storage named by the "
                      "records themselves as not overwritten or out of reach (lethe-isolation(7)), with the number of "
                      "regions. For such storage, nothing is proved.</p>");
        report_table_head(r, "classes", "classes", names);
        for (size_t i = 0; i < map.n; i++) {
                report_put(r, "<tr>");
                report_text_cell(r, true, list[i]->key);
                report_put(r, "<td class=\"n\">%" PRIu64 "</td></tr>", ((const ReportSum *)list[i]->value)->n);
        }
        report_put(r, "</tbody></table></div></section>");
}

static void report_table_skills(Report *r) {
        static const char *const names[] = {"skill", "+regions", "+proved", "+not proved",
                                            "+late", "+overwritten", "+slowest teardown", NULL};
        _cleanup_(map_deinit) Map map = {0};
        _cleanup_free_ const struct MapItem **list = NULL;

        for (size_t i = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];
                ReportSum *s = report_sum(r, &map, f->skill);

                if (!s)
                        return;
                s->n++;
                s->proved += strcmp(report_mark(f), "good") == 0;
                s->unproved += region_question_is(REGION_UNPROVED, f) || !facts_in_order(f);
                s->late += facts_late(f);
                s->overwritten += facts_number(f, "bytes_overwritten");
                s->slowest_usec = MAX(s->slowest_usec, facts_number(f, "usec"));
        }
        list = report_sorted(r, &map);
        if (!list)
                return;
        report_put(r, "<section><h2>Skills</h2>");
        report_table_head(r, "skills", "skills", names);
        for (size_t i = 0; i < map.n; i++) {
                const ReportSum *s = list[i]->value;
                char text[SIZE_TEXT_MAX];

                report_put(r, "<tr>");
                report_text_cell(r, false, list[i]->key);
                report_put(r,
                           "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
                           "</td><td class=\"n%s\">%" PRIu64 "</td><td class=\"n%s\">%" PRIu64 "</td><td class=\"n\">",
                           s->n, s->proved, s->unproved ? " bad" : "", s->unproved, s->late ? " bad" : "", s->late);
                report_put_size(r, s->overwritten);
                report_put(r, "</td><td class=\"n\">%s</td></tr>", duration_format(s->slowest_usec, text));
        }
        report_put(r, "</tbody></table></div></section>");
}

static void report_table_all(Report *r) {
        static const char *const names[] = {"region", "skill", "allocated", "ended", "grade", "+held",
                                            "+overwritten", "+verified", "+teardown", "+bound", "answers to", NULL};
        size_t shown = 0;

        report_put(r, "<section><h2>Regions</h2>");
        if (r->h->n == 0) {
                report_put(r, "<p>No regions%s.</p></section>",
                           r->q->since || r->q->until || r->q->skill || r->q->scope ? " match the query" : "");
                return;
        }
        report_table_head(r, "all", "all regions", names);
        for (size_t i = r->h->n; i > 0 && shown < LISTED_MOST; i--, shown++) {
                const RegionFacts *f = r->h->regions[i - 1];
                const char *grade = facts_text(f, "grade");
                bool bad = report_fails(f);

                report_row_begin(r, f, bad);
                report_text_cell(r, false, f->ended ? f->outcome : f->orphan ? "never" : "alive");
                report_text_cell(r, region_question_is(REGION_UNPROVED, f),
                                 f->ended ? *grade ? grade : "not recorded" : "");
                if (f->ended) {
                        report_bytes_cell(r, f, "bytes_held", false);
                        report_bytes_cell(r, f, "bytes_overwritten", false);
                        report_bytes_cell(r, f, "bytes_verified",
                                          facts_number(f, "bytes_verified") < facts_number(f, "bytes_overwritten"));
                } else
                        report_put(r, "<td></td><td></td><td></td>");
                report_times_cells(r, f);
                report_put(r, "<td>");
                report_tags(r, f);
                report_put(r, "</td></tr>");
        }
        report_put(r, "</tbody></table></div>");
        if (shown < r->h->n)
                report_put(r,
                           "<p>The newest %zu of %zu; <code>lethe audit regions</code> lists all. Sums and drawings "
                           "are of all.</p>",
                           shown, r->h->n);
        report_put(r, "</section>");
}

void report_tables(Report *r) {
        report_table_flagged(r);
        report_table_grades(r);
        report_table_skills(r);
        report_table_not_covered(r);
        report_table_all(r);
}
