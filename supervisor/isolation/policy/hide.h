/* Runs: supervisor, CLI. What no region is shown: Lethe's own store, key, anchors, policy, sockets and registered skills (I-94). Pure. */
#pragma once

#include "policy/grant.h"

typedef struct Hidden {
        char *path;       /* where it can be seen on the host, resolved */
        const char *what; /* "the store"; static */
        bool folder;      /* an empty folder takes its place. A rename on the host would uncover a file: what shows a file is refused */
        bool absent;      /* nothing is there yet */
        bool secret;      /* with absent: also what could only be read there later is refused */
        bool skill;       /* a registered skill: it may stand in the folder of the skill that is run */
} Hidden;

/* Puts an empty folder over each that a file grant shows, or refuses: a grant of the thing itself, of something in it, of a file, or of a folder in
 * which it could be made later. The skill's own folder must show none. After grant_within(). Returns 0, GRANT_E_REFUSED with a message, -ENOMEM. */
int grant_hide(Grant *g, const Hidden *hidden, size_t n, Diag *reterr);
