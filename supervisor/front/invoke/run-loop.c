/* Runs: supervisor. The loop of an invocation and of all that stands below it, from its beginning to its known end. */
#include "invoke/run-internal.h"

#include "base/clock.h"

#include <string.h>

static bool run_lives(const Run *run) {
        return run->region.state == REGION_ALLOCATED || run->region.state == REGION_RUNNING;
}

static void run_pipe_aim(Run *run) {
        int64_t wait = conn_wants(&run->region.pipe, clock_mono_usec(), run->pipe);

        run->pipe_deadline = wait < 0 ? LOOP_NEVER : clock_mono_usec() + (uint64_t)wait;
}

static void run_wait_once(Tree *tree) {
        int e;

        for (size_t i = 0; i < tree->n_runs; i++)
                if (run_lives(tree->runs[i]))
                        run_pipe_aim(tree->runs[i]);
        e = loop_once(&tree->loop);
        if (e == 0)
                return;
        region_end(&tree->runs[0]->region, OUTCOME_CANCELLED, 0, "ppoll: %s", strerror(-e));
        for (size_t i = 0; i < tree->n_runs; i++)
                tree->runs[i]->step_no_use = true;
}

void run_until_over(Tree *tree) {
        for (run_end_moves(tree); tree->runs[0]->step != RUN_OVER; run_end_moves(tree)) {
                run_free_done(tree);
                run_wait_once(tree);
                for (size_t i = 0; i < tree->n_runs; i++)
                        if (tree->runs[i]->region.state == REGION_RUNNING)
                                run_judge_lines(tree->runs[i]);
        }
}
