/* Runs: CLI. The events of calls. A commit waits for the disk: with "soon" it has a thread of its own, and the loop goes
 * on. */
#include "mcp/wrap.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/thread.h"
#include "engine/engine.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#define STACK_BYTES (1024 * 1024)

/* The region of the server: the supervisor is the command that this process started. */
static int wrap_find_region(Wrap *w, Txn *t) {
        RegionRow *rows = NULL;
        size_t n = 0;
        int e = engine_region_list(t, &rows, &n);

        for (size_t i = 0; e == 0 && i < n; i++)
                if (rows[i].supervisor_pid == (uint64_t)w->child)
                        snprintf(w->region, sizeof(w->region), "%s", rows[i].region);
        region_rows_free(rows, n);
        return e;
}

static int wrap_failed(int e, const Diag *d) {
        if (e > 0)
                log_error("mcp wrap: calls cannot be recorded: %s", d->text);
        return e > 0 ? -EIO : e;
}

/* extra: an event beside the calls, of type `type`, or NULL. */
static int wrap_commit_events(Wrap *w, const json_t *calls, const char *type, const json_t *extra) {
        _cleanup_txn_ Txn *t = NULL;
        json_t *fields;
        Diag d = {};
        size_t i;
        int e = store_begin(w->store, true, &t, &d);

        if (e == 0 && !*w->region)
                e = wrap_find_region(w, t);
        json_array_foreach(calls, i, fields)
                e = e ?: engine_event(t, *w->region ? w->region : NULL, "tool.called", fields, NULL);
        if (e == 0 && extra)
                e = engine_event(t, NULL, type, extra, NULL);
        return wrap_failed(e ?: store_commit(TAKE_PTR(t), &d), &d);
}

static void *wrap_record_run(void *arg) {
        Wrap *w = arg;

        w->recorded = wrap_commit_events(w, w->recording, NULL, NULL);
        (void)eventfd_write(w->recorded_fd, 1);
        return NULL;
}

int wrap_record_wait(Wrap *w) {
        eventfd_t n;

        if (!w->recording)
                return 0;
        pthread_join(w->recorder, NULL);
        (void)eventfd_read(w->recorded_fd, &n);
        json_decref(w->recording);
        w->recording = NULL;
        return w->recorded;
}

int wrap_record_begin(Wrap *w) {
        json_t *next;
        int e;

        if (w->recording || json_array_size(w->events) == 0)
                return 0;
        next = json_array();
        if (!next)
                return -ENOMEM;
        w->recording = w->events;
        w->events = next;
        e = thread_start(&w->recorder, STACK_BYTES, wrap_record_run, w);
        if (e < 0) {
                json_decref(w->events);
                w->events = w->recording;
                w->recording = NULL;
        }
        return e;
}

int wrap_record(Wrap *w) {
        int e = wrap_record_wait(w);

        if (e == 0 && json_array_size(w->events) > 0)
                e = wrap_commit_events(w, w->events, NULL, NULL);
        if (e == 0)
                json_array_clear(w->events);
        return e;
}

int wrap_record_open(Wrap *w) {
        _cleanup_json_ json_t *o = NULL;
        int e;

        if (!w->options->soon || *w->session)
                return 0;
        w->recorded_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (w->recorded_fd < 0)
                return -errno;
        e = region_id_new(clock_real_usec(), w->session);
        o = json_pack("{s:s, s:s}", "server", w->options->name, "session", w->session);
        return e < 0 ? e : !o ? -ENOMEM : wrap_commit_events(w, NULL, "tools.opened", o);
}

int wrap_record_close(Wrap *w) {
        _cleanup_json_ json_t *o = NULL;
        int e = wrap_record_wait(w);

        if (e < 0 || !*w->session)
                return e ?: wrap_record(w);
        o = json_pack("{s:s, s:s, s:o}", "server", w->options->name, "session", w->session, "calls", json_u64(w->n_calls));
        e = o ? wrap_commit_events(w, w->events, "tools.closed", o) : -ENOMEM;
        if (e == 0)
                json_array_clear(w->events);
        return e;
}
