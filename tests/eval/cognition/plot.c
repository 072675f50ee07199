#include "tests/eval/cognition/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define WIDTH 860.0
#define LEFT 64.0
#define RIGHT 830.0
#define TOP 76.0
#define PANEL 130.0 /* height of a panel */
#define STEP 180.0  /* from a panel to the next */
#define PANELS 4
#define TURNS_MAX 200 /* later turns are not drawn */

static const char *const drift_colors[AGENTS] = {"#94a3b8", "#d97706", "#2563eb"};

typedef struct DriftPlot {
        Buf *out;
        int failed; /* 0 or the first -errno */
} DriftPlot;

static void drift_put(DriftPlot *p, const char *fmt, ...) _printf_(2, 3);
static void drift_put(DriftPlot *p, const char *fmt, ...) {
        char line[1024];
        va_list args;
        int n, r;

        va_start(args, fmt);
        n = vsnprintf(line, sizeof(line), fmt, args);
        va_end(args);
        assert(n >= 0 && (size_t)n < sizeof(line));
        r = buf_add(p->out, line, (size_t)n);
        if (r < 0 && p->failed == 0)
                p->failed = r;
}

static void drift_text(DriftPlot *p, double x, double y, const char *anchor, unsigned size, const char *what) {
        drift_put(p,
                  "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%u\" fill=\"currentColor\">%s</text>\n", x,
                  y, anchor, size, what);
}

/* A round number that is not below v. */
static double drift_ceiling(double v) {
        double unit = pow(10, floor(log10(v > 0 ? v : 1)));

        for (unsigned i = 1; i <= 10; i++)
                if (v <= i * unit)
                        return i * unit;
        return 10 * unit;
}

static void drift_frame(DriftPlot *p, unsigned panel, const char *name, double most) {
        double top = TOP + STEP * panel;

        drift_text(p, LEFT, top - 8, "start", 12, name);
        for (unsigned i = 0; i <= 2; i++) {
                double y = top + PANEL - PANEL * i / 2;
                char label[32];

                snprintf(label, sizeof(label), "%g", most * i / 2);
                drift_put(p, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"currentColor\" stroke-opacity=\"0.2\"/>\n", LEFT, y,
                          RIGHT);
                drift_text(p, LEFT - 6, y + 4, "end", 11, label);
        }
}

static double drift_value(const MeasureRow *w, unsigned panel) {
        return panel == 0 ? score_drift(&w->score) : panel == 1 ? score_unsupported(&w->score) : w->score.tokens;
}

/* The means of the dialogues that have the turn. */
static void drift_by_turn(DriftPlot *p, const MeasureRows *rows, unsigned panel, const char *name) {
        static Series points[AGENTS][TURNS_MAX];
        size_t turns = 0;
        double most = 0;

        memset(points, 0, sizeof(points));
        for (size_t i = 0; i < rows->n; i++) {
                const MeasureRow *w = &rows->v[i];

                if (w->turn > TURNS_MAX)
                        continue;
                series_add(&points[w->agent][w->turn - 1], drift_value(w, panel));
                turns = MAX(turns, (size_t)w->turn);
        }
        for (unsigned k = 0; k < AGENTS; k++)
                for (size_t i = 0; i < turns; i++)
                        most = MAX(most, series_mean(&points[k][i]));
        most = drift_ceiling(most);
        drift_frame(p, panel, name, most);
        for (unsigned k = 0; k < AGENTS; k++) {
                drift_put(p, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", drift_colors[k]);
                for (size_t i = 0; i < turns; i++)
                        drift_put(p, "%s%.1f %.1f", i == 0 ? "M" : "L",
                                  LEFT + (RIGHT - LEFT) * (double)i / (double)MAX(turns - 1, (size_t)1),
                                  TOP + STEP * panel + PANEL * (1 - series_mean(&points[k][i]) / most));
                drift_put(p, "\"/>\n");
        }
        for (size_t i = 0; i < turns; i += turns > 40 ? 10 : 5) {
                char label[16];

                snprintf(label, sizeof(label), "%zu", i + 1);
                drift_text(p, LEFT + (RIGHT - LEFT) * (double)i / (double)MAX(turns - 1, (size_t)1),
                           TOP + STEP * panel + PANEL + 16, "middle", 11, label);
        }
}

static void drift_by_domain(DriftPlot *p, const MeasureRows *rows) {
        double most = 0, wide, top = TOP + STEP * 3, x = LEFT;
        size_t n = 0;

        for (const char *d = NULL; (d = report_domain(rows, d)); n++)
                for (unsigned k = 0; k < AGENTS; k++) {
                        Summary s;

                        report_sum(rows, (AgentKind)k, d, &s);
                        most = MAX(most, series_mean(&s.drift_each) + series_deviation(&s.drift_each));
                }
        most = drift_ceiling(most);
        drift_frame(p, 3, "D by domain, with the standard deviation between episodes", most);
        wide = (RIGHT - LEFT) / (double)MAX(n, (size_t)1);
        for (const char *d = NULL; (d = report_domain(rows, d)); x += wide) {
                for (unsigned k = 0; k < AGENTS; k++) {
                        double bar = MIN(wide / 5, 50.0), at = x + wide / 2 + (k - 1.5) * bar, mean, spread;
                        Summary s;

                        report_sum(rows, (AgentKind)k, d, &s);
                        mean = PANEL * series_mean(&s.drift_each) / most;
                        spread = PANEL * series_deviation(&s.drift_each) / most;
                        drift_put(p, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", at,
                                  top + PANEL - mean, bar - 2, mean, drift_colors[k]);
                        drift_put(p, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"currentColor\"/>\n", at + bar / 2 - 1,
                                  top + PANEL - mean - spread, top + PANEL - MAX(mean - spread, 0.0));
                }
                drift_text(p, x + wide / 2, top + PANEL + 16, "middle", 11, d);
        }
}

int report_plot(const MeasureRows *rows, const char *about, Buf *ret) {
        DriftPlot plot = {.out = ret}, *p = &plot;
        double height = TOP + STEP * PANELS - 20;

        drift_put(p, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
                     "font-family=\"sans-serif\" color=\"#475569\" role=\"img\">\n", WIDTH, height, WIDTH, height);
        drift_text(p, 8, 20, "start", 15, "Drift, unsupported claims and footprint of three agents");
        drift_text(p, 8, 38, "start", 11, about);
        for (unsigned k = 0; k < AGENTS; k++) {
                drift_put(p, "<circle cx=\"%.1f\" cy=\"50\" r=\"4\" fill=\"%s\"/>\n", RIGHT - 300 + 110.0 * k,
                          drift_colors[k]);
                drift_text(p, RIGHT - 290 + 110.0 * k, 54, "start", 12, agent_name((AgentKind)k));
        }
        drift_by_turn(p, rows, 0, "D: omissions and violations for each active constraint, by turn");
        drift_by_turn(p, rows, 1, "H: share of claims without support, by turn");
        drift_by_turn(p, rows, 2, "tokens without the input, by turn");
        drift_by_domain(p, rows);
        drift_put(p, "</svg>\n");
        return plot.failed;
}
