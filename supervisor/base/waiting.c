#include "base/waiting.h"

#include "base/clock.h"
#include "base/mounts.h"
#include "base/quiet.h"

#include <errno.h>
#include <stdio.h>

static __thread WaitingPage *waiting_page;

void waiting_begin(WaitingPage *page) {
        waiting_page = page;
}

static bool waiting_is_local(const char *name) {
        const bool over = quiet_is_over(); /* a missing answer is noted already */
        _cleanup_close_ int fd = quiet_open(name, 0, 0);
        uint64_t mount;

        return fd < 0 ? fd != -ETIMEDOUT || over : quiet_mount(fd, &mount) == 0 && mounts_kind(mount) == MOUNT_LOCAL;
}

static Waiting waiting_note(const char *what, const char *name) {
        WaitingPage *p = waiting_page;
        unsigned deep = atomic_load(&p->deep);

        if (deep < WAITING_DEEP) {
                p->names[deep].what = what;
                snprintf(p->names[deep].name, sizeof(p->names[deep].name), "%s", name);
        }
        atomic_store(&p->since, clock_mono_usec());
        atomic_store(&p->deep, deep + 1);
        return (Waiting){p};
}

Waiting waiting_for(const char *what, const char *name) {
        return !waiting_page || waiting_is_local(name) ? (Waiting){} : waiting_note(what, name);
}

Waiting waiting_for_streams(void) {
        return waiting_page ? waiting_note(WAITING_STREAMS, "standard output or error") : (Waiting){};
}

void waiting_over(Waiting *w) {
        if (!w->page)
                return;
        atomic_fetch_sub(&w->page->deep, 1);
        atomic_store(&w->page->since, clock_mono_usec());
}

void waiting_goes_on(void) {
        if (waiting_page)
                atomic_store(&waiting_page->since, clock_mono_usec());
}
