/* Runs: supervisor. Lines of a region's pipe go to the dispatch. */
#include "invoke/types.h"

#include "base/clock.h"
#include "base/log.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

void run_judge_lines(Run *run) {
        Region *r = &run->region;
        const char *line;
        LineKind kind;
        size_t n;

        while ((kind = conn_next(&r->pipe, clock_mono_usec(), &line, &n)) != LINE_NONE) {
                Diag d = {};
                int e;

                run->pipe.reply.n = 0;
                if (kind == LINE_WHOLE)
                        e = dispatch_line(run->pipe.dispatch, line, n, &run->pipe.reply, &d);
                else
                        e = dispatch_bad_frame(run->pipe.dispatch, kind, n, &run->pipe.reply, &d);
                if (run->pipe.reply.n > 0)
                        conn_answer(&r->pipe, run->pipe.reply.data, run->pipe.reply.n);
                if (e == 0)
                        continue;
                if (e == DISPATCH_E_END) {
                        Breach b = {.outcome = OUTCOME_DENIED,
                                    .resource = "pipe",
                                    .limit = PIPE_BAD_LINES_MAX,
                                    .used = PIPE_BAD_LINES_MAX};

                        if (region_end_breach(r, &b) || (r->state == REGION_ENDED && region_end_late(r, &b)) ||
                            (r->state == REGION_STOPPED && region_end_late(r, &b)))
                                snprintf(r->reason, sizeof(r->reason), "%s", d.text);
                } else {
                        run->store.failed = true;
                        region_end(r, OUTCOME_CANCELLED, 0, "the store cannot record: %s",
                                   e < 0 ? strerror(-e) : d.text);
                        log_error("%s", e < 0 ? strerror(-e) : d.text);
                }
                return;
        }
}

/* Processes that are held at their exit keep the pipe open: no end of file comes, but no process can write more. */
static bool has_rest(const Conn *c) {
        struct pollfd p = {.fd = c->fd_in, .events = POLLIN};

        return c->fd_in >= 0 && poll(&p, 1, 0) > 0 && p.revents;
}

void run_judge_rest(Run *run) {
        Region *r = &run->region;

        if (!run->pipe.dispatch || outcome_is_breach(r->outcome) || run->store.failed)
                return;
        conn_drain(&r->pipe);
        while (has_rest(&r->pipe) && conn_readable(&r->pipe) == 0 && !run->store.failed &&
               !outcome_is_breach(r->outcome))
                run_judge_lines(run);
        if (!run->store.failed && !outcome_is_breach(r->outcome))
                run_judge_lines(run);
}
