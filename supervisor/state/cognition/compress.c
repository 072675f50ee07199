/* Runs: supervisor, CLI. The built-in compressor. */
#include "cognition/compress-inside.h"

#include "cognition/ccs-check.h"

#include <errno.h>

static const char *const compress_acts[COMPRESS_ACTS] = {
        [COMPRESS_ADDED] = "added",
        [COMPRESS_REPLACED] = "replaced",
        [COMPRESS_LIFTED] = "lifted",
        [COMPRESS_REFUSED] = "refused",
        [COMPRESS_EVICTED] = "evicted",
};

const char *compress_act_name(CompressAct a) {
        return compress_acts[a];
}

void compress_event(Compress *c, CompressAct act, CcsField f, const char *atom, const char *reason) {
        CompressEvent *e;

        if (!c->report || c->report->n_total++ >= COMPRESS_EVENTS_MAX)
                return;
        e = &c->report->event[c->report->n++];
        e->act = act;
        e->field = f;
        e->reason = reason;
        snprintf(e->atom, sizeof(e->atom), "%s", atom);
}

int compress_add(Compress *c, CcsField f, const char *name, const char *const *args, size_t n_args) {
        Atom a;
        int e;

        if (atom_make(name, args, n_args, &a) != 0 || ccs_validate_atom(f, &a, NULL) != 0)
                return 0;
        e = ccs_add(&c->next, f, a.text, NULL);
        return e < 0 ? e : 0;
}

static int compress_keep(Compress *c, CcsField f) {
        const CcsList *l = &c->in->previous->field[f];
        int e = 0;

        for (size_t i = 0; i < l->n && e >= 0; i++)
                e = ccs_add(&c->next, f, l->atoms[i], NULL);
        return MIN(e, 0);
}

/* The object of the newest goal: what cue and gist are about. */
static void compress_topic(const Compress *c, char *out, size_t n_out) {
        const CcsList *l = &c->next.field[CCS_GOAL_ORIENTATION];
        const char *open = l->n > 0 ? strchr(l->atoms[l->n - 1], '(') : NULL, *word, *end;

        if (!open) {
                snprintf(out, n_out, "user");
                return;
        }
        end = strchr(open, ')');
        word = end;
        while (word > open + 1 && word[-1] != ' ' && word[-1] != ',' && word[-1] != '"' && word[-1] != '(')
                word--;
        snprintf(out, n_out, "%.*s", (int)(end - word), word);
}

/* What this turn changed (C-6): the newest parameter stands for all of the turn. */
static int compress_episode(Compress *c) {
        int e = 0;

        if (c->accepted)
                e = compress_add(c, CCS_EPISODIC_TRACE, c->rejects ? "rejected" : "accepted", &(const char *){"user"},
                                 1);
        for (size_t i = c->set > 0 ? c->n_entities : 0; i-- > 0 && e >= 0;)
                if (c->entity[i].fresh && entity_type(&c->entity[i]) == PHRASE_TYPES)
                        return compress_add(c, CCS_EPISODIC_TRACE, "set", &(const char *){c->entity[i].type}, 1);
        return e;
}

/* name(words) of the turn's request. */
static int compress_gist(Compress *c, const char *request) {
        const char *open = strchr(request, '(');
        char name[ATOM_MAX], object[ATOM_MAX];

        snprintf(name, sizeof(name), "%.*s", (int)(open - request), request);
        snprintf(object, sizeof(object), "%.*s", (int)strlen(open + 1) - 1, open + 1);
        return compress_add(c, CCS_SEMANTIC_GIST, name, &(const char *){object}, 1);
}

