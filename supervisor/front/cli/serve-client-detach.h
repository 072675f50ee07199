/* Runs: CLI. `lethe run --detach`: the run is `lethe serve`'s, or a private daemon's, which ends with its last
 * region. The command prints the region's id when the program runs. */
#pragma once

#include "cli/serve-client.h"
#include "cli/session-host.h"

typedef struct DetachAsked {
        bool alone;       /* no `lethe serve` is asked: --no-serve, --policy */
        bool interactive; /* standard input stays open for `lethe attach` */
        bool remove;      /* the output goes at the end */
        HostPlace place;
} DetachAsked;

/* Returns the exit code, after all messages. signals: a signalfd. */
int serve_client_detach(ServeClient *t, const SkillRequest *a, const char *exec_or_null, const RunOptions *o,
                        const DetachAsked *asked, int signals);
