#include "base/watchdog.h"

#include "base/clock.h"
#include "base/mounts.h"
#include "base/path-lookup.h"

#include <errno.h>
#include <stdio.h>

static __thread WatchdogPage *watchdog_page;

void watchdog_begin(WatchdogPage *page) {
        watchdog_page = page;
}

static bool watchdog_is_local(const char *name) {
        const bool over = lookup_is_over(); /* a missing answer is noted already */
        _cleanup_close_ int fd = lookup_open(name, 0, 0);
        uint64_t mount;

        return fd < 0 ? fd != -ETIMEDOUT || over : lookup_mount(fd, &mount) == 0 && mounts_kind(mount) == MOUNT_LOCAL;
}

static WatchdogWait watchdog_note(const char *what, const char *name) {
        WatchdogPage *p = watchdog_page;
        unsigned deep = atomic_load(&p->deep);

        if (deep < WATCHDOG_DEEP) {
                p->names[deep].what = what;
                snprintf(p->names[deep].name, sizeof(p->names[deep].name), "%s", name);
        }
        atomic_store(&p->since, clock_mono_usec());
        atomic_store(&p->deep, deep + 1);
        return (WatchdogWait){p};
}

WatchdogWait watchdog_wait(const char *what, const char *name) {
        return !watchdog_page || watchdog_is_local(name) ? (WatchdogWait){} : watchdog_note(what, name);
}

WatchdogWait watchdog_wait_streams(void) {
        return watchdog_page ? watchdog_note(WATCHDOG_STREAMS, "standard output or error") : (WatchdogWait){};
}

void watchdog_wait_end(WatchdogWait *w) {
        if (!w->page)
                return;
        atomic_fetch_sub(&w->page->deep, 1);
        atomic_store(&w->page->since, clock_mono_usec());
}

void watchdog_ping(void) {
        if (watchdog_page)
                atomic_store(&watchdog_page->since, clock_mono_usec());
}
