/* Runs: supervisor, CLI. Hides Lethe's store, key, anchors, policy, sockets and registered skills from regions (I-94).
 * Pure. */
#pragma once

#include "policy/grant.h"

typedef struct Hidden {
        char *path;       /* path on the host, resolved */
        const char *what; /* "the store"; static */
        bool folder; /* covered by an empty folder; a file could be uncovered by a rename: its grant is refused */
        bool absent;      /* the path does not exist yet */
        bool secret;      /* with absent: also a read-only grant of a folder above is refused */
        bool skill;       /* a registered skill: may stand in the folder of the running skill */
} Hidden;

/* Puts an empty folder over each hidden path that a file grant shows, or refuses the grant: of the path itself, of a
 * path below, of a file, or of a folder in which the path could be made later. The skill's own folder must not show a
 * hidden path. To be called after grant_attenuate(). Returns 0, GRANT_E_REFUSED with a message, -ENOMEM. */
int grant_hide(Grant *g, const Hidden *hidden, size_t n, Diag *reterr);
