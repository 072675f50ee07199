/* Runs: supervisor. The Runs of an invocation: their common loop, and the end of finished Runs. */
#include "invoke/types.h"

#include "base/clock.h"

#include <string.h>

bool run_is_below(const Run *run, const Run *above) {
        while (run && run != above)
                run = run->parent;
        return run == above;
}

void run_give_place(Run *run) {
        if (run->sub.placed)
                run->options->place(run->options->userdata, false);
        run->sub.placed = false;
}

void run_free(Run *run) {
        run_give_place(run);
        region_budget_give_back(&run->region.budget);
        run_deinit(run);
        free(run);
}

void run_leave_tree(Run *run) {
        Tree *tree = run->tree;
        size_t n = 0;

        loop_drop(&tree->loop, run);
        for (size_t i = 0; i < tree->n_runs; i++)
                if (tree->runs[i] != run)
                        tree->runs[n++] = tree->runs[i];
        tree->n_runs = n;
        run_tell(run);
        run_free(run);
}

bool run_has_below(const Run *run) {
        const Tree *tree = run->tree;

        for (size_t i = 0; i < tree->n_runs; i++)
                if (tree->runs[i] != run && tree->runs[i]->end.step != RUN_OVER && run_is_below(tree->runs[i], run))
                        return true;
        return false;
}

static bool tree_is_done(const Run *run) {
        const Relay *err = &run->region.io.err;

        for (size_t i = 0; i < run->tree->n_runs; i++)
                if (run->tree->runs[i]->parent == run)
                        return false;
        return run->end.step == RUN_OVER && (err->at == err->n || err->to < 0);
}

/* Frees finished Runs with delivered output. */
static void tree_free_done(Tree *tree) {
        for (size_t i = tree->n_runs; i-- > 1;)
                if (tree_is_done(tree->runs[i]))
                        run_leave_tree(tree->runs[i]);
}

void run_free_subs(Tree *tree) {
        while (tree->n_runs > 1) {
                Run *run = tree->runs[tree->n_runs - 1];

                region_io_flush(&run->region.io, tree->signals, UINT64_MAX);
                run_leave_tree(run);
        }
}

static bool tree_run_lives(const Run *run) {
        return run->region.state == REGION_ALLOCATED || run->region.state == REGION_RUNNING;
}

static void tree_aim_pipe(Run *run) {
        int64_t wait = conn_wants(&run->region.pipe, clock_mono_usec(), run->pipe.poll);

        run->pipe.deadline = wait < 0 ? LOOP_NEVER : clock_mono_usec() + (uint64_t)wait;
}

static void tree_wait(Tree *tree) {
        int e;

        for (size_t i = 0; i < tree->n_runs; i++)
                if (tree_run_lives(tree->runs[i]))
                        tree_aim_pipe(tree->runs[i]);
        e = loop_once(&tree->loop);
        if (e == 0)
                return;
        region_end(&tree->runs[0]->region, OUTCOME_CANCELLED, 0, "ppoll: %s", strerror(-e));
        for (size_t i = 0; i < tree->n_runs; i++)
                tree->runs[i]->end.no_use = true;
}

void run_until_over(Tree *tree) {
        for (life_go_on(tree); tree->runs[0]->end.step != RUN_OVER; life_go_on(tree)) {
                tree_free_done(tree);
                tree_wait(tree);
                for (size_t i = 0; i < tree->n_runs; i++)
                        if (tree->runs[i]->region.state == REGION_RUNNING)
                                run_judge_lines(tree->runs[i]);
        }
}
