#include "policy/bounds.h"
#include "policy/merge.h"

#include <errno.h>
#include <stdio.h>

/* The range for the skill. *ret_floor, *ret_ceiling: the limits from which each end comes. */
static Bound bound_for(const Merge *m, BoundKind k, const Limits **ret_floor, const Limits **ret_ceiling) {
        const Limits *general = &m->policy->limits, *own = m->row ? &m->row->limits : NULL;
        const bool replaces = m->row && m->row->digest;
        Bound b = general->bounds[k];

        *ret_floor = *ret_ceiling = general;
        if (!own)
                return b;
        if (own->bounds[k].has_floor && (replaces || !b.has_floor || own->bounds[k].floor > b.floor)) {
                b.has_floor = true;
                b.floor = own->bounds[k].floor;
                *ret_floor = own;
        }
        if (own->bounds[k].has_ceiling && (replaces || !b.has_ceiling || own->bounds[k].ceiling < b.ceiling)) {
                b.has_ceiling = true;
                b.ceiling = own->bounds[k].ceiling;
                *ret_ceiling = own;
        }
        return b;
}

/* The value of the grant. *ret_said: the manifest or the command line requested the value. */
static uint64_t bound_value(const Merge *m, BoundKind k, bool *ret_said) {
        const Manifest *a = m->manifest;
        const Grant *g = m->grant;

        switch (k) {
        case BOUND_DISCIPLINE:
                *ret_said = a->discipline_said || m->request->discipline_said;
                return discipline_strength(g->discipline, g->passes);
        case BOUND_LINEAGE:
                *ret_said = a->lineage_said;
                return g->lineage == LINEAGE_STATS ? 0 : g->lineage == LINEAGE_EVENTS ? 1 : 2;
        case BOUND_KEY_SCOPE:
                *ret_said = a->key_scope_said;
                return g->key_scope == KEY_SCOPE_TREE;
        case BOUND_CANCEL:
                *ret_said = a->cancel_bound_usec > 0;
                return g->cancel_bound_usec;
        case BOUND_CALLBACKS:
                *ret_said = true;
                return g->n_releases;
        case BOUND_EMBODIMENT:
                *ret_said = a->embodiment_said;
                return g->embodiment;
        case BOUND_COMMIT:
                *ret_said = a->commit_said;
                return g->commit;
        case BOUND_SESSION_IDLE:
                *ret_said = a->session_idle_said;
                return g->session_idle_usec;
        case BOUND_GRACE:
                *ret_said = a->grace_usec > 0 || m->request->grace_said;
                return g->grace_usec;
        }
        return 0;
}

static void bound_set(Grant *g, BoundKind k, uint64_t v) {
        static const LineageDetail details[] = {LINEAGE_STATS, LINEAGE_EVENTS, LINEAGE_HANDLES};

        switch (k) {
        case BOUND_DISCIPLINE:
                g->discipline = discipline_of_strength(v, &g->passes);
                break;
        case BOUND_LINEAGE:
                g->lineage = details[v];
                break;
        case BOUND_KEY_SCOPE:
                g->key_scope = v ? KEY_SCOPE_TREE : KEY_SCOPE_INVOCATION;
                break;
        case BOUND_CANCEL:
                g->cancel_bound_usec = v;
                break;
        case BOUND_CALLBACKS: /* policy cannot add a callback to a skill, or drop a needed callback */
                break;
        case BOUND_EMBODIMENT:
                g->embodiment = (Embodiment)v;
                break;
        case BOUND_COMMIT:
                g->commit = (CommitWhen)v;
                break;
        case BOUND_SESSION_IDLE:
                g->session_idle_usec = v;
                break;
        case BOUND_GRACE:
                g->grace_usec = v;
                break;
        }
}

