#include "tests/eval/cognition/request.h"

#include <errno.h>
#include <math.h>

uint64_t seed_next(uint64_t *state) {
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

void series_add(Series *s, double v) {
        s->n++;
        s->sum += v;
        s->squares += v * v;
}

double series_mean(const Series *s) {
        return s->n > 0 ? s->sum / s->n : 0;
}

double series_deviation(const Series *s) {
        double mean = series_mean(s), v = s->n > 0 ? s->squares / s->n - mean * mean : 0;

        return v > 0 ? sqrt(v) : 0;
}

/* An order of the agents, drawn for a turn. */
static void measure_order(const MeasureConfig *c, size_t dialogue, unsigned turn, AgentKind order[static AGENTS]) {
        uint64_t state = c->seed ^ ((uint64_t)dialogue << 32) ^ turn;

        for (unsigned i = 0; i < AGENTS; i++)
                order[i] = (AgentKind)i;
        for (unsigned i = AGENTS - 1; i > 0; i--) {
                unsigned k = (unsigned)(seed_next(&state) % (i + 1));
                AgentKind other = order[i];

                order[i] = order[k];
                order[k] = other;
        }
}

static int measure_explain(const MeasureConfig *c, Judge *judge, const Agents *agents, const MeasureRow *row) {
        _cleanup_buf_ Buf why = {0};
        const char *context = agents_context(agents, c->explained);
        int r = judge_explain(judge, context, &why);

        if (r == 0)
                fprintf(c->explain, "== %s, turn %u\n%s\n-- %s\n%s\n", row->dialogue->id, row->turn, row->at->text,
                        agent_name(c->explained), context);
        if (r == 0 && why.n > 0)
                fprintf(c->explain, "-- fails\n%s\n", why.data);
        return r;
}

/* Tokens of what an agent keeps (C-54). The current input is given to every agent; two contexts hold the input. */
static size_t measure_footprint(const Agents *agents, AgentKind k, const DialogueTurn *at) {
        return judge_tokens(agents_context(agents, k)) - (k == AGENT_CCS ? 0 : judge_tokens(at->text));
}

static int measure_turn(const MeasureConfig *c, Judge *judge, const Agents *agents, size_t index, MeasureRow row,
                        MeasureRows *rows) {
        AgentKind order[AGENTS];
        MeasureRow made[AGENTS];
        int r = 0;

        measure_order(c, index, row.turn, order);
        if (c->explain)
                r = measure_explain(c, judge, agents, &row);
        if (r == 0 && c->requests)
                r = request_write(&row, agents, order, c->requests);
        for (unsigned i = 0; r == 0 && i < AGENTS; i++) {
                row.agent = order[i];
                row.shown = i + 1;
                r = judge_score(judge, agents_context(agents, order[i]), &row.score);
                row.score.tokens = (unsigned)measure_footprint(agents, order[i], row.at);
                made[order[i]] = row;
        }
        for (unsigned i = 0; r == 0 && i < AGENTS; i++) {
                if (!GROW(rows->v, rows->n))
                        return -ENOMEM;
                rows->v[rows->n++] = made[i];
        }
        return r;
}

void measure_bursts(MeasureRow *rows, size_t n) {
        for (unsigned agent = 0; agent < AGENTS; agent++) {
                Series h = {0};
                double most;

                for (size_t i = agent; i < n; i += AGENTS)
                        series_add(&h, score_unsupported(&rows[i].score));
                most = series_mean(&h) + 2 * series_deviation(&h);
                for (size_t i = agent; i < n; i += AGENTS)
                        rows[i].burst = score_unsupported(&rows[i].score) > most;
        }
}

int measure_dialogue(const MeasureConfig *c, const Dialogue *d, size_t index, MeasureRows *rows) {
        _cleanup_judge_ Judge *judge = NULL;
        _cleanup_agents_ Agents *agents = NULL;
        size_t from = rows->n;
        unsigned turn = 0;
        int r = judge_new(&judge) ?: agents_new(c->k, &agents);

        for (size_t i = 0; r == 0 && i < d->n_turns; i++) {
                r = judge_hear(judge, &d->turns[i]) ?: agents_hear(agents, &d->turns[i]);
                if (r == 0 && d->turns[i].user)
                        r = measure_turn(c, judge, agents, index,
                                         (MeasureRow){.dialogue = d, .at = &d->turns[i], .turn = ++turn}, rows);
        }
        if (r == 0)
                measure_bursts(rows->v + from, rows->n - from);
        return r;
}
