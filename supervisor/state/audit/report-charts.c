#include "audit/report-html.h"
#include "audit/map.h"
#include "base/clock.h"
#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WIDTH 560.0
#define HEIGHT 236.0
#define LEFT 66.0    /* of the drawing's area */
#define TOP 12.0
#define BOTTOM 204.0
#define RIGHT 552.0
#define BINS 48
#define DOTS_MOST 3000

static double chart_x(const Report *r, uint64_t usec) {
        double span = (double)(r->to_usec - r->from_usec);

        return span <= 0 ? (LEFT + RIGHT) / 2 : LEFT + (RIGHT - LEFT) * (double)(usec - r->from_usec) / span;
}

static void chart_begin(Report *r, const char *title, const char *more, const char *label) {
        report_put(r,
                   "<figure><figcaption>%s<small>%s</small></figcaption><svg viewBox=\"0 0 %g %g\" role=\"img\" "
                   "aria-label=\"%s\">",
                   title, more, WIDTH, HEIGHT, label);
}

/* The time axis: first, middle and last moment; only the time of day when all are of one day. */
static void chart_time_axis(Report *r) {
        static const char *const anchors[] = {"start", "middle", "end"};
        bool one_day = r->from_usec / UINT64_C(86400000000) == r->to_usec / UINT64_C(86400000000);

        report_put(r, "<line class=\"axis\" x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\"/>", LEFT, BOTTOM, RIGHT, BOTTOM);
        for (unsigned i = 0; i < 3; i++) {
                uint64_t at = r->from_usec + (r->to_usec - r->from_usec) / 2 * i;
                char text[CLOCK_TEXT_MAX];

                if (r->to_usec == r->from_usec && i != 1)
                        continue;
                clock_format(i == 2 ? r->to_usec : at, text);
                report_put(r, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"%s\">%.10s%s%.*s</text>",
                           r->to_usec == r->from_usec ? (LEFT + RIGHT) / 2 : LEFT + (RIGHT - LEFT) * i / 2, BOTTOM + 22,
                           anchors[i], text, " ", one_day ? 8 : 5, text + 11);
        }
}

/* 1, 2 or 5 times a power of ten, not below n. */
static uint64_t chart_round_up(uint64_t n) {
        for (uint64_t p = 1;; p *= 10)
                for (unsigned k = 1; k <= 5; k += k == 1 ? 1 : 3)
                        if (p * k >= n || p > UINT64_MAX / 100)
                                return p * k;
}

static void chart_time(Report *r) {
        static const char *const marks[] = {"good", "bad", "idle"}, *const titles[] = {"proved", "not proved", "alive"};
        uint64_t bins[BINS][3] = {0}, most = 1;
        double width = (RIGHT - LEFT) / BINS;

        for (size_t i = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];
                double at = (chart_x(r, f->allocated_usec) - LEFT) / (RIGHT - LEFT) * BINS;
                unsigned bin = at < 0 ? 0 : at >= BINS ? BINS - 1 : (unsigned)at;

                for (unsigned k = 0; k < 3; k++)
                        bins[bin][k] += strcmp(report_mark(f), marks[k]) == 0;
                most = MAX(most, bins[bin][0] + bins[bin][1] + bins[bin][2]);
        }
        most = chart_round_up(most);
        chart_begin(r, "Regions over time", "by when they were allocated",
                    "Regions over time, unproved regions in red");
        for (unsigned i = 0; i <= 2; i++) {
                double y = BOTTOM - (BOTTOM - TOP) * i / 2;

                if (i == 1 && most % 2)
                        continue;
                report_put(r,
                           "<line class=\"axis\" x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\"/><text x=\"%g\" y=\"%g\" "
                           "text-anchor=\"end\">%" PRIu64 "</text>",
                           LEFT, y, RIGHT, y, LEFT - 8, y + 4, most * i / 2);
        }
        for (unsigned i = 0; i < BINS; i++) {
                double y = BOTTOM;

                for (unsigned k = 0; k < 3; k++) {
                        double height = (BOTTOM - TOP) * (double)bins[i][k] / (double)most;

                        if (bins[i][k] == 0)
                                continue;
                        /* A single bad region among thousands must stay visible. */
                        height = MAX(height, k == 1 ? 3.0 : 1.0);
                        y -= height;
                        report_put(r,
                                   "<rect class=\"f-%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                                   "<title>%" PRIu64 " %s</title></rect>",
                                   marks[k], LEFT + i * width + 1, y, width - 2, height, bins[i][k], titles[k]);
                }
        }
        chart_time_axis(r);
        report_put(r, "</svg><ul class=\"key\"><li><i class=\"b-good\"></i>ended and proved</li><li><i "
                      "class=\"b-bad\"></i>not proved</li><li><i class=\"b-idle\"></i>alive</li></ul></figure>");
}

/* The height for a teardown's share of its bound: logarithmic, from a ten-thousandth to a hundred times. */
static double chart_y(double ratio) {
        double v = (log10(MAX(ratio, 1e-4)) + 4) / 6;

        return BOTTOM - (BOTTOM - TOP) * (v > 1 ? 1 : v);
}

/* A later supervisor's time says nothing about the bound: the memory may have waited for days. */
static bool chart_has_bound(const RegionFacts *f) {
        return f->ended > 0 && f->bound_usec > 0 && (f->recovered == 0 || facts_late(f));
}

