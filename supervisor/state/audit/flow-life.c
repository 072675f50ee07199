/* Runs: CLI. The life of regions: parents, shared sections, and gaps in the record of each. These entries are long and
 * many: only the few relevant members are read from the bytes. */
#include "audit/flow-event.h"
#include "record/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A region and the region above read and write the same sections during the life of the lower region. A callback begins
 * after the processes of the upper region have ended: its writes to a section reach only the callbacks after it. */
static int flow_share_sections(FlowEvent *e, FlowNode *n) {
        FlowNode *above = n->above, *last = above->last_callback;
        int r = event_edge(e, above, n, FLOW_SHARED, UINT64_MAX, e->seq);

        if (r < 0)
                return r;
        n->from_above = above->last_out;
        if (!n->callback)
                return event_edge(e, n, above, FLOW_SHARED, UINT64_MAX, e->seq);
        above->last_callback = n;
        return last ? event_edge(e, last, n, FLOW_SHARED, UINT64_MAX, e->seq) : 0;
}

int flow_took_allocated(FlowEvent *e) {
        char id[REGION_ID_MAX], word[32];
        _cleanup_json_ json_t *o = NULL;
        FlowNode *n;
        size_t whole;
        Bytes grant = flow_member(e->entry, "grant"), skill = flow_member(e->entry, "skill");

        if (skill.p && json_parse_own(skill.p, skill.n, skill.n, JSON_DEPTH_DEFAULT, &o) == -ENOMEM)
                return -ENOMEM;
        if (!event_text(e->entry, "region", id, sizeof(id)))
                return -EUCLEAN;
        n = flow_add_region(e->f, id, e->seq);
        if (!n)
                return -ENOMEM;
        n->entry = e->entry;
        snprintf(n->skill, sizeof(n->skill), "%s", json_str(o, "name"));
        if (!utf8_valid(n->skill, strlen(n->skill), &whole)) /* the name was cut inside a character */
                n->skill[whole] = 0;
        n->stats = event_text(grant, "lineage", word, sizeof(word)) && strcmp(word, "stats") == 0;
        n->handles = strcmp(word, "handles") == 0;
        n->lends = event_text(grant, "key_scope", word, sizeof(word)) && strcmp(word, "invocation-tree") == 0;
        n->callback = flow_member(e->entry, "callback").p;
        n->gaps.alive = true;
        if (!event_text(e->entry, "parent", id, sizeof(id)) || !(n->above = flow_region(e->f, id)))
                return 0;
        return n->above->lends ? flow_share_sections(e, n)
                               : event_edge(e, n->above, n, FLOW_STARTED, e->seq, e->seq);
}

int flow_took_ended(FlowEvent *e) {
        FlowNode *n = event_region_in_bytes(e);

        if (!n)
                return 0;
        n->ended = e->seq;
        n->gaps.alive = false;
        if (n->from_above) /* the sharing ends */
                n->from_above->moment = e->seq;
        if (!n->above || n->above->lends || n->callback) /* a callback answers no region */
                return 0;
        return event_edge(e, n, n->above, FLOW_ANSWERED, e->seq, e->seq);
}

/* Counted reads. */
int flow_took_released(FlowEvent *e) {
        Bytes lineage = flow_member(e->entry, "lineage");
        _cleanup_json_ json_t *o = NULL;
        FlowNode *n = event_region_in_bytes(e);
        const json_t *counts;
        int r;

        if (!n || !lineage.p || !memmem(lineage.p, lineage.n, "\"counts\"", 8))
                return 0;
        r = json_row_parse(lineage, lineage.n, &o);
        if (r < 0)
                return r;
        counts = json_object_get(o, "counts");
        n->gaps.slots += json_number(counts, "slot.read") + json_number(counts, "gate.evaluated");
        n->gaps.belief += json_number(counts, "belief.read");
        n->gaps.told += json_number(counts, "context.read");
        n->gaps.memory += json_number(counts, "memory.read");
        n->gaps.notes += json_number(counts, "note.read");
        return 0;
}

int flow_took_recovered(FlowEvent *e) {
        FlowNode *n = event_region_in_bytes(e);

        if (n)
                n->gaps.lost = true;
        return 0;
}
