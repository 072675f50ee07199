/* Runs: CLI. The life of regions: who is above whom, what they share, and how much is recorded of each. These entries are long and many, and looked
 * into for the few
 * members that count. */
#include "audit/flow-event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Both read and write the sections of the region above while the one below lives. A callback begins when that region's processes have ended: what it leaves in
 * a section is for the callbacks after it alone. */
static int share(FlowEvent *e, FlowNode *n) {
        FlowNode *above = n->above, *last = above->last_callback;
        int r = flow_add_edge(e->f, above, n, FLOW_SHARED, e->seq, UINT64_MAX, e->seq);

        if (r < 0)
                return r;
        n->from_above = above->last_out;
        if (!n->callback)
                return flow_add_edge(e->f, n, above, FLOW_SHARED, e->seq, UINT64_MAX, e->seq);
        above->last_callback = n;
        return last ? flow_add_edge(e->f, last, n, FLOW_SHARED, e->seq, UINT64_MAX, e->seq) : 0;
}

int flow_took_allocated(FlowEvent *e) {
        char id[REGION_ID_MAX], word[32];
        _cleanup_json_ json_t *o = NULL;
        FlowNode *n;
        size_t whole;
        Bytes grant = member_in(e->entry, "grant"), skill = member_in(e->entry, "skill");

        if (skill.p && json_parse_own(skill.p, skill.n, skill.n, JSON_DEPTH_DEFAULT, &o) == -ENOMEM)
                return -ENOMEM;
        if (!text_in(e->entry, "region", id, sizeof(id)))
                return -EUCLEAN;
        n = flow_add_region(e->f, id, e->seq);
        if (!n)
                return -ENOMEM;
        n->entry = e->entry;
        snprintf(n->skill, sizeof(n->skill), "%s", text_of(o, "name"));
        if (!utf8_valid(n->skill, strlen(n->skill), &whole)) /* cut inside of a character */
                n->skill[whole] = 0;
        n->stats = text_in(grant, "lineage", word, sizeof(word)) && strcmp(word, "stats") == 0;
        n->handles = strcmp(word, "handles") == 0;
        n->lends = text_in(grant, "key_scope", word, sizeof(word)) && strcmp(word, "invocation-tree") == 0;
        n->callback = member_in(e->entry, "callback").p;
        n->gaps.alive = true;
        if (!text_in(e->entry, "parent", id, sizeof(id)) || !(n->above = flow_region(e->f, id)))
                return 0;
        return n->above->lends ? share(e, n) : flow_add_edge(e->f, n->above, n, FLOW_STARTED, e->seq, e->seq, e->seq);
}

int flow_took_ended(FlowEvent *e) {
        FlowNode *n = region_in(e);

        if (!n)
                return 0;
        n->ended = e->seq;
        n->gaps.alive = false;
        if (n->from_above) /* it shares nothing any more */
                n->from_above->moment = e->seq;
        if (!n->above || n->above->lends || n->callback) /* nobody is answered by a callback */
                return 0;
        return flow_add_edge(e->f, n, n->above, FLOW_ANSWERED, e->seq, e->seq, e->seq);
}

/* Reads that were only counted. */
int flow_took_released(FlowEvent *e) {
        Bytes lineage = member_in(e->entry, "lineage");
        _cleanup_json_ json_t *o = NULL;
        FlowNode *n = region_in(e);
        const json_t *counts;
        int r;

        if (!n || !lineage.p || !memmem(lineage.p, lineage.n, "\"counts\"", 8))
                return 0;
        r = json_parse_own(lineage.p, lineage.n, lineage.n, JSON_DEPTH_DEFAULT, &o);
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        counts = json_object_get(o, "counts");
        n->gaps.slots += number_of(counts, "slot.read") + number_of(counts, "gate.evaluated");
        n->gaps.belief += number_of(counts, "belief.read");
        n->gaps.told += number_of(counts, "context.read");
        n->gaps.memory += number_of(counts, "memory.read");
        return 0;
}

int flow_took_recovered(FlowEvent *e) {
        FlowNode *n = region_in(e);

        if (n)
                n->gaps.lost = true;
        return 0;
}
