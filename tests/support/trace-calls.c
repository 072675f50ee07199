/* Linked into `lethe` with -Dtrace_calls=true, which compiles the supervisor with -finstrument-functions: each call and
 * each return of the first thread is one word in the file TRACE_CALLS, the function's address in the program's file, or
 * 0 for a return (scripts/flow). Processes that it forks write nothing. */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define WORDS 4096

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static uint64_t base, words[WORDS];
static size_t n;
static pid_t first;
static int fd = -1;

QUIET static int first_object(struct dl_phdr_info *info, size_t size, void *userdata) {
        (void)size;
        (void)userdata;
        base = info->dlpi_addr;
        return 1;
}

QUIET __attribute__((constructor)) static void begin(void) {
        const char *path = getenv("TRACE_CALLS");

        dl_iterate_phdr(first_object, NULL);
        first = gettid();
        fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
}

QUIET static void put(uint64_t word) {
        if (fd < 0 || gettid() != first || (word == UINT64_MAX ? n == 0 : (words[n++] = word, n < WORDS)))
                return;
        if (write(fd, words, n * sizeof(*words)) < 0)
                abort();
        n = 0;
}

QUIET __attribute__((destructor)) static void end(void) {
        put(UINT64_MAX);
}

QUIET void __cyg_profile_func_enter(void *function, void *caller) {
        (void)caller;
        put((uint64_t)(uintptr_t)function - base);
}

QUIET void __cyg_profile_func_exit(void *function, void *caller) {
        (void)function;
        (void)caller;
        put(0);
}
