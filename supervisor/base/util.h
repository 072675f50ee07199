/* Runs: every process. Cleanup attributes and the few macros of the house style. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _noreturn_ __attribute__((noreturn))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* Each argument is evaluated once; the counter keeps nested uses apart. */
#define MIN(a, b) PICK_(a, <, b, __COUNTER__)
#define MAX(a, b) PICK_(a, >, b, __COUNTER__)
#define PICK_(a, op, b, n) PICK_NAMED_(a, op, b, n)
#define PICK_NAMED_(a, op, b, n)                              \
        ({                                                    \
                __typeof__(a) left_##n = (a);                 \
                __typeof__(b) right_##n = (b);                \
                left_##n op right_##n ? left_##n : right_##n; \
        })

/* The index of the name among n names, of which some may be NULL; n: not there. */
static inline size_t name_index(const char *const *names, size_t n, const char *name) {
        size_t i = 0;

        while (i < n && (!names[i] || strcmp(names[i], name) != 0))
                i++;
        return i;
}

/* Makes room for one more in an owned array of n: for each n that is a power of two, for n more. Entries may be removed
 * at any time: the array keeps room for the next power of two from n on. false: no memory, the array is unchanged. */
#define GROW(p, n)                                                                                                     \
        ({                                                                                                             \
                size_t had_ = (n);                                                                                     \
                __typeof__(p) more_ =                                                                                  \
                        had_ & (had_ - 1) ? (p) : reallocarray((p), had_ > 0 ? 2 * had_ : 1, sizeof(*(p)));            \
                (p) = more_ ?: (p);                                                                                    \
                more_ != NULL;                                                                                         \
        })

/* Hands ownership over: yields the value and leaves NULL (or -1) behind. */
#define TAKE_PTR(p)                                                                                                    \
        ({                                                                                                             \
                __typeof__(p) take_ = (p);                                                                             \
                (p) = NULL;                                                                                            \
                take_;                                                                                                 \
        })
#define TAKE_FD(fd)                                                                                                    \
        ({                                                                                                             \
                int take_ = (fd);                                                                                      \
                (fd) = -1;                                                                                             \
                take_;                                                                                                 \
        })

static inline void freep(void *p) {
        free(*(void **)p);
}
static inline void closep(int *fd) {
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}
#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
