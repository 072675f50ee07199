/* The launch spec, which the supervisor overwrites if it lives: the program's arguments and environment, in a memory file of unchangeable size. */
#include "scrub/tracer/state.h"

#include <string.h>
#include <unistd.h>

static bool fill(const Guard *g, const unsigned char *pattern, uint64_t size) {
        for (uint64_t at = 0; at < size;) {
                ssize_t n = pwrite(g->spec, pattern, size - at < WIPE_SOURCE ? size - at : WIPE_SOURCE, (off_t)at);

                if (n <= 0)
                        return false;
                at += (uint64_t)n;
        }
        return true;
}

/* All pages of a pattern are the same. */
static bool holds(const Guard *g, const unsigned char *pattern, uint64_t size) {
        unsigned char back[SCAN_PAGE];

        for (uint64_t at = 0; at < size; at += sizeof(back)) {
                size_t n = size - at < sizeof(back) ? size - at : sizeof(back);

                if (pread(g->spec, back, n, (off_t)at) != (ssize_t)n || memcmp(back, pattern, n) != 0)
                        return false;
        }
        return true;
}

void spec_clear(Guard *g) {
        const unsigned char *pattern = NULL;
        uint64_t size;
        struct stat st;
        bool filled = true;

        if (g->spec < 0 || fstat(g->spec, &st) < 0)
                return;
        size = (uint64_t)st.st_size;
        for (unsigned pass = 0; pass < g->wipe.passes; pass++) {
                pattern = wipe_pattern(&g->wipe, pass);
                filled = fill(g, pattern, size);
        }
        g->evidence->bytes_held += size;
        if (filled && pattern && holds(g, pattern, size)) {
                g->evidence->bytes_overwritten += size;
                g->evidence->bytes_verified += size;
        } else
                g->evidence->bytes_missed[GUARD_MISSED_FILE] += size;
}
