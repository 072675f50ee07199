#include "tests/eval/cognition/measure.h"

#include <errno.h>
#include <inttypes.h>

static const char table_names[] =
        "dialogue,domain,turn,agent,shown,active,omitted,violated,supported,unsupported,asked,answered,orders,followed,"
        "torn,tokens,D,H,relevance,quality,instruction,coherence,burst,stress\n";

int measure_csv_head(const MeasureConfig *c, Buf *out) {
        int r = buf_printf(out, "# drift 1 seed=%" PRIu64 " k=%u judge=%s source=%s\n", c->seed, c->k, JUDGE_NAME,
                           c->source);

        return r ?: buf_add_str(out, table_names);
}

static int table_stress(const json_t *stress, Buf *out) {
        json_t *topic;
        size_t i;
        int r = 0;

        json_array_foreach(stress, i, topic) {
                const char *name = json_string_value(topic);

                r = r ?: buf_add_str(out, i > 0 ? ";" : "");
                for (; r == 0 && *name; name++)
                        r = buf_add(out, strchr(",;\"\r\n", *name) ? " " : name, 1);
        }
        return r ?: buf_add_str(out, "\n");
}

int measure_csv_rows(const MeasureRows *rows, size_t from, Buf *out) {
        int r = 0;

        for (size_t i = from; r == 0 && i < rows->n; i++) {
                const MeasureRow *w = &rows->v[i];
                const Score *s = &w->score;

                r = buf_printf(out, "%s,%s,%u,%s,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u", w->dialogue->id,
                               w->dialogue->domain, w->turn, agent_name(w->agent), w->shown, s->active, s->omitted,
                               s->violated, s->supported, s->unsupported, s->asked, s->answered, s->orders,
                               s->followed, s->torn, s->tokens)
                        ?: buf_printf(out, ",%.4f,%.4f,%.2f,%.2f,%.2f,%.2f,%d,", score_drift(s), score_unsupported(s),
                                      score_relevance(s), score_quality(s), score_instruction(s), score_coherence(s),
                                      w->burst)
                        ?: table_stress(w->at->stress, out);
        }
        return r;
}

/* Reads the whole numbers of a line behind dialogue and domain. */
static bool table_read_row(const char *line, MeasureRow *w) {
        Score *s = &w->score;
        char agent[16];
        unsigned turn;

        return strncmp(line, w->dialogue->id, strlen(w->dialogue->id)) == 0 &&
               sscanf(line + strlen(w->dialogue->id), ",%*[^,],%u,%15[^,],%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u", &turn,
                      agent, &w->shown, &s->active, &s->omitted, &s->violated, &s->supported, &s->unsupported,
                      &s->asked, &s->answered, &s->orders, &s->followed, &s->torn, &s->tokens) == 14 &&
               turn == w->turn && strcmp(agent, agent_name(w->agent)) == 0;
}

/* Returns the bytes of the dialogue's rows, 0 when the table ends before: nothing counts then. */
static int table_read_dialogue(const Dialogue *d, const char *text, MeasureRows *rows, size_t *ret_n, Diag *reterr) {
        const char *p = text;
        size_t from = rows->n;
        unsigned turn = 0;

        *ret_n = 0;
        for (size_t i = 0; i < d->n_turns; i++)
                for (unsigned k = 0; d->turns[i].user && k < AGENTS; k++) {
                        MeasureRow w = {.dialogue = d, .at = &d->turns[i], .turn = turn += k == 0,
                                        .agent = (AgentKind)k};
                        const char *end = strchr(p, '\n');

                        if (!end) {
                                rows->n = from;
                                return 0;
                        }
                        if (!table_read_row(p, &w))
                                return diag(reterr, 1, "the row of %s, turn %u, agent %s is not as measured: \"%s\"",
                                            d->id, w.turn, agent_name(w.agent),
                                            DIAG_QUOTED_N(p, MIN((size_t)(end - p), (size_t)80)));
                        if (!GROW(rows->v, rows->n))
                                return -ENOMEM;
                        rows->v[rows->n++] = w;
                        p = end + 1;
                }
        measure_bursts(rows->v + from, rows->n - from);
        *ret_n = (size_t)(p - text);
        return 0;
}

int measure_csv_read(const MeasureConfig *c, const Dialogues *all, const char *text, MeasureRows *rows, size_t *ret_n,
                     size_t *ret_dialogues, Diag *reterr) {
        _cleanup_buf_ Buf head = {0};
        size_t n = 1, i = 0;
        int r = measure_csv_head(c, &head);

        *ret_n = *ret_dialogues = 0;
        if (r < 0 || strlen(text) < head.n) /* interrupted in its head: begin anew */
                return r < 0                                               ? r
                       : strncmp(text, head.data, strlen(text)) == 0 ? 0
                                                                     : diag(reterr, 1, "this is no table of drift");
        if (strncmp(text, head.data, head.n) != 0)
                return diag(reterr, 1, "the table is of another measurement (\"%s\"), not of this one (\"%s\")",
                            DIAG_QUOTED_N(text, MIN(strcspn(text, "\n"), (size_t)150)),
                            DIAG_QUOTED_N(head.data, strcspn(head.data, "\n")));
        *ret_n = head.n;
        while (r == 0 && n > 0 && i < all->n) {
                r = table_read_dialogue(&all->v[i], text + *ret_n, rows, &n, reterr);
                *ret_n += n;
                i += n > 0;
        }
        *ret_dialogues = i;
        return r;
}
