#include "tests/eval/cognition/report.h"

#include "cognition/ccs.h"

#include <stdio.h>

static void report_add_dialogue(Summary *s, Series *d, Series *h, Series *t) {
        if (t->n > 0) {
                if (d->n > 0)
                        series_add(&s->drift_each, series_mean(d));
                series_add(&s->unsupported_each, series_mean(h));
                series_add(&s->tokens_each, series_mean(t));
        }
        *d = *h = *t = (Series){0};
}

void report_sum(const MeasureRows *rows, AgentKind agent, const char *domain, Summary *ret) {
        Series d = {0}, h = {0}, t = {0};

        *ret = (Summary){0};
        for (size_t i = 0; i < rows->n; i++) {
                const MeasureRow *w = &rows->v[i];
                const Score *s = &w->score;

                if (w->agent != agent || (domain && strcmp(domain, w->dialogue->domain) != 0))
                        continue;
                if (w->turn == 1)
                        report_add_dialogue(ret, &d, &h, &t);
                else {
                        series_add(&ret->drift, score_drift(s));
                        series_add(&d, score_drift(s));
                        ret->omitted += s->omitted;
                        ret->violated += s->violated;
                        ret->active += s->active;
                }
                series_add(&ret->unsupported, score_unsupported(s));
                series_add(&h, score_unsupported(s));
                series_add(&ret->tokens, s->tokens);
                series_add(&t, s->tokens);
                if (w->turn == w->dialogue->n_user)
                        series_add(&ret->last, s->tokens);
                series_add(&ret->relevance, score_relevance(s));
                series_add(&ret->quality, score_quality(s));
                series_add(&ret->instruction, score_instruction(s));
                series_add(&ret->coherence, score_coherence(s));
                ret->bursts += w->burst;
                ret->most_tokens = MAX(ret->most_tokens, (size_t)s->tokens);
        }
        report_add_dialogue(ret, &d, &h, &t);
}

const char *report_domain(const MeasureRows *rows, const char *after) {
        bool passed = !after;

        for (size_t i = 0; i < rows->n; i++) {
                const char *domain = rows->v[i].dialogue->domain;
                bool earlier = false;

                if (!passed) {
                        passed = strcmp(domain, after) == 0;
                        continue;
                }
                for (size_t k = 0; k < i && !earlier; k++)
                        earlier = strcmp(rows->v[k].dialogue->domain, domain) == 0;
                if (!earlier)
                        return domain;
        }
        return NULL;
}

static json_t *report_metric(const Series *s) {
        return json_pack("{s:f, s:f}", "mean", series_mean(s), "std", series_deviation(s));
}

/* Bursts by the stress topic of their turn. */
static json_t *report_bursts(const MeasureRows *rows, AgentKind agent) {
        json_t *o = json_object(), *topic;
        size_t k;

        for (size_t i = 0; o && i < rows->n; i++)
                if (rows->v[i].burst && rows->v[i].agent == agent)
                        json_array_foreach(rows->v[i].at->stress, k, topic) {
                                const char *name = json_string_value(topic);
                                json_int_t n = json_integer_value(json_object_get(o, name));

                                if (json_object_set_new(o, name, json_integer(n + 1)) < 0) {
                                        json_decref(o);
                                        return NULL;
                                }
                        }
        return o;
}

static json_t *report_agent(const MeasureRows *rows, AgentKind agent) {
        Summary s;

        report_sum(rows, agent, NULL, &s);
        return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "D",
                         series_mean(&s.drift), "D_std", series_deviation(&s.drift_each), "H",
                         series_mean(&s.unsupported), "H_std", series_deviation(&s.unsupported_each), "tokens_mean",
                         series_mean(&s.tokens), "tokens_std", series_deviation(&s.tokens_each), "tokens_last",
                         series_mean(&s.last), "tokens_max", json_u64(s.most_tokens), "omissions", json_u64(s.omitted),
                         "violations", json_u64(s.violated), "active", json_u64(s.active), "bursts",
                         json_u64(s.bursts), "bursts_by_topic", report_bursts(rows, agent), "relevance",
                         report_metric(&s.relevance), "answer_quality", report_metric(&s.quality),
                         "instruction_following", report_metric(&s.instruction), "coherence",
                         report_metric(&s.coherence));
}

