/* Runs: tests. The measurements: outcomes of a history's notes, under the default thresholds and along the operating
 * curve. */
#pragma once

#include "base/buf.h"
#include "tests/eval/replay.h"

#define CURVE_POINTS_MAX 64
/* Where the score and its lead decide alone, without a probability. */
#define CURVE_TAU 0.55
#define CURVE_DELTA 0.26
#define CURVE_POLICY                                                                                      \
        ((ResolvePolicy){CURVE_TAU, CURVE_DELTA, RESOLVE_CREATE_TAU, RESOLVE_CREATE_DELTA, RESOLVE_FRESH, \
                         RESOLVE_LEAST})

typedef struct CurvePoint {
        double tau, delta;
        bool memory;      /* rows are known by names in bound notes, too */
        bool always_best; /* no thresholds: the best candidate is taken */
        ReplayCount count;
} CurvePoint;
typedef struct Curve {
        CurvePoint points[CURVE_POINTS_MAX];
        size_t n;
} Curve;
/* Of the masked notes. `without`: a replay without memory; points with memory are replayed. Returns 0, -ENOMEM. */
int curve_measure(Replay *r, const ReplayNotes *without, Curve *ret);
/* New reference, NULL: no memory. */
json_t *curve_json(const Curve *c);
/* {"notes","bound_rate","wrong_rate","pending_rate"}: shares of all notes. */
json_t *count_json(ReplayCount c);

/* The curve as a picture: bound notes against notes bound to the wrong row, both on logarithmic axes. Returns 0,
 * -ENOMEM. */
int curve_plot(const Curve *c, const char *about, Buf *ret);
