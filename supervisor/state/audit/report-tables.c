#include "audit/report-internal.h"

#include "audit/audit-internal.h"
#include "base/clock.h"
#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FLAGGED_MOST 500
#define LISTED_MOST 1000

typedef struct Sum {
        uint64_t n, proved, unproved, late, overwritten, slowest_usec;
} Sum;

/* The sum of that name, made when it is new; NULL when out of memory. */
static Sum *sum_of(Map *m, const char *name) {
        Sum *s = map_get(m, name);

        if (!s && (!(s = calloc(1, sizeof(*s))) || map_add(m, name, s) < 0)) {
                free(s);
                return NULL;
        }
        return s;
}

static int by_name(const void *a, const void *b) {
        const struct MapItem *const *x = a, *const *y = b;

        return strcmp((*x)->key, (*y)->key);
}

/* The map's items by name: owned array of borrowed items, NULL when there are none. */
static const struct MapItem **sorted(Report *r, const Map *m) {
        const struct MapItem **list = m->n ? calloc(m->n, sizeof(*list)) : NULL;
        size_t n = 0;

        if (m->n && !list)
                r->error = -ENOMEM;
        for (size_t i = 0; list && i < m->room; i++)
                if (m->items[i].key)
                        list[n++] = &m->items[i];
        if (list)
                qsort(list, n, sizeof(*list), by_name);
        return list;
}

static void tags(Report *r, const RegionFacts *f) {
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_question_is(q, f))
                        put(r, "<span class=\"tag%s\">%s</span>", region_question_fails(q) ? " bad" : "", region_question_word(q));
}

/* A table that is wider than the screen is scrolled by itself, with the keyboard, too. */
static void head(Report *r, const char *class, const char *const *names) {
        put(r, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table of %s\"><table class=\"%s\"><thead><tr>",
            strcmp(class, "all") == 0 ? "all regions" : strcmp(class, "flagged") == 0 ? "regions not proved" : class, class);
        for (; *names; names++) /* a leading + : numbers, to the right */
                put(r, "<th scope=\"col\"%s>%s</th>", **names == '+' ? " class=\"n\"" : "", *names + (**names == '+'));
        put(r, "</tr></thead><tbody>");
}

static void skill_cell(Report *r, const RegionFacts *f) {
        put(r, "<td>");
        put_text(r, f->skill);
        put(r, "</td>");
}

static void bytes_cell(Report *r, const RegionFacts *f, const char *member, bool bad) {
        put(r, "<td class=\"n%s\">", bad ? " bad" : "");
        if (json_object_get(f->teardown, member))
                put_size(r, facts_number(f, member));
        else
                put(r, "not said");
        put(r, "</td>");
}

static void times_cells(Report *r, const RegionFacts *f) {
        char text[SIZE_TEXT_MAX];

        put(r, "<td class=\"n%s\">%s</td><td class=\"n\">", facts_late(f) ? " bad" : "", f->ended ? duration_format(facts_number(f, "usec"), text) : "");
        put(r, "%s</td>", f->bound_usec ? duration_format(f->bound_usec, text) : "none");
}

/* Bytes that were missed, by reason; a record may also have one number. */
static void missed(Report *r, const json_t *reasons) {
        const char *reason;
        json_t *bytes;
        uint64_t n;

        json_object_foreach((json_t *)reasons, reason, bytes) {
                if (json_get_u64(bytes, &n) < 0 || n == 0)
                        continue;
                put(r, "Missed: ");
                put_size(r, n);
                put(r, " (");
                put_text(r, reason);
                put(r, "). ");
        }
}

/* Why a region is in the red, in words. */
static void why(Report *r, const RegionFacts *f) {
        const char *grade = facts_text(f, "grade");

        if (!facts_in_order(f))
                put(r, "%s ", f->orphan ? "Never released: its supervisor is gone, and nobody has recovered it."
                                        : "Not released exactly once and before its end.");
        if (region_question_is(REGION_UNPROVED, f)) {
                put(r, "Grade ");
                put_text(r, *grade ? grade : "not recorded");
                if (facts_proof(f) == PROOF_PARTIAL && strcmp(grade, "partial") != 0)
                        put(r, ", which its own numbers contradict");
                put(r, "; asked was ");
                put_text(r, *f->asked ? f->asked : "nothing");
                put(r, ". ");
                missed(r, json_object_get(f->teardown, "bytes_missed"));
        }
        if (facts_late(f))
                put(r, "Teardown passed its bound. ");
}

