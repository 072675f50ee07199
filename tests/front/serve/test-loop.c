/* Runs: tests. */
#include "base/clock.h"
#include "invoke/loop.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static const short in = POLLIN;

typedef struct World {
        int fd[2], other;
        uint64_t deadline;
        unsigned calls, timer_calls, other_calls;
} World;

static void take_one(void *userdata, short revents) {
        World *w = userdata;
        char c;

        cr_assert(revents & POLLIN);
        cr_assert_eq(read(w->fd[0], &c, 1), 1);
        w->calls++;
}

static void close_other(void *userdata, short revents) {
        World *w = userdata;

        take_one(w, revents);
        w->other = -1;
}

static void other(void *userdata, short revents) {
        ((World *)userdata)->other_calls++;
}

static void timer(void *userdata, uint64_t now) {
        World *w = userdata;

        cr_assert_geq(now, w->deadline);
        w->deadline = LOOP_NEVER;
        w->timer_calls++;
}

static void world(World *w) {
        *w = (World){.deadline = LOOP_NEVER, .other = -1};
        cr_assert_eq(pipe2(w->fd, O_CLOEXEC | O_NONBLOCK), 0);
}

Test(loop, calls_what_is_ready_and_only_that) {
        Loop l = {0};
        World w;

        world(&w);
        loop_add_fd(&l, &w.fd[0], &in, take_one, &w);
        loop_add_timer(&l, &w.deadline, timer, &w);
        w.deadline = clock_mono_usec() + 20000;
        cr_assert_eq(loop_once(&l), 0);
        cr_assert(w.calls == 0 && w.timer_calls == 1, "the deadline ended the wait");
        cr_assert_eq(write(w.fd[1], "ab", 2), 2);
        cr_assert_eq(loop_once(&l), 0);
        cr_assert_eq(loop_once(&l), 0);
        cr_assert(w.calls == 2 && w.timer_calls == 1);
}

Test(loop, a_descriptor_that_an_earlier_handler_closed_is_passed_over) {
        Loop l = {0};
        World w;

        world(&w);
        w.other = w.fd[0];
        loop_add_fd(&l, &w.fd[0], &in, close_other, &w);
        loop_add_fd(&l, &w.other, &in, other, &w);
        cr_assert_eq(write(w.fd[1], "a", 1), 1);
        cr_assert_eq(loop_once(&l), 0);
        cr_assert(w.calls == 1 && w.other_calls == 0);
}

/* A region that keeps its descriptors busy must not outrun its clock. */
Test(loop, a_deadline_that_has_passed_comes_before_descriptors) {
        Loop l = {0};
        World w;

        world(&w);
        loop_add_fd(&l, &w.fd[0], &in, take_one, &w);
        loop_add_timer(&l, &w.deadline, timer, &w);
        cr_assert_eq(write(w.fd[1], "a", 1), 1);
        w.deadline = 1;
        cr_assert_eq(loop_once(&l), 0);
        cr_assert(w.timer_calls == 1 && w.calls == 1);
}

Test(loop, forgets_all_of_one_owner_and_nothing_else) {
        Loop l = {0};
        World gone, stays;

        world(&gone);
        world(&stays);
        loop_add_fd(&l, &gone.fd[0], &in, take_one, &gone);
        loop_add_timer(&l, &gone.deadline, timer, &gone);
        loop_add_fd(&l, &stays.fd[0], &in, take_one, &stays);
        loop_add_timer(&l, &stays.deadline, timer, &stays);
        cr_assert(write(gone.fd[1], "x", 1) == 1 && write(stays.fd[1], "x", 1) == 1);
        gone.deadline = stays.deadline = 1;
        loop_drop(&l, &gone);
        cr_assert_eq(loop_once(&l), 0);
        cr_assert(gone.calls == 0 && gone.timer_calls == 0);
        cr_assert(stays.calls == 1 && stays.timer_calls == 1);
}