static json_t *report_domains(const MeasureRows *rows) {
        json_t *all = json_object();

        for (const char *domain = NULL; all && (domain = report_domain(rows, domain));) {
                json_t *o = json_object();

                for (unsigned k = 0; o && k < AGENTS; k++) {
                        Summary s;

                        report_sum(rows, (AgentKind)k, domain, &s);
                        json_object_set_new(
                                o, agent_name((AgentKind)k),
                                json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i}", "D", series_mean(&s.drift_each),
                                          "D_std", series_deviation(&s.drift_each), "H",
                                          series_mean(&s.unsupported_each), "H_std",
                                          series_deviation(&s.unsupported_each), "tokens_mean",
                                          series_mean(&s.tokens_each), "tokens_std", series_deviation(&s.tokens_each),
                                          "tokens_last", series_mean(&s.last), "episodes", (int)s.tokens_each.n));
                }
                if (!o || json_object_size(o) != AGENTS || json_object_set_new(all, domain, o) < 0) {
                        json_decref(all);
                        return NULL;
                }
        }
        return all;
}

static json_t *report_config(const MeasureConfig *c) {
        return json_pack("{s:o, s:i, s:{s:i, s:i}, s:s, s:s, s:[s, s, s], s:s, s:s, s:s, s:s, s:i}", "seed",
                         json_u64(c->seed), "k", (int)c->k, "bound", "bytes", CCS_BYTES, "tokens", CCS_TOKENS,
                         "judge", JUDGE_NAME, "compressor", "built-in", "answers", agent_name(AGENT_TRANSCRIPT),
                         agent_name(AGENT_RETRIEVAL), agent_name(AGENT_CCS), "presentation",
                         "blinded, order drawn from the seed for each turn", "tokenizer",
                         "runs of [A-Za-z0-9_], other characters alone", "schema", CCS_SCHEMA, "source", c->source,
                         "version", 1);
}

json_t *report_json(const MeasureConfig *c, const MeasureRows *rows) {
        _cleanup_json_ json_t *o = json_pack(
                "{s:i, s:o, s:o, s:o, s:o, s:o}", "version", 1, "transcript", report_agent(rows, AGENT_TRANSCRIPT),
                "retrieval", report_agent(rows, AGENT_RETRIEVAL), "ccs", report_agent(rows, AGENT_CCS), "domains",
                report_domains(rows), "config", report_config(c));

        return TAKE_PTR(o);
}

static void report_line(const MeasureRows *rows, AgentKind agent, const char *domain) {
        Summary s;

        report_sum(rows, agent, domain, &s);
        printf("%-18s %-10s %3.0f  %.3f (%.3f)  %.3f (%.3f)  %7.1f  %7.1f  %4.1f %4.1f %4.1f %4.1f  %5zu\n",
               domain ?: "all", agent_name(agent), s.tokens_each.n,
               domain ? series_mean(&s.drift_each) : series_mean(&s.drift), series_deviation(&s.drift_each),
               domain ? series_mean(&s.unsupported_each) : series_mean(&s.unsupported),
               series_deviation(&s.unsupported_each), series_mean(&s.tokens), series_mean(&s.last),
               series_mean(&s.relevance), series_mean(&s.quality), series_mean(&s.instruction),
               series_mean(&s.coherence), s.bursts);
}

void report_print(const MeasureRows *rows) {
        const char *first = report_domain(rows, NULL);

        printf("%-18s %-10s %3s  %-13s  %-13s  %7s  %7s  %4s %4s %4s %4s  %5s\n", "domain", "agent", "n", "D (std)",
               "H (std)", "tokens", "last", "rel", "qual", "inst", "coh", "burst");
        for (const char *domain = first; domain; domain = report_domain(rows, domain))
                for (unsigned k = 0; k < AGENTS && report_domain(rows, first); k++)
                        report_line(rows, (AgentKind)k, domain);
        for (unsigned k = 0; k < AGENTS; k++)
                report_line(rows, (AgentKind)k, NULL);
}