static void table_flagged(Report *r) {
        static const char *const names[] = {"region", "skill", "allocated", "ended", "what is not proved", "+held", "+overwritten", "+verified", NULL};
        size_t n = 0, shown = 0;

        for (size_t i = 0; i < r->h->n; i++)
                n += report_fails(r->h->regions[i]);
        if (n == 0)
                return;
        put(r, "<section id=\"unproved\"><h2 class=\"bad-text\">Not proved: %zu region%s</h2>", n, n == 1 ? "" : "s");
        head(r, "flagged", names);
        for (size_t i = r->h->n; i > 0 && shown < FLAGGED_MOST; i--) {
                const RegionFacts *f = r->h->regions[i - 1];

                if (!report_fails(f))
                        continue;
                shown++;
                put(r, "<tr class=\"bad\"><td class=\"mono\">%s</td>", f->id);
                skill_cell(r, f);
                put(r, "<td class=\"time\">");
                put_time(r, f->allocated_usec);
                put(r, "</td><td>");
                put_text(r, f->ended ? f->outcome : "not");
                put(r, "</td><td class=\"bad\">");
                why(r, f);
                put(r, "</td>");
                bytes_cell(r, f, "bytes_held", false);
                bytes_cell(r, f, "bytes_overwritten", false);
                bytes_cell(r, f, "bytes_verified", false);
                put(r, "</tr>");
        }
        put(r, "</tbody></table></div>");
        if (shown < n)
                put(r, "<p class=\"bad-text\">The newest %zu of %zu; <code>lethe audit regions</code> lists all.</p>", shown, n);
        put(r, "</section>");
}

static void table_grades(Report *r) {
        static const char *const names[] = {"grade", "discipline asked", "key scope", "tier", "+regions", NULL};
        _cleanup_(map_deinit) Map map = {0};
        _cleanup_free_ const struct MapItem **list = NULL;

        for (size_t i = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];
                const char *grade = f->ended ? facts_text(f, "grade") : f->orphan ? "never released" : "alive";
                _cleanup_free_ char *key = NULL;
                bool bad = !facts_in_order(f) || region_question_is(REGION_UNPROVED, f); /* one name may stand for both: numbers can contradict a grade */
                Sum *s;

                if (asprintf(&key, "%s\t%s\t%s\t%s\t%s", *grade ? grade : "not recorded", *f->asked ? f->asked : "not said", f->scope, f->tier, bad ? "bad" : "") < 0) {
                        key = NULL;
                        r->error = -ENOMEM;
                        return;
                }
                s = sum_of(&map, key);
                if (!s) {
                        r->error = -ENOMEM;
                        return;
                }
                s->n++;
        }
        list = sorted(r, &map);
        if (!list)
                return;
        put(r, "<section><h2>Grades</h2>");
        head(r, "grades", names);
        for (size_t i = 0; i < map.n; i++) {
                _cleanup_free_ char *key = strdup(list[i]->key);
                char *p = key, *field;
                bool bad = key && strcmp(strrchr(key, '\t') + 1, "bad") == 0;

                put(r, "<tr>");
                for (unsigned k = 0; k < 4 && (field = strsep(&p, "\t")); k++) {
                        put(r, "<td%s>", k == 0 && bad ? " class=\"bad\"" : "");
                        put_text(r, field);
                        put(r, "</td>");
                }
                put(r, "<td class=\"n\">%" PRIu64 "</td></tr>", ((const Sum *)list[i]->value)->n);
        }
        put(r, "</tbody></table></div><p class=\"soft\">cleared: all memory that the region held at its end was overwritten and read back; cleared_early: also what it gave back "
               "while it ran; cleared_kernel: also the kernel's own copies. nothing_held: no program ever ran. partial: something was missed. unscrubbed: nothing was overwritten. "
               "The last two are no proof, and the others are only as long as the record's numbers agree.</p></section>");
}

static void table_not_covered(Report *r) {
        static const char *const names[] = {"class of storage", "+regions", NULL};
        _cleanup_(map_deinit) Map map = {0};
        _cleanup_free_ const struct MapItem **list = NULL;

        for (size_t i = 0; i < r->h->n; i++) {
                const json_t *classes = json_object_get(r->h->regions[i]->teardown, "not_covered"), *class;
                size_t k;

                json_array_foreach(classes, k, class) {
                        Sum *s = json_is_string(class) ? sum_of(&map, json_text(class)) : NULL;

                        if (s)
                                s->n++;
                }
        }
        list = sorted(r, &map);
        if (!list)
                return;
        put(r, "<section id=\"uncovered\"><h2 class=\"bad-text\">Not covered</h2><p>What the records themselves name as not overwritten or out of reach (lethe-isolation(7)), with the number "
               "of regions of which it is said. Nothing is proved about it.</p>");
        head(r, "classes", names);
        for (size_t i = 0; i < map.n; i++) {
                put(r, "<tr><td class=\"bad\">");
                put_text(r, list[i]->key);
                put(r, "</td><td class=\"n\">%" PRIu64 "</td></tr>", ((const Sum *)list[i]->value)->n);
        }
        put(r, "</tbody></table></div></section>");
}

