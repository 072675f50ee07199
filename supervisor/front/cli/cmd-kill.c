/* Runs: CLI, with the supervisor's recovery in it. */
#include "base/clock.h"
#include "base/id.h"
#include "cli/actions.h"
#include "cli/said.h"
#include "cli/serve-client.h"
#include "cli/with-store.h"
#include "request/paths.h"
#include "recover/recover.h"
#include "engine/engine.h"
#include "schema/serve.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

static const char help[] =
        "Usage: lethe kill [OPTIONS] REGION\n"
        "       lethe kill [OPTIONS] --last\n\n"
        "Cancels a region: its supervisor kills everything in it, tears it down and records that. A\n"
        "region whose supervisor died is cleared up and recorded here.\n"
        HELP_REGION
        HELP_STORE
        "  --discard         nothing that the invocation proposed is kept, however it ends\n"
        "  --last            the youngest region that is alive\n"
        "  --wait            return only when the region's end is recorded\n"
        "  -h, --help        this text\n";

#define LOOK_USEC 5000           /* how often --wait looks */
#define WAIT_MAX_USEC 60000000   /* the longest cancel bound that a manifest may ask for */

/* The region's row, freshly read. Returns 0, ENGINE_E_NO_REGION, or EXIT_NOT + 1000 after a message. */
static int look(Store *s, const char *region, RegionRow *ret) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d);

        if (r == 0) {
                r = engine_region_get(t, region, ret);
                if (r == ENGINE_E_NO_REGION)
                        return r;
        }
        if (r != 0) {
                with_store_failed("kill", s, r, &d);
                return 1000;
        }
        return 0;
}

static int no_region(const char *region) {
        return cli_fail("kill", EXIT_NOT, "region %s is not alive in this store", region);
}

/* A daemon has other regions, too, and is asked. Returns 0, EXIT_NOT after a message, -ESRCH when its region ended, -ENOENT when it is none. */
static int ask_daemon(Store *s, const RegionRow *row) {
        char path[STORE_SOCKET_MAX];
        _cleanup_close_ int fd = -1;
        _cleanup_json_ json_t *answer = NULL;
        const json_t *error;
        int e;

        store_place_socket(s, row->supervisor_lock, path);
        fd = path_connect(path);
        if (fd == -ENOENT || fd == -ECONNREFUSED)
                return -ENOENT;
        e = fd < 0 ? fd : serve_client_call(fd, path, "kill", json_pack("{s:s}", "region", row->region), &answer);
        if (e == -EPIPE)
                return -ESRCH;
        error = json_object_get(answer, "error");
        if (e == 0 && !error)
                return 0;
        if (e == 0 && -json_integer_value(json_object_get(error, "code")) == SERVE_E_NO_REGION)
                return -ESRCH;
        return cli_fail("kill", EXIT_NOT, "the supervisor of region %s, process %" PRIu64 ", cannot be asked: %s", row->region, row->supervisor_pid,
                        json_text(json_object_get(error, "message")) ?: strerror(-e));
}

/* The supervisor holds its lock as long as it lives; so when the lock is held after the pidfd was opened, the pidfd is the supervisor's
 * and not that of a later process with the same number. Returns 0, EXIT_NOT after a message, -ESRCH when it has died. */
static int signal_supervisor(Store *s, const RegionRow *row) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)row->supervisor_pid, 0);

        if (store_lock_is_free(s, row->supervisor_lock))
                return -ESRCH;
        if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0) {
                if (errno == ESRCH)
                        return -ESRCH;
                return cli_fail("kill", EXIT_NOT, "supervisor %" PRIu64 " of region %s cannot be signalled: %s", row->supervisor_pid, row->region,
                                strerror(errno));
        }
        return 0;
}

static int recover(const StoreOptions *o, const char *region) {
        _cleanup_store_ Store *s = NULL;
        Diag d = {0};
        int r = with_store("kill", o, STORE_SUPERVISE, &s);

        if (r != EXIT_OK)
                return r;
        r = recover_one(s, region, &d);
        if (r == 0 || r == RECOVER_E_NONE) /* someone was faster: it has ended, which is what was asked for */
                return EXIT_OK;
        if (r == RECOVER_E_LEFT)
                return cli_fail("kill", EXIT_NOT, "region %s: its processes were killed, and wait in the kernel for a file system that does not answer; "
                                "region.left is recorded, and a start of lethe after the answer records the end", region);
        return cli_fail("kill", EXIT_NOT, "%s", *d.text ? d.text : r < 0 ? store_strerror(r) : "its supervisor lives again");
}

