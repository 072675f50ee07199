#include "scrub/scan.h"

#include <errno.h>
#include <stdlib.h>

int runs_add(Runs *r, uint64_t start, uint64_t end) {
        r->bytes += end - start;
        if (r->n > 0 && r->v[r->n - 1].end == start) {
                r->v[r->n - 1].end = end;
                return 0;
        }
        if (r->n == r->max) {
                size_t max = r->max ? r->max * 2 : 256;
                Run *v = realloc(r->v, max * sizeof(*v));

                if (!v)
                        return -ENOMEM;
                r->v = v;
                r->max = max;
        }
        r->v[r->n++] = (Run){start, end};
        return 0;
}

void runs_clear(Runs *r) {
        r->n = 0;
        r->bytes = 0;
}

void runs_deinit(Runs *r) {
        free(r->v);
        *r = (Runs){};
}
