#include "tests/eval/curve.h"

#include <errno.h>

static double rate(size_t part, size_t whole) {
        return whole == 0 ? 0 : (double)part / (double)whole;
}

json_t *count_json(ReplayCount c) {
        return json_pack("{s:o, s:f, s:f, s:f}", "notes", json_u64(c.notes), "bound_rate", rate(c.bound, c.notes),
                         "wrong_rate", rate(c.wrong, c.notes), "pending_rate", rate(c.notes - c.bound, c.notes));
}

static void add(Curve *c, CurvePoint p) {
        assert(c->n < CURVE_POINTS_MAX);
        c->points[c->n++] = p;
}

static int add_with_memory(Replay *r, Curve *c, CurvePoint p) {
        _cleanup_replay_notes_ ReplayNotes notes = {0};
        ResolvePolicy policy = CURVE_POLICY;
        int k;

        policy.tau = p.tau;
        policy.delta = p.delta;
        k = replay_notes(r, NOTE_MASKED, true, &policy, &notes);
        if (k < 0)
                return k;
        p.memory = true;
        p.count = replay_count(&notes, 0, notes.n);
        add(c, p);
        return 0;
}

int curve_measure(Replay *r, const ReplayNotes *without, Curve *ret) {
        static const double deltas[] = {0, 0.05, 0.10, 0.15, 0.20, CURVE_DELTA, 0.30, 0.35, 0.40};
        int k = 0;

        *ret = (Curve){0};
        for (int memory = 0; memory < 2; memory++)
                for (size_t i = 0; i < ARRAY_SIZE(deltas) && k == 0; i++) {
                        CurvePoint p = {.tau = CURVE_TAU, .delta = deltas[i]};

                        p.count = replay_count_at(without, p.tau, p.delta);
                        if (memory)
                                k = add_with_memory(r, ret, p);
                        else
                                add(ret, p);
                }
        for (int tau = 30; tau <= 95; tau += 5) {
                CurvePoint p = {.tau = tau / 100.0, .delta = CURVE_DELTA};

                p.count = replay_count_at(without, p.tau, p.delta);
                if (tau != (int)(100 * CURVE_TAU + 0.5))
                        add(ret, p);
        }
        add(ret, (CurvePoint){.always_best = true, .count = replay_count_at(without, 0, 0)});
        return k;
}

json_t *curve_json(const Curve *c) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && i < c->n; i++) {
                const CurvePoint *p = &c->points[i];
                json_t *o = count_json(p->count);

                if (!o || json_object_set_new(o, "tau", json_real(p->tau)) < 0 ||
                    json_object_set_new(o, "delta", json_real(p->delta)) < 0 ||
                    json_object_set_new(o, "memory", json_boolean(p->memory)) < 0 ||
                    json_object_set_new(o, "always_best", json_boolean(p->always_best)) < 0 ||
                    json_array_append(a, o) < 0) {
                        json_decref(o);
                        return NULL;
                }
                json_decref(o);
        }
        return TAKE_PTR(a);
}