static int wait_for_end(Store *s, const char *region, bool *ret_orphan) {
        uint64_t until = clock_mono_usec() + WAIT_MAX_USEC;

        for (;;) {
                _cleanup_(region_row_deinit) RegionRow row = {0};
                int r = look(s, region, &row);

                if (r == ENGINE_E_NO_REGION)
                        return EXIT_OK;
                if (r != 0)
                        return EXIT_NOT;
                if (store_lock_is_free(s, row.supervisor_lock)) {
                        *ret_orphan = true;
                        return EXIT_OK;
                }
                if (clock_mono_usec() > until)
                        return cli_fail("kill", EXIT_NOT, "region %s has not ended within 60 s", region);
                usleep(LOOK_USEC);
        }
}

/* The invocation's first region, with which all below it is dropped. Recorded before anything is ended: whoever records the end goes by it (I-78). */
static int discard(Store *s, const char *region) {
        _cleanup_txn_ Txn *t = NULL;
        char top[REGION_ID_MAX];
        const char *above;
        Diag d = {0};
        int r = store_begin(s, true, &t, &d);

        snprintf(top, sizeof(top), "%s", region);
        do {
                _cleanup_(region_row_deinit) RegionRow row = {0};

                if (r == 0)
                        r = engine_region_get(t, top, &row);
                above = r == 0 ? json_text(json_object_get(row.detail, "parent")) : NULL;
                if (above)
                        snprintf(top, sizeof(top), "%s", above);
        } while (above);
        if (r == 0)
                r = engine_region_discard(t, top, action_who(), &d);
        if (r == 0)
                r = store_commit(TAKE_PTR(t), &d);
        if (r == ENGINE_E_NO_REGION)
                return no_region(region);
        return r == 0 ? EXIT_OK : with_store_failed("kill", s, r, &d);
}

int cmd_kill(int argc, char **argv) {
        static const struct option options[] = {{"store", required_argument, NULL, 's'},
                                                {"anchor", required_argument, NULL, 'a'},
                                                {"help", no_argument, NULL, 'h'},
                                                {"wait", no_argument, NULL, 'w'},
                                                {"discard", no_argument, NULL, 'd'},
                                                OPTIONS_SAID,
                                                {0}};
        _cleanup_(region_row_deinit) RegionRow row = {0};
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {0};
        bool wait = false, drop = false, orphan = false;
        Said said = {.alive = true};
        RegionId region;
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0)
                switch (opt) {
                case 'h':
                        fputs(help, stdout);
                        return cli_done("kill", EXIT_OK);
                case 'w':
                        wait = true;
                        break;
                case 'd':
                        drop = true;
                        break;
                case 'L':
                        said.last = true;
                        break;
                default:
                        if (!store_option(&o, opt, optarg))
                                return store_option_wrong(argv);
                }
        r = said_argument("kill", &said, argc, argv);
        if (r == EXIT_OK)
                r = with_store("kill", &o, drop ? STORE_WRITE : STORE_READ, &s);
        if (r == EXIT_OK)
                r = said_region("kill", s, &said, region);
        if (r != EXIT_OK)
                return r;
        r = look(s, region, &row);
        if (r != 0)
                return r == ENGINE_E_NO_REGION ? no_region(region) : EXIT_NOT;
        if (drop && (r = discard(s, region)) != EXIT_OK)
                return r;
        r = ask_daemon(s, &row);
        if (r == -ENOENT)
                r = signal_supervisor(s, &row);
        else if (r == -ESRCH && !store_lock_is_free(s, row.supervisor_lock))
                return no_region(region); /* it ended in between */
        if (r > 0)
                return r;
        if (r == 0 && wait)
                r = wait_for_end(s, region, &orphan);
        if (r != -ESRCH && !orphan)
                return r;
        store_free(TAKE_PTR(s)); /* one Store for one folder in one process */
        return recover(&o, region);
}