static int bound_merge(Merge *m, BoundKind k) {
        const Limits *from_floor, *from_ceiling;
        const Bound b = bound_for(m, k, &from_floor, &from_ceiling);
        char what[64], floor_at[512], ceiling_at[512], text[BOUND_TEXT_MAX], floor[BOUND_TEXT_MAX],
                ceiling[BOUND_TEXT_MAX];
        /* a program has no lethe.json */
        const char *field = bound_rows[k].field, *of = m->skill ? "lethe.json#" : "--exec: ";
        bool said = false;
        int r;
        const uint64_t v = bound_value(m, k, &said);
        const char *asked = bound_text(k, v, text);

        snprintf(what, sizeof(what), "bounds/%s/floor", bound_rows[k].name);
        merge_where(m, from_floor, what, floor_at);
        snprintf(what, sizeof(what), "bounds/%s/ceiling", bound_rows[k].name);
        merge_where(m, from_ceiling, what, ceiling_at);
        if (k == BOUND_DISCIPLINE && m->request->discipline_said)
                field = "--discipline", of = "";
        if (k == BOUND_GRACE && m->request->grace_said)
                field = "--grace", of = "";
        if (b.has_floor && b.has_ceiling && b.floor > b.ceiling)
                return diag(m->reterr, GRANT_E_BOUNDS,
                            "%s: the floor %s (%s) is above the ceiling %s (%s): nothing lies between them",
                            bound_rows[k].name, bound_text(k, b.floor, floor), floor_at,
                            bound_text(k, b.ceiling, ceiling), ceiling_at);
        if (k == BOUND_SESSION_IDLE && !m->grant->session) { /* the default, for a session without a word on sessions */
                bound_set(m->grant, k, MAX(MIN(v, b.has_ceiling ? b.ceiling : v), b.has_floor ? b.floor : 0));
                return 0;
        }
        if (k == BOUND_CANCEL && b.has_ceiling)
                m->grant->cancel_ceiling_usec = b.ceiling;
        if (b.has_ceiling && v > b.ceiling) {
                if (said)
                        return diag(m->reterr, GRANT_E_BOUNDS, "%s%s: %s is above the ceiling %s of %s", of, field,
                                    asked, bound_text(k, b.ceiling, ceiling), ceiling_at);
                bound_set(m->grant, k, b.ceiling);
                r = merge_reduce(m, field, asked, bound_text(k, b.ceiling, ceiling), "%s", ceiling_at);
                return r ? r : merge_is_default(m->grant->reductions);
        }
        if (!b.has_floor || v >= b.floor)
                return 0;
        if (k == BOUND_CALLBACKS)
                return diag(m->reterr, GRANT_E_BOUNDS, "%s%s: %s is below the floor %s of %s", of, field, asked,
                            bound_text(k, b.floor, floor), floor_at);
        bound_set(m->grant, k, b.floor);
        if (!m->grant->raised && !(m->grant->raised = json_array()))
                return -ENOMEM;
        r = merge_note(m->grant->raised, field, asked, bound_text(k, b.floor, floor), floor_at);
        return r || said ? r : merge_is_default(m->grant->raised);
}

static int bound_no_such_embodiment(Merge *m) {
        const Limits *from_floor, *from_ceiling;
        const Bound b = bound_for(m, BOUND_EMBODIMENT, &from_floor, &from_ceiling);
        const uint64_t got = m->grant->embodiment;
        char at[512];

        if (b.has_floor && b.floor == got)
                merge_where(m, from_floor, "bounds/embodiment/floor", at);
        else if (b.has_ceiling && b.ceiling == got && !m->manifest->embodiment_said)
                merge_where(m, from_ceiling, "bounds/embodiment/ceiling", at);
        else
                snprintf(at, sizeof(at), "lethe.json#/embodiment");
        return diag(m->reterr, GRANT_E_BOUNDS, "%s: embodiment %s: this version runs skills as processes alone", at,
                    embodiment_words[m->grant->embodiment]);
}

int policy_allows_ask(const Policy *p, const Skill *s, Diag *reterr) {
        const Merge m = {.skill = s, .manifest = &s->manifest, .policy = p, .row = policy_skill(p, s->md.name)};
        const Limits *from_floor, *from_ceiling;
        const Bound b = bound_for(&m, BOUND_DISCIPLINE, &from_floor, &from_ceiling);
        const bool raised = b.has_floor && b.floor > discipline_strength(s->manifest.discipline, s->manifest.passes);

        return raised ? 0 : policy_allows_discipline(p, s, s->manifest.discipline, reterr);
}

int merge_bounds(Merge *m) {
        int r = 0;

        for (BoundKind k = 0; r == 0 && k < BOUND_KINDS; k++)
                r = bound_merge(m, k);
        if (r == 0 && m->grant->embodiment != EMBODIMENT_PROCESS)
                r = bound_no_such_embodiment(m);
        return r ? r : policy_allows_discipline(m->policy, m->skill, m->grant->discipline, m->reterr);
}
