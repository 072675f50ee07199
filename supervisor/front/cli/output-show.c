#include "cli/output-show.h"

#include "base/io.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/region-selector.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define LINE_MAX_SHOWN 65536 /* bytes of a terminal's line that is not whole yet */

int output_check_arguments(const char *verb, const StoreOptions *o, int argc) {
        if (o->value['L'] && optind < argc)
                return cli_usage(verb, "REGION and --last both name a region");
        if (!o->value['L'] && optind >= argc)
                return cli_usage(verb, "REGION is missing; --last is the detached region that began last");
        return EXIT_OK;
}

int output_region(const char *verb, Store *s, const StoreOptions *o, const char *argument, char ret[static REGION_ID_MAX]) {
        const RegionSelector selector = {.text = argument};
        int r;

        if (argument)
                return selector_option(verb, &selector) ?: selector_region(verb, s, &selector, ret);
        r = output_newest(store_dir(s), ret);
        if (r < 0)
                return cli_fail(verb, EXIT_NOT, "%s/output: %s", store_dir(s), strerror(-r));
        return *ret ? EXIT_OK : cli_refuse(verb, EXIT_NOT, "no_record", "the store has no output of a detached region");
}

static int output_show_failed(const char *verb, const char *region, int r) {
        switch (r) {
        case OUTPUT_E_NONE:
                return cli_refuse(verb, EXIT_NOT, "no_output",
                                  "no output of region %s is kept: it was not detached ('lethe run --detach'), or 'lethe rm', --rm or "
                                  "later regions dropped its output", region);
        case OUTPUT_E_DAMAGED:
        case OUTPUT_NEXT_DAMAGED:
                return cli_refuse(verb, EXIT_NOT, "damaged", "the kept output of region %s is damaged; fix: lethe rm %s", region,
                                  region);
        default:
                return cli_fail(verb, EXIT_NOT, "the kept output of region %s: %s", region, strerror(-r));
        }
}

int output_show_begin(const char *verb, Store *s, const char *region, bool raw, OutputShow *ret) {
        _cleanup_free_ char *folder = NULL;
        int r;

        *ret = (OutputShow){.verb = verb, .store = s, .reader = OUTPUT_READER_NULL, .watch = -1};
        r = output_open(store_dir(s), region, &ret->reader);
        if (r != 0)
                return output_show_failed(verb, region, r);
        memcpy(ret->region, region, sizeof(ret->region));
        for (size_t i = 0; i < 2; i++) {
                ret->safe[i] = !raw && isatty(i ? STDERR_FILENO : STDOUT_FILENO);
                ret->line[i].max = LINE_MAX_SHOWN;
        }
        if (asprintf(&folder, "%s/output/%s", store_dir(s), region) < 0)
                return cli_fail(verb, EXIT_NOT, "out of memory");
        ret->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (ret->watch >= 0 && inotify_add_watch(ret->watch, folder, IN_MODIFY | IN_CREATE | IN_DELETE) < 0)
                closep(&ret->watch);
        return EXIT_OK;
}

/* Text for a terminal, in whole lines: a character may come in two pieces. */
static int output_show_safe(OutputShow *show, size_t i, const char *bytes, size_t n) {
        FILE *to = i ? stderr : stdout;

        while (n > 0) {
                const char *newline = memchr(bytes, '\n', n);
                const size_t k = MIN(newline ? (size_t)(newline - bytes) : n, (size_t)LINE_MAX_SHOWN - show->line[i].n);

                if (buf_add(&show->line[i], bytes, k) < 0)
                        return -ENOMEM;
                bytes += k;
                n -= k;
                if (n > 0) { /* a newline, or a line beyond the bound */
                        print_safe(to, show->line[i].data ?: "", show->line[i].n);
                        buf_drop(&show->line[i], show->line[i].n);
                        if (*bytes == '\n') {
                                putc('\n', to);
                                bytes++;
                                n--;
                        }
                }
        }
        return fflush(to) == EOF ? -errno : 0;
}

static int output_show_bytes(OutputShow *show, const OutputPiece *p) {
        const size_t i = p->frame.kind == OUTPUT_ERR;
        const char *bytes = p->bytes;
        size_t n = p->frame.n;

        while (show->skip > 0 && n > 0) {
                const char *newline = memchr(bytes, '\n', n);
                const size_t k = newline ? (size_t)(newline - bytes) + 1 : n;

                show->skip -= newline != NULL;
                bytes += k;
                n -= k;
        }
        if (n == 0)
                return 0;
        return show->safe[i] ? output_show_safe(show, i, bytes, n)
                             : io_write_full(i ? STDERR_FILENO : STDOUT_FILENO, bytes, n);
}

static void output_show_gaps(const OutputShow *show, const OutputPiece *p) {
        if (show->quiet || show->skip > 0)
                return;
        if (p->dropped > 0)
                log_note("%" PRIu64 " bytes of output are not kept any more: the newest %d MiB are", p->dropped,
                         OUTPUT_SEGMENT / 1048576 * OUTPUT_SEGMENTS_MAX);
        if (p->frame.kind == OUTPUT_LOST)
                log_note("%" PRIu64 " bytes of output are lost: the store's disk had no room", p->frame.lost);
}

static void output_show_heard(const OutputShow *show) {
        char events[4096];

        while (show->watch >= 0 && read(show->watch, events, sizeof(events)) > 0)
                ;
}

int output_show_take(OutputShow *show) {
        OutputReader *r = &show->reader;
        bool dead = false;
        OutputPiece p;
        int e;

        output_show_heard(show);
        for (;;) {
                e = output_next(r, &p);
                if (e == 0 && !dead && !r->ended) {
                        /* all that a dead supervisor wrote is there: one more look */
                        dead = store_lock_is_free(show->store, r->supervisor) || output_is_gone(r);
                        if (dead)
                                continue;
                }
                if (e == 0) {
                        show->over = dead || r->ended;
                        show->cut = dead && !r->ended;
                        return EXIT_OK;
                }
                if (e != 1)
                        return output_show_failed(show->verb, show->region, e);
                output_show_gaps(show, &p);
                if (show->quiet || p.frame.usec < show->since_usec || p.frame.n == 0)
                        continue;
                e = output_show_bytes(show, &p);
                if (e < 0)
                        return e == -EPIPE ? 128 + SIGPIPE : cli_fail(show->verb, EXIT_NOT, "standard output: %s", strerror(-e));
        }
}

int output_show_count(const char *verb, Store *s, const char *region, uint64_t since_usec, uint64_t *ret) {
        _cleanup_output_ OutputReader r = OUTPUT_READER_NULL;
        bool open[2] = {false, false};
        OutputPiece p;
        int e = output_open(store_dir(s), region, &r);

        *ret = 0;
        while (e == 0 && (e = output_next(&r, &p)) == 1) {
                const size_t i = p.frame.kind == OUTPUT_ERR;

                e = 0;
                if (p.frame.usec < since_usec || p.frame.n == 0)
                        continue;
                for (size_t k = 0; k < p.frame.n; k++)
                        *ret += p.bytes[k] == '\n';
                open[i] = p.bytes[p.frame.n - 1] != '\n';
                continue;
        }
        *ret += open[0] + open[1];
        return e == 0 ? EXIT_OK : output_show_failed(verb, region, e);
}

void output_show_end(OutputShow *show) {
        for (size_t i = 0; i < 2; i++) {
                if (show->line[i].n > 0)
                        print_safe(i ? stderr : stdout, show->line[i].data, show->line[i].n);
                buf_deinit(&show->line[i]);
        }
        output_close(&show->reader);
        closep(&show->watch);
}