static int compress_signals(Compress *c) {
        const CcsList *goals = &c->next.field[CCS_GOAL_ORIENTATION];
        char topic[ATOM_MAX];
        const char *cue = NULL, *level = "low";
        int e;

        compress_topic(c, topic, sizeof(topic));
        if (c->asks && !c->others)
                cue = "answer";
        else if (c->others)
                cue = "search";
        if (c->n_offers > 0 || c->n_hypotheses > 0)
                level = "medium";
        if (c->conflicts > 0 || c->no_room[0])
                level = "high";
        if (c->request[0] && compress_gist(c, c->request) < 0)
                return -ENOMEM;
        e = goals->n > 0 && c->next.field[CCS_SEMANTIC_GIST].n == 0
                    ? ccs_add(&c->next, CCS_SEMANTIC_GIST, goals->atoms[goals->n - 1], NULL)
                    : 0;
        if (e >= 0 && cue)
                e = compress_add(c, CCS_PREDICTIVE_CUE, cue, &(const char *){topic}, 1);
        if (e >= 0)
                e = compress_add(c, CCS_UNCERTAINTY_SIGNAL, "level", &(const char *){level}, 1);
        if (e >= 0 && c->conflict[0])
                e = compress_add(c, CCS_UNCERTAINTY_SIGNAL, "conflict", &(const char *){c->conflict}, 1);
        if (e >= 0 && c->no_room[0])
                e = compress_add(c, CCS_UNCERTAINTY_SIGNAL, "no_room", &(const char *){c->no_room}, 1);
        if (e >= 0)
                e = compress_cues_store(c);
        return MIN(e, 0);
}

static int compress_artifacts(Compress *c) {
        size_t max;
        int e = compress_keep(c, CCS_RETRIEVED_ARTIFACTS);

        ccs_field_bounds(CCS_RETRIEVED_ARTIFACTS, &(size_t){0}, &max);
        for (size_t i = MIN(c->in->n_artifacts, max); i-- > 0 && e >= 0;) {
                const CompressArtifact *a = &c->in->artifacts[i];
                char reference[ATOM_MAX];

                snprintf(reference, sizeof(reference), "%s@%llu", a->id, (unsigned long long)a->version);
                if (c->next.field[CCS_RETRIEVED_ARTIFACTS].n == max) {
                        compress_event(c, COMPRESS_EVICTED, CCS_RETRIEVED_ARTIFACTS,
                                       c->next.field[CCS_RETRIEVED_ARTIFACTS].atoms[0], "newer artifacts");
                        ccs_remove(&c->next, CCS_RETRIEVED_ARTIFACTS, 0);
                }
                e = compress_add(c, CCS_RETRIEVED_ARTIFACTS, a->label, &(const char *){reference}, 1);
        }
        return e;
}

static int compress_fit(Compress *c, const CcsBound *bound, Diag *reterr) {
        _cleanup_ccs_ Ccs evicted = CCS_NULL;
        int e = ccs_fit(&c->next, bound, &evicted, reterr);

        for (CcsField f = 0; f < CCS_FIELDS && !e; f++)
                for (size_t i = 0; i < evicted.field[f].n; i++)
                        compress_event(c, COMPRESS_EVICTED, f, evicted.field[f].atoms[i], "the bound of the state");
        return e;
}

static int compress_turn(Compress *c, Diag *reterr) {
        const CompressInput *in = c->in;
        int e;

        if ((e = phrase_read(in->input.text ?: "", in->input.n, &c->user)) < 0 ||
            (e = phrase_read(in->decision.text ?: "", in->decision.n, &c->decision)) < 0 ||
            (e = compress_keep(c, CCS_GOAL_ORIENTATION)) < 0 || (e = compress_keep(c, CCS_CONSTRAINTS)) < 0 ||
            (e = compress_load(c)) < 0)
                return e;
        if ((e = compress_cues(c)) < 0)
                return e;
        if (in->source == COMPRESS_USER && !c->begins) {
                compress_limits(c);
                compress_revise(c, false);
                compress_bind(c);
                compress_revise(c, true);
                compress_revised(c);
        }
        if ((e = compress_rules(c, &c->user, in->source)) < 0)
                return e;
        compress_talk(c);
        if ((e = c->failed) < 0 || (e = compress_store(c)) < 0 || (e = compress_episode(c)) < 0 || (e = compress_signals(c)) < 0 ||
            (e = compress_artifacts(c)) < 0)
                return e;
        return compress_fit(c, &in->bound, reterr);
}

int ccs_compress(const CompressInput *in, Ccs *ret, CompressReport *report, Diag *reterr) {
        Compress c = {.in = in, .report = report};
        int e;

        if (report)
                report->n = report->n_total = 0;
        e = compress_turn(&c, reterr);
        phrase_text_deinit(&c.user);
        phrase_text_deinit(&c.decision);
        if (e != 0)
                ccs_deinit(&c.next);
        else
                *ret = c.next;
        return e;
}
