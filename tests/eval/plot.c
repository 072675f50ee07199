#include "tests/eval/curve.h"

#include <math.h>
#include <stdarg.h>

#define WIDTH 860.0
#define HEIGHT 420.0
#define LEFT 64.0 /* of the drawing's area */
#define RIGHT 830.0
#define TOP 64.0
#define BOTTOM 364.0
/* Both axes: from one in a thousand to all. */
#define LEAST 0.001
#define GOAL 0.01

typedef struct Plot {
        Buf *out;
        int failed; /* 0 or the first -errno */
} Plot;

static void put(Plot *p, const char *fmt, ...) _printf_(2, 3);
static void put(Plot *p, const char *fmt, ...) {
        char line[512];
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

static double at(double share, double from, double to) {
        double v = share < LEAST ? LEAST : share > 1 ? 1 : share;

        return from + (to - from) * log10(v / LEAST) / log10(1 / LEAST);
}

static double x_of(const ReplayCount *c) {
        return at((double)c->bound / (double)c->notes, LEFT, RIGHT);
}

static double y_of(const ReplayCount *c) {
        return at((double)c->wrong / (double)c->notes, BOTTOM, TOP);
}

static void text(Plot *b, double x, double y, const char *anchor, unsigned size, const char *what) {
        put(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%u\" fill=\"currentColor\">%s</text>\n", x,
            y, anchor, size, what);
}

static void axes(Plot *b) {
        static const double ticks[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};

        for (size_t i = 0; i < ARRAY_SIZE(ticks); i++) {
                double x = at(ticks[i], LEFT, RIGHT), y = at(ticks[i], BOTTOM, TOP);
                char label[16];

                snprintf(label, sizeof(label), "%g %%", 100 * ticks[i]);
                put(b, "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fH%.1f\" stroke=\"currentColor\" stroke-opacity=\"0.15\"/>\n",
                    x, TOP, BOTTOM, LEFT, y, RIGHT);
                text(b, x, BOTTOM + 18, "middle", 11, label);
                text(b, LEFT - 6, y + 4, "end", 11, label);
        }
        put(b, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#dc2626\" stroke-dasharray=\"5 4\"/>\n", LEFT,
            at(GOAL, BOTTOM, TOP), RIGHT);
        text(b, RIGHT, at(GOAL, BOTTOM, TOP) - 5, "end", 11, "1 % wrong");
        text(b, (LEFT + RIGHT) / 2, BOTTOM + 40, "middle", 12, "notes that are bound");
        text(b, LEFT, TOP - 10, "start", 12, "notes that are bound to a wrong row");
}

/* The points along delta, at the default tau: a line and a dot for each. The line with memory is wide, and lies below
 * the other. */
static void along_delta(Plot *b, const Curve *c, bool memory, const char *color) {
        const char *move = "M";

        put(b, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" d=\"", color, memory ? 7 : 2);
        for (size_t i = 0; i < c->n; i++)
                if (c->points[i].tau == CURVE_TAU && c->points[i].memory == memory && !c->points[i].always_best) {
                        put(b, "%s%.1f %.1f", move, x_of(&c->points[i].count), y_of(&c->points[i].count));
                        move = "L";
                }
        put(b, "\"/>\n");
        for (size_t i = 0; i < c->n; i++) {
                const CurvePoint *p = &c->points[i];
                char label[32];

                if (p->tau != CURVE_TAU || p->memory != memory || p->always_best)
                        continue;
                put(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"/>\n", x_of(&p->count),
                    y_of(&p->count), p->delta == CURVE_DELTA ? 7 : memory ? 5 : 3, color);
                snprintf(label, sizeof(label), "%s%.2f", p->delta == CURVE_DELTA ? "default, delta " : "", p->delta);
                if (!memory)
                        text(b, x_of(&p->count) - 8, y_of(&p->count) - 5, "end", 11, label);
        }
}

static void key(Plot *b, unsigned row, const char *color, const char *what) {
        double y = TOP + 14 + 18 * row;

        put(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", LEFT + 14, y - 4, color);
        text(b, LEFT + 26, y, "start", 12, what);
}

int curve_plot(const Curve *c, const char *about, Buf *ret) {
        static const char ours[] = "#2563eb", remembered[] = "#99e2d8", theirs[] = "#94a3b8";
        Plot plot = {.out = ret}, *b = &plot;

        put(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
               "font-family=\"sans-serif\" color=\"#475569\" role=\"img\">\n", WIDTH, HEIGHT, WIDTH, HEIGHT);
        text(b, 8, 20, "start", 15, "Notes bound to what they are about, without any explicit reference");
        text(b, 8, 38, "start", 11, about);
        axes(b);
        along_delta(b, c, true, remembered);
        along_delta(b, c, false, ours);
        for (size_t i = 0; i < c->n; i++)
                if (c->points[i].always_best)
                        put(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"%s\"/>\n",
                            x_of(&c->points[i].count), y_of(&c->points[i].count), theirs);
        key(b, 0, ours, "by delta, from 0 to 0.40, at the default tau");
        key(b, 1, remembered, "the same with reference memory");
        key(b, 2, theirs, "the best match is always taken");
        put(b, "</svg>\n");
        return plot.failed;
}
