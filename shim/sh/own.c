/* Runs: skill. */
#include "own.h"

#include <errno.h>
#include <stdlib.h>

int own_after(const CommandArgs *a, unsigned long long *ret) {
        char *end;

        *ret = 0;
        if (!a->after)
                return 0;
        errno = 0;
        *ret = strtoull(a->after, &end, 10);
        return *a->after < '0' || *a->after > '9' || *end || errno
                       ? -command_usage("%s: --after takes a number from 0 on", a->words[0])
                       : 0;
}

int own_do_context(Lethe *l, const CommandArgs *a) {
        const char *answer = NULL;
        int r = lethe_context_read(l,
                                   &(LetheContext){.scope = a->scope, .query = a->query, .lane = (unsigned)a->lane,
                                                   .bytes = (unsigned)a->bytes, .at = a->at},
                                   &answer);

        return command_line(l, r, answer);
}

int own_do_kernel(Lethe *l, const CommandArgs *a) {
        const char *answer = NULL;
        int r = lethe_kernel_read(l, a->words[1], a->section, a->after, (unsigned)a->limit, &answer);

        return command_line(l, r, answer);
}

static int own_do_list(Lethe *l, const CommandArgs *a,
                       int (*ask)(Lethe *l, uint64_t after, unsigned limit, const char **ret_answer)) {
        const char *answer = NULL;
        unsigned long long after;
        int r = own_after(a, &after);

        if (r < 0)
                return -r;
        r = ask(l, after, (unsigned)a->limit, &answer);
        return command_line(l, r, answer);
}

int own_do_notes(Lethe *l, const CommandArgs *a) {
        return own_do_list(l, a, lethe_note_list);
}

int own_do_pending(Lethe *l, const CommandArgs *a) {
        return own_do_list(l, a, lethe_pending_list);
}