static void table_skills(Report *r) {
        static const char *const names[] = {"skill", "+regions", "+proved", "+not proved", "+late", "+overwritten", "+slowest teardown", NULL};
        _cleanup_(map_deinit) Map map = {0};
        _cleanup_free_ const struct MapItem **list = NULL;

        for (size_t i = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];
                Sum *s = sum_of(&map, f->skill);

                if (!s) {
                        r->error = -ENOMEM;
                        return;
                }
                s->n++;
                s->proved += strcmp(report_mark(f), "good") == 0;
                s->unproved += region_question_is(REGION_UNPROVED, f) || !facts_in_order(f);
                s->late += facts_late(f);
                s->overwritten += facts_number(f, "bytes_overwritten");
                s->slowest_usec = MAX(s->slowest_usec, facts_number(f, "usec"));
        }
        list = sorted(r, &map);
        if (!list)
                return;
        put(r, "<section><h2>Skills</h2>");
        head(r, "skills", names);
        for (size_t i = 0; i < map.n; i++) {
                const Sum *s = list[i]->value;
                char text[SIZE_TEXT_MAX];

                put(r, "<tr><td>");
                put_text(r, list[i]->key);
                put(r, "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n%s\">%" PRIu64 "</td><td class=\"n%s\">%" PRIu64 "</td><td class=\"n\">", s->n,
                    s->proved, s->unproved ? " bad" : "", s->unproved, s->late ? " bad" : "", s->late);
                put_size(r, s->overwritten);
                put(r, "</td><td class=\"n\">%s</td></tr>", duration_format(s->slowest_usec, text));
        }
        put(r, "</tbody></table></div></section>");
}

static void table_all(Report *r) {
        static const char *const names[] = {"region", "skill", "allocated", "ended", "grade", "+held", "+overwritten", "+verified", "+teardown", "+bound", "answers to", NULL};
        size_t shown = 0;

        put(r, "<section><h2>Regions</h2>");
        if (r->h->n == 0) {
                put(r, "<p>There are none%s.</p></section>", r->q->since || r->q->until || r->q->skill || r->q->scope ? " that were asked for" : "");
                return;
        }
        head(r, "all", names);
        for (size_t i = r->h->n; i > 0 && shown < LISTED_MOST; i--, shown++) {
                const RegionFacts *f = r->h->regions[i - 1];
                const char *grade = facts_text(f, "grade");
                bool bad = report_fails(f);

                put(r, "<tr%s><td class=\"mono\">%s</td>", bad ? " class=\"bad\"" : "", f->id);
                skill_cell(r, f);
                put(r, "<td class=\"time\">");
                put_time(r, f->allocated_usec);
                put(r, "</td><td>");
                put_text(r, f->ended ? f->outcome : f->orphan ? "never" : "alive");
                put(r, "</td><td%s>", region_question_is(REGION_UNPROVED, f) ? " class=\"bad\"" : "");
                put_text(r, f->ended ? *grade ? grade : "not recorded" : "");
                put(r, "</td>");
                if (f->ended) {
                        bytes_cell(r, f, "bytes_held", false);
                        bytes_cell(r, f, "bytes_overwritten", false);
                        bytes_cell(r, f, "bytes_verified", facts_number(f, "bytes_verified") < facts_number(f, "bytes_overwritten"));
                } else
                        put(r, "<td></td><td></td><td></td>");
                times_cells(r, f);
                put(r, "<td>");
                tags(r, f);
                put(r, "</td></tr>");
        }
        put(r, "</tbody></table></div>");
        if (shown < r->h->n)
                put(r, "<p>The newest %zu of %zu; <code>lethe audit regions</code> lists all. Sums and drawings are of all.</p>", shown, r->h->n);
        put(r, "</section>");
}

void report_tables(Report *r) {
        report_charts(r);
        table_flagged(r);
        table_grades(r);
        table_skills(r);
        table_not_covered(r);
        table_all(r);
}
