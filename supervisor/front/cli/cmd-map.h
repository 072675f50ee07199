/* Runs: CLI. `lethe map`: the options of cmd-run.c, and the work of cmd-map.c. */
#pragma once

#include "cli/serve-client.h"
#include "cli/session-host.h"

#define MAP_JOBS_MAX 256
/* Bytes of an input line: as a string, at most twice as long, the line fits a request. */
#define MAP_LINE_MAX (448 * 1024)

typedef struct MapAsked {
        const char *jobs, *from; /* as given by options, or NULL */
        bool text;               /* a result is the output as a string */
        bool alone;              /* no look for `lethe serve` */
        HostPlace place;
} MapAsked;

/* A region for each line of standard input; signals: a signalfd. Returns the exit code. */
int map_run(const MapAsked *m, ServeClient *t, const SkillRequest *a, const char *exec_or_null, const RunOptions *o,
            int signals);
