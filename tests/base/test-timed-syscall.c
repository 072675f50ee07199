#include "base/timed-syscall.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

#define TIME_USEC 1000    /* of the calls here */
#define BUSY_NSEC 5000000 /* less than one tick of the kernel's clock of processors, and more than TIME_USEC */
#define HANG_USEC 60000000

typedef struct Job {
        int asked, answer;
} Job;

__attribute__((no_sanitize("address", "undefined"))) static long job_answers(void *arg) {
        Job *j = arg;

        j->answer = j->asked + 1;
        return 7;
}

__attribute__((no_sanitize("address", "undefined"))) static long job_waits(void *arg) {
        const struct timespec t = {.tv_sec = 600};

        (void)arg;
        return timed_do(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Needs a processor for so long; 0: for ever. */
__attribute__((no_sanitize("address", "undefined"))) static long job_works(void *arg) {
        const Job *j = arg;
        struct timespec t;

        do
                timed_do(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
        while (j->asked == 0 || (t.tv_sec == 0 && t.tv_nsec < j->asked));
        return 7;
}

Test(timed, an_answer_comes_back) {
        Job j = {.asked = 1};

        cr_assert(timed_run(job_answers, &j, sizeof(j), -1, HANG_USEC) == 7 && j.answer == 2);
}

Test(timed, a_call_that_waits_is_ended) {
        Job j = {};

        cr_assert(timed_run(job_waits, &j, sizeof(j), -1, TIME_USEC) == -ETIMEDOUT);
}

/* On a busy machine the time is over before the task had a processor for as long. */
Test(timed, who_waits_for_a_processor_is_waited_for) {
        for (int i = 0; i < 20; i++) {
                Job j = {.asked = BUSY_NSEC};
                long r = timed_run(job_works, &j, sizeof(j), -1, TIME_USEC);

                cr_assert(r == 7, "%d: %ld", i, r);
        }
}

Test(timed, who_had_processors_for_all_its_time_is_ended) {
        Job j = {};

        cr_assert(timed_run(job_works, &j, sizeof(j), -1, TIME_USEC) == -ETIMEDOUT);
}
