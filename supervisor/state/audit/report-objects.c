/* The part of the report about objects: a line of time for each, newest first. */
#include "audit/objects.h"
#include "audit/report-html.h"
#include "base/size.h"

#include <inttypes.h>
#include <string.h>

#define LISTED_MOST 200
#define WIDTH 480.0
#define HEIGHT 18
#define LEAST 1.5 /* of a state's bar, so that a short state stays visible */

/* The class of a state's colour in the page's style. */
static const char *report_state_mark(const char *state) {
        static const struct {
                const char *state, *mark;
        } marks[] = {{"execution", "work"}, {"delegation", "split"}, {"mutation", "change"}, {"dormant", "idle"},
                     {"terminated", "good"}};

        for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
                if (strcmp(marks[i].state, state) == 0)
                        return marks[i].mark;
        return "mark";
}

static bool report_wants_object(const Report *r, const ObjectFacts *o) {
        const HistoryQuery *q = &r->h->query;

        return (!q->skill || strcmp(q->skill, o->what) == 0) && o->last_usec >= q->since_usec &&
               (q->until_usec == 0 || o->marks[0].usec < q->until_usec);
}

/* Times may run back where clocks did: such a bar has no width. */
static double report_object_x(const ObjectFacts *o, uint64_t from, uint64_t usec) {
        const uint64_t to = MAX(o->last_usec, from);

        return to == from ? 0 : WIDTH * (double)(MIN(MAX(usec, from), to) - from) / (double)(to - from);
}

static void report_object_line(Report *r, const ObjectFacts *o) {
        const uint64_t from = o->marks[0].usec;
        double at = 0;

        report_put(r, "<svg viewBox=\"0 0 %g %d\" role=\"img\" aria-label=\"States of object %s over time\">", WIDTH,
                   HEIGHT, o->id);
        for (size_t i = 0; i < o->n; i++) {
                const bool last = i + 1 == o->n;
                double x = MAX(at, report_object_x(o, from, o->marks[i].usec)),
                       end = last ? WIDTH : report_object_x(o, from, o->marks[i + 1].usec);

                at = x;
                end = MIN(MAX(end, x + LEAST), WIDTH);
                report_put(r, "<rect class=\"f-%s\" x=\"%.1f\" y=\"2\" width=\"%.1f\" height=\"%d\"><title>%s",
                           report_state_mark(o->marks[i].state), MIN(x, WIDTH - LEAST), MAX(end - x, LEAST), HEIGHT - 4,
                           o->marks[i].state);
                report_put(r, "</title></rect>");
        }
        report_put(r, "</svg>");
}

static void report_object_row(Report *r, const ObjectFacts *o) {
        char text[SIZE_TEXT_MAX];

        report_put(r, "<tr><td class=\"mono\">%s</td><td>", o->id);
        report_put_text(r, *o->what ? o->what : "-");
        report_put(r, "</td><td>%s%s", o->marks[o->n - 1].state, *o->reason ? ": " : "");
        report_put_text(r, o->reason);
        report_put(r, "</td><td class=\"time\">");
        report_put_time(r, o->marks[0].usec);
        report_put(r, "</td><td class=\"n\">%s</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
                      "</td><td class=\"mono\">%s</td><td class=\"line\">",
                   duration_format(o->last_usec - MIN(o->marks[0].usec, o->last_usec), text), o->entries, o->executions,
                   o->parent);
        report_object_line(r, o);
        report_put(r, "</td></tr>");
}

void report_objects(Report *r) {
        static const char *const names[] = {"object", "does", "state", "first entry", "+time", "+entries",
                                            "+executions", "child of", "states over time", NULL};
        const ObjectsFacts *f = &r->h->objects;
        size_t wanted = 0, shown = 0;

        for (size_t i = 0; i < f->n; i++)
                wanted += report_wants_object(r, f->objects[i]);
        if (wanted == 0)
                return;
        report_put(r, "<section><h2>Objects</h2>");
        report_table_head(r, "objects", "objects", names);
        for (size_t i = f->n; i > 0 && shown < LISTED_MOST; i--)
                if (report_wants_object(r, f->objects[i - 1])) {
                        report_object_row(r, f->objects[i - 1]);
                        shown++;
                }
        report_put(r, "</tbody></table></div><ul class=\"key\"><li><i class=\"b-mark\"></i>instantiated, evaluation, "
                      "reentry</li><li><i class=\"b-work\"></i>execution</li><li><i class=\"b-split\"></i>delegation</li>"
                      "<li><i class=\"b-change\"></i>mutation</li><li><i class=\"b-idle\"></i>dormant</li><li><i "
                      "class=\"b-good\"></i>terminated</li></ul>");
        if (shown < wanted)
                report_put(r, "<p>The newest %zu of %zu; <code>lethe object list</code> lists all.</p>", shown, wanted);
        report_put(r, "</section>");
}
