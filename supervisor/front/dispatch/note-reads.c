/* Runs: supervisor. A region's reads of the notes of its run: runs of numbers with the region that added the notes, each
 * once (I-77, G-73). note.read has the run, the number of requests, and `notes`: [{"from","to","by"?}…]; `more` counts
 * reads beyond the bound. Its own notes are no reads. */
#include "dispatch/dispatch-internal.h"

#include <errno.h>
#include <string.h>

#define SPANS_MAX 256

struct NoteSpan {
        uint64_t from, to;
        char by[REGION_ID_MAX]; /* "": unknown */
};

int dispatch_note_read(Dispatch *d, uint64_t number, const char *by) {
        struct NoteSpan *s;

        /* a run that has the region's id has notes of the region alone, but for the operator's */
        if (strcmp(by ?: "", d->region) == 0 || (!by && strcmp(dispatch_run(d), d->region) == 0))
                return 0;
        for (size_t i = 0; i < d->n_noted; i++) {
                s = &d->noted[i];
                if (strcmp(s->by, by ?: "") != 0 || number < s->from || number > s->to + 1)
                        continue;
                s->to = MAX(s->to, number);
                return 0;
        }
        if (d->n_noted == SPANS_MAX) {
                d->noted_more++;
                return 0;
        }
        if (!GROW(d->noted, d->n_noted))
                return -ENOMEM;
        s = &d->noted[d->n_noted++];
        *s = (struct NoteSpan){.from = number, .to = number};
        strncpy(s->by, by ?: "", sizeof(s->by) - 1);
        return 0;
}

int dispatch_note_reads_put(Dispatch *d, Txn *t) {
        _cleanup_json_ json_t *list = json_array(), *fields = NULL;

        for (size_t i = 0; list && i < d->n_noted; i++) {
                const struct NoteSpan *s = &d->noted[i];

                if (json_array_append_new(list, json_pack("{s:o, s:o, s:s*}", "from", json_u64(s->from), "to",
                                                          json_u64(s->to), "by", *s->by ? s->by : NULL)) < 0)
                        return -ENOMEM;
        }
        fields = json_pack("{s:s, s:o, s:O*, s:o*}", "run", dispatch_run(d), "count", json_u64(d->own_reads), "notes",
                           d->grant->lineage == LINEAGE_STATS ? NULL : list, "more",
                           d->noted_more ? json_u64(d->noted_more) : NULL);
        return list && fields ? engine_event(t, d->region, "note.read", fields, NULL) : -ENOMEM;
}