static void chart_bound(Report *r) {
        static const struct {
                double ratio;
                const char *text;
        } lines[] = {{1e-4, "0.01 %"}, {1e-2, "1 %"}, {1e-1, "10 %"}, {10, "10 times"}};
        size_t shown = 0, with_bound = 0, step;

        for (size_t i = 0; i < r->h->n; i++)
                with_bound += chart_has_bound(r->h->regions[i]);
        step = with_bound / DOTS_MOST + 1;
        chart_begin(r, "Teardown time in relation to the bound",
                    "each dot is an ended region; dots above the broken line passed the bound",
                    "Teardown times as parts of the bounds");
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
                report_put(r,
                           "<line class=\"axis\" x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\"/><text x=\"%g\" "
                           "y=\"%.1f\" text-anchor=\"end\">%s</text>",
                           LEFT, chart_y(lines[i].ratio), RIGHT, chart_y(lines[i].ratio), LEFT - 8,
                           chart_y(lines[i].ratio) + 4, lines[i].text);
        for (size_t i = 0, k = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];
                char took[SIZE_TEXT_MAX], bound[SIZE_TEXT_MAX];
                uint64_t usec = facts_number(f, "usec");
                bool late = facts_late(f);

                if (!chart_has_bound(f) || (k++ % step != 0 && !late))
                        continue;
                shown++;
                report_put(r,
                           "<circle class=\"f-%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill-opacity=\"%s\"><title>%s: "
                           "%s of %s</title></circle>",
                           late ? "bad" : "mark", chart_x(r, f->allocated_usec),
                           chart_y((double)usec / (double)f->bound_usec), late ? "4.5" : "3", late ? "1" : "0.6", f->id,
                           duration_format(usec, took), duration_format(f->bound_usec, bound));
        }
        report_put(r,
                   "<line class=\"bound\" x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\"/><text class=\"strong\" "
                   "x=\"%g\" y=\"%.1f\" text-anchor=\"end\">bound</text>",
                   LEFT, chart_y(1), RIGHT, chart_y(1), LEFT - 8, chart_y(1) + 4);
        chart_time_axis(r);
        report_put(r,
                   "</svg><ul class=\"key\"><li><i class=\"b-mark\"></i>teardown</li><li><i "
                   "class=\"b-bad\"></i>bound passed: %zu</li>",
                   r->totals.answers[REGION_LATE]);
        if (shown < with_bound)
                report_put(r, "<li>%zu of %zu are drawn, with every late region</li>", shown, with_bound);
        report_put(r, "</ul></figure>");
}

static void chart_bar(Report *r, const char *name, const char *mark, double part, const char *value) {
        report_put(r, "<dt>");
        report_put_text(r, name);
        report_put(r, "</dt><dd><div class=\"bar b-%s\" style=\"width:%.2f%%\"></div></dd><dd class=\"soft\">%s</dd>",
                   mark, part * 100, value);
}

static void chart_outcomes(Report *r) {
        _cleanup_(map_deinit) Map map = {0};
        uint64_t most = 1;

        for (size_t i = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];
                const char *outcome = f->ended ? f->outcome : f->orphan ? "supervisor gone" : "alive";
                uint64_t *n = map_have(&map, outcome, sizeof(*n));

                if (!n) {
                        r->error = -ENOMEM;
                        return;
                }
                most = MAX(most, ++*n);
        }
        report_put(r, "<figure><figcaption>Outcomes<small>how the invocations ended</small></figcaption><dl "
                      "class=\"bars\">");
        for (uint64_t done = 0, next; map.n > 0; done = next) { /* the most frequent first */
                next = 0;
                for (size_t i = 0; i < map.room; i++)
                        if (map.items[i].key && (done == 0 || *(uint64_t *)map.items[i].value < done))
                                next = MAX(next, *(uint64_t *)map.items[i].value);
                if (next == 0)
                        break;
                for (size_t i = 0; i < map.room; i++)
                        if (map.items[i].key && *(uint64_t *)map.items[i].value == next) {
                                char value[32];

                                snprintf(value, sizeof(value), "%" PRIu64, next);
                                chart_bar(r, map.items[i].key,
                                          strcmp(map.items[i].key, "supervisor gone") == 0 ? "bad" : "mark",
                                          (double)next / (double)most, value);
                        }
        }
        report_put(r, "</dl></figure>");
}

static void chart_bytes(Report *r) {
        const ReportTotals *t = &r->totals;
        double most = (double)MAX(MAX(t->held, t->overwritten), MAX(t->verified, UINT64_C(1)));
        char a[SIZE_TEXT_MAX], b[SIZE_TEXT_MAX], c[SIZE_TEXT_MAX];
        bool missed = t->overwritten < t->held, bad = missed || t->verified < t->overwritten;

        report_put(r, "<figure><figcaption>Bytes<small>of all ended regions, as recorded at "
                      "teardown</small></figcaption><dl class=\"bars\">");
        chart_bar(r, "held", "idle", (double)t->held / most, size_format(t->held, a));
        chart_bar(r, "overwritten", missed ? "bad" : "good", (double)t->overwritten / most,
                  size_format(t->overwritten, b));
        chart_bar(r, "verified by reading back", bad ? "bad" : "good", (double)t->verified / most,
                  size_format(t->verified, c));
        report_put(r, "</dl><p class=\"soft\">Held by each region at its end: memory of processes, scratch, sections. "
                      "Memory given back during the run is not in these sums.</p></figure>");
}

void report_charts(Report *r) {
        report_put(r, "<section><h2>Over time</h2><div class=\"pair\">");
        chart_time(r);
        chart_bound(r);
        report_put(r, "</div></section><section><h2>In sum</h2><div class=\"pair\">");
        chart_outcomes(r);
        chart_bytes(r);
        report_put(r, "</div></section>");
}
