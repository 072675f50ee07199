#include "worker/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The spec is mapped, not copied. The supervisor may still overwrite the content: only the size is sealed. */
static void *mapped;
static size_t n_mapped;

int spec_read(Worker *w) {
        const int need = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
        int seals = fcntl(LAUNCH_FD_SPEC, F_GET_SEALS);
        struct stat st;
        size_t n;
        void *p;
        int e;

        if (seals < 0)
                return -errno;
        if ((seals & need) != need)
                return -EPERM;
        if (fstat(LAUNCH_FD_SPEC, &st) < 0)
                return -errno;
        if (st.st_size <= 0 || st.st_size > LAUNCH_MAX + LAUNCH_WORDS_MAX)
                return -EFBIG;
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, LAUNCH_FD_SPEC, 0);
        if (p == MAP_FAILED)
                return -errno;
        mapped = p;
        n_mapped = (size_t)st.st_size;
        n = launch_spec_bytes(p, n_mapped);
        if (n < n_mapped)
                w->words = (const uint8_t *)p + n;
        e = launch_decode(p, n, &w->spec);
        if (!(w->spec.flags & LAUNCH_AHEAD))
                close(LAUNCH_FD_SPEC);
        if (e < 0)
                return e;
        p = mmap(NULL, sizeof(*w->progress), PROT_READ | PROT_WRITE, MAP_SHARED | (w->apart ? 0 : MAP_ANONYMOUS),
                 w->apart ? FIRST_FD_SHARED : -1, 0);
        if (p == MAP_FAILED)
                return -errno;
        w->progress = p;
        return 0;
}

void spec_forget(LaunchSpec *s) {
        launch_deinit(s);
        if (mapped)
                munmap(mapped, n_mapped);
        mapped = NULL;
}
