/* Runs: lethe-scope. Asks systemd for a scope (systemd.scope(5)) for the caller, with a control group that may be
 * divided, or whether the unit of the caller is so. A separate program, because it can be killed when systemd
 * does not answer, and because a run needs no bus library otherwise.
 *
 * Its argument: "scope|delegated PID PARENT TASKS user|system SLICE". scope: PID is moved into a new scope, and PARENT
 * when running the same program; TASKS is the scope's limit (18446744073709551615: systemd's own); SLICE may be
 * missing. Ends 0 when PID is in the scope. delegated: ends 0 when the unit of PID is delegated. Else 1 with a line on
 * standard error. */
#include "base/util.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#define STEP_USEC 4000000

typedef struct ScopeRequest {
        char what[16];
        int pid, parent;
        uint64_t tasks;
        char manager[8], slice[256];
        const char *job;      /* borrowed: of the reply */
        char result[32];      /* of the job, when over */
} ScopeRequest;

static int scope_fail(const char *what, int e, const sd_bus_error *said) {
        fprintf(stderr, "%s: %s\n", what, said && said->message ? said->message : strerror(e < 0 ? -e : e));
        return 1;
}

static bool scope_same_program(int a, int b) {
        char path[2][32], name[2][PATH_MAX];
        ssize_t n[2];

        for (int i = 0; i < 2; i++) {
                snprintf(path[i], sizeof(path[i]), "/proc/%d/exe", i == 0 ? a : b);
                n[i] = readlink(path[i], name[i], sizeof(name[i]));
        }
        return b > 1 && n[0] > 0 && n[0] == n[1] && memcmp(name[0], name[1], (size_t)n[0]) == 0;
}

/* The manager's own socket: no other process in between, and no environment variable can name another socket. */
static int scope_connect(const ScopeRequest *a, sd_bus **ret) {
        char address[64];
        sd_bus *bus = NULL;
        int e = sd_bus_new(&bus);

        if (strcmp(a->manager, "system") == 0)
                snprintf(address, sizeof(address), "unix:path=/run/systemd/private");
        else
                snprintf(address, sizeof(address), "unix:path=/run/user/%u/systemd/private", (unsigned)geteuid());
        if (e >= 0)
                e = sd_bus_set_address(bus, address);
        if (e >= 0)
                e = sd_bus_set_method_call_timeout(bus, STEP_USEC);
        if (e >= 0)
                e = sd_bus_start(bus);
        if (e < 0)
                sd_bus_unref(bus);
        else
                *ret = bus;
        return e;
}

static int scope_on_job(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *path = NULL, *unit = NULL, *result = NULL;
        ScopeRequest *a = userdata;
        uint32_t id;

        (void)error;
        if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) >= 0 && a->job && strcmp(path, a->job) == 0)
                snprintf(a->result, sizeof(a->result), "%s", result);
        return 0;
}

static int scope_request(sd_bus *bus, const ScopeRequest *a, sd_bus_message **ret) {
        char name[96];
        struct timespec now;
        int e;

        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, sizeof(name), "lethe-%d-%llx%06lx.scope", a->pid, (unsigned long long)now.tv_sec,
                 (unsigned long)now.tv_nsec / 1000);
        e = sd_bus_message_new_method_call(bus, ret, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                           "org.freedesktop.systemd1.Manager", "StartTransientUnit");
        if (e >= 0)
                e = sd_bus_message_append(*ret, "ss", name, "fail");
        if (e >= 0)
                e = sd_bus_message_open_container(*ret, 'a', "(sv)");
        if (e >= 0) /* sd_bus_message_append() reads as many pids as the length of the array says: the last of all */
                e = sd_bus_message_append(*ret, "(sv)(sv)(sv)(sv)", "Description", "s", "Lethe: regions of one process",
                                          "Delegate", "b", 1, "CollectMode", "s", "inactive-or-failed", "PIDs", "au",
                                          scope_same_program(a->pid, a->parent) ? 2 : 1, (uint32_t)a->pid,
                                          (uint32_t)a->parent);
        if (e >= 0 && a->tasks != UINT64_MAX)
                e = sd_bus_message_append(*ret, "(sv)", "TasksMax", "t", a->tasks);
        if (e >= 0 && *a->slice)
                e = sd_bus_message_append(*ret, "(sv)", "Slice", "s", a->slice);
        if (e >= 0)
                e = sd_bus_message_close_container(*ret);
        return e < 0 ? e : sd_bus_message_append(*ret, "a(sa(sv))", 0);
}

/* The caller kills this program after a time limit. */
static int scope_await(sd_bus *bus, const ScopeRequest *a) {
        int e = 0;

        while (e >= 0 && !*a->result)
                e = sd_bus_process(bus, NULL) ?: sd_bus_wait(bus, STEP_USEC);
        return e;
}

static int scope_is_delegated(sd_bus *bus, const ScopeRequest *a) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *path = NULL;
        int e = sd_bus_call_method(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                   "org.freedesktop.systemd1.Manager", "GetUnitByPID", &error, &reply, "u",
                                   (uint32_t)a->pid),
            yes = 0;

        if (e >= 0)
                e = sd_bus_message_read(reply, "o", &path);
        if (e >= 0)
                e = sd_bus_get_property_trivial(bus, "org.freedesktop.systemd1", path,
                                                strstr(path, "_2escope") ? "org.freedesktop.systemd1.Scope"
                                                                         : "org.freedesktop.systemd1.Service",
                                                "Delegate", &error, 'b', &yes);
        if (e < 0)
                return scope_fail("the unit of this process", e, &error);
        return yes ? 0
                   : scope_fail("the unit of this process", EPERM,
                                &(sd_bus_error){.message = "the unit is not delegated"});
}

int main(int argc, char **argv) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *request = NULL, *reply = NULL;
        sd_bus *bus = NULL;
        ScopeRequest a = {};
        int e;

        if (argc != 2 || sscanf(argv[1], "%15s %d %d %" SCNu64 " %7s %255s", a.what, &a.pid, &a.parent, &a.tasks,
                                a.manager, a.slice) < 5)
                return scope_fail("lethe-scope is started by lethe alone", EINVAL, NULL);
        e = scope_connect(&a, &bus);
        if (e < 0)
                return scope_fail("the manager's socket", e, NULL);
        if (strcmp(a.what, "delegated") == 0)
                return scope_is_delegated(bus, &a);
        e = sd_bus_match_signal(bus, NULL, NULL, NULL, "org.freedesktop.systemd1.Manager", "JobRemoved", scope_on_job,
                                &a);
        if (e >= 0)
                e = scope_request(bus, &a, &request);
        if (e >= 0)
                e = sd_bus_call(bus, request, STEP_USEC, &error, &reply);
        if (e < 0)
                return scope_fail("StartTransientUnit", e, &error);
        e = sd_bus_message_read(reply, "o", &a.job);
        if (e >= 0)
                e = scope_await(bus, &a);
        if (e < 0)
                return scope_fail("the scope's job", e, NULL);
        if (strcmp(a.result, "done") != 0)
                return scope_fail("the scope's job", ECANCELED, &(sd_bus_error){.message = a.result});
        return 0; /* the end of the process closes the bus */
}
