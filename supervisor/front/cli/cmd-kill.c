/* Runs: CLI, with the supervisor's recovery in it. */
#include "base/clock.h"
#include "base/id.h"
#include "cli/actions.h"
#include "cli/region-fate.h"
#include "cli/region-selector.h"
#include "cli/serve-call.h"
#include "request/paths.h"
#include "schema/serve.h"
#include "engine/engine.h"
#include "engine/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

static const char help[] =
        "Usage: lethe kill [OPTIONS] REGION\n"
        "       lethe kill [OPTIONS] --last\n\n"
        "Cancels a region: the region's supervisor kills all its processes, tears the region down and records\n"
        "the end. After a supervisor's death, the command clears the region up and records the end. A session is\n"
        "closed, with its present turn.\n"
        HELP_REGION
        HELP_STORE
        "  --discard         drop all proposals of the invocation, however the invocation ends\n"
        "  --last            the youngest living region\n"
        "  --wait            return only when the region's end is recorded\n"
        "  -h, --help        print the help\n";

#define LOOK_USEC 5000           /* interval of --wait */
#define WAIT_MAX_USEC 60000000   /* the longest cancel bound of a manifest */

/* Returns EXIT_OK, -ESRCH when the region is not alive, or another exit code after a message. */
static int kill_read_row(Store *s, const char *region, RegionRow *ret) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d);

        if (r == 0 && (r = engine_region_get(t, region, ret)) == ENGINE_E_NO_REGION)
                return -ESRCH;
        return r == 0 ? EXIT_OK : with_store_failed("kill", s, r, &d);
}

static int kill_no_region(const char *region) {
        return cli_fail("kill", EXIT_NOT, "region %s is not alive in the store", region);
}

/* Asks the daemon, which has further regions and must not be killed. Returns 0; EXIT_NOT after a message; -ESRCH
 * when the region has ended; -ENOENT when the supervisor is no daemon. */
static int kill_ask_daemon(Store *s, const RegionRow *row) {
        char path[STORE_SOCKET_MAX];
        _cleanup_close_ int fd = -1;
        _cleanup_json_ json_t *answer = NULL;
        const bool session = session_of_row(row);
        const json_t *error;
        int e;

        store_place_socket(s, row->supervisor_lock, path);
        fd = path_connect(path);
        if (fd == -ENOENT || fd == -ECONNREFUSED)
                return -ENOENT;
        e = fd < 0 ? fd : serve_call(fd, path, session ? "session.close" : "kill",
                                     json_pack("{s:s}", session ? "session" : "region", row->region), &answer);
        if (e == -EPIPE)
                return -ESRCH;
        error = json_object_get(answer, "error");
        if (e == 0 && !error)
                return 0;
        if (e == 0 && (-cli_integer(error, "code") == SERVE_E_NO_REGION ||
                       -cli_integer(error, "code") == SERVE_E_NO_SESSION))
                return -ESRCH;
        return cli_fail("kill", EXIT_NOT, "the supervisor of region %s, process %" PRIu64 ", cannot be asked: %s",
                        row->region, row->supervisor_pid, cli_text(error, "message") ?: strerror(-e));
}

/* The supervisor holds its lock as long as it lives. When the lock is held after the pidfd was opened, the pidfd
 * belongs to the supervisor and not to a later process with the same number. Returns 0; EXIT_NOT after a message;
 * -ESRCH when the supervisor is dead. */
static int kill_signal_supervisor(Store *s, const RegionRow *row) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)row->supervisor_pid, 0);

        if (store_lock_is_free(s, row->supervisor_lock))
                return -ESRCH;
        if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0) {
                if (errno == ESRCH)
                        return -ESRCH;
                return cli_fail("kill", EXIT_NOT, "supervisor %" PRIu64 " of region %s cannot be signalled: %s",
                                row->supervisor_pid, row->region, strerror(errno));
        }
        return 0;
}

static int kill_wait_for_end(Store *s, const char *region, bool *ret_orphan) {
        uint64_t until = clock_mono_usec() + WAIT_MAX_USEC;

        for (;;) {
                _cleanup_(region_row_deinit) RegionRow row = {0};
                int r = kill_read_row(s, region, &row);

                if (r != EXIT_OK)
                        return r == -ESRCH ? EXIT_OK : r;
                if (store_lock_is_free(s, row.supervisor_lock)) {
                        *ret_orphan = true;
                        return EXIT_OK;
                }
                if (clock_mono_usec() > until)
                        return cli_fail("kill", EXIT_NOT, "region %s has not ended within 60 s", region);
                usleep(LOOK_USEC);
        }
}

/* Discards the proposals of the invocation's first region and of all regions below. Recorded before the kill, so
 * that any process that records the end heeds the discard (I-78). */
static int kill_discard(Store *s, const char *region) {
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
                above = r == 0 && !cli_text(row.detail, "turn_of") ? cli_text(row.detail, "parent") : NULL;
                if (above)
                        snprintf(top, sizeof(top), "%s", above);
        } while (above);
        if (r == 0)
                r = engine_region_discard(t, top, action_who(), &d) ?: store_commit(TAKE_PTR(t), &d);
        if (r == ENGINE_E_NO_REGION)
                return kill_no_region(region);
        return r == 0 ? EXIT_OK : with_store_failed("kill", s, r, &d);
}

int cmd_kill(int argc, char **argv) {
        static const struct option options[] = {OPTION("store", 's'),         OPTION("anchor", STORE_ANCHOR),
                                                OPTION_FLAG("help", 'h'),     OPTION_FLAG("wait", 'w'),
                                                OPTION_FLAG("discard", 'd'),  OPTION_LAST, {0}};
        _cleanup_(region_row_deinit) RegionRow row = {0};
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {.help = help};
        bool wait, drop, orphan = false;
        RegionSelector selector = {.alive = true};
        RegionId region;
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        wait = o.value['w'];
        drop = o.value['d'];
        selector.last = o.value['L'];
        r = selector_argument("kill", &selector, argc, argv);
        if (r == EXIT_OK)
                r = with_store("kill", &o, drop ? STORE_WRITE : STORE_READ, &s);
        if (r == EXIT_OK)
                r = selector_region("kill", s, &selector, region);
        if (r != EXIT_OK)
                return r;
        r = kill_read_row(s, region, &row);
        if (r != EXIT_OK)
                return r == -ESRCH ? kill_no_region(region) : r;
        if (drop && (r = kill_discard(s, region)) != EXIT_OK)
                return r;
        r = kill_ask_daemon(s, &row);
        if (r == -ENOENT)
                r = kill_signal_supervisor(s, &row);
        else if (r == -ESRCH && !store_lock_is_free(s, row.supervisor_lock))
                return kill_no_region(region); /* the region ended meanwhile */
        if (r > 0)
                return r;
        if (r == 0 && wait)
                r = kill_wait_for_end(s, region, &orphan);
        if (r != -ESRCH && !orphan)
                return r;
        store_free(TAKE_PTR(s)); /* a process has at most one Store for a folder */
        return region_fate_recover("kill", &o, region);
}
