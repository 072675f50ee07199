/* Runs: CLI. Checks of `lethe doctor` about layers above folders of the host: which ones the store keeps, and whether
 * this user can have an overlay here, above which folders. */
#include "cli/doctor.h"

#include "base/clock.h"
#include "base/path-lookup.h"
#include "base/size.h"
#include "layer/layer.h"
#include "policy/policy.h"
#include "scrub/kept.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define HOUR_USEC UINT64_C(3600000000)
#define OVERLAY_ROW "overlay"
#define OVERLAY_MSEC 60000

void doctor_layers(ProbeReport *r, const char *store) {
        char bytes[SIZE_TEXT_MAX], most[SIZE_TEXT_MAX], oldest[SIZE_TEXT_MAX] = "";
        _cleanup_kept_list_ KeptList l = {0};
        _cleanup_policy_ Policy *p = NULL;
        const uint64_t now = clock_real_usec();
        Diag d = {0};
        int e = kept_list(store, LAYER_SHELF, &l);

        if (e < 0)
                probe_add(r, "layers", PROBE_WARN, "layers of runs above folders (overlay) cannot be kept", "",
                          "%.150s/" LAYER_SHELF ": %s", store, strerror(-e));
        if (e < 0 || policy_load(NULL, &p, &d) != 0)
                return;
        if (l.n > 0)
                duration_format(now - MIN(now, region_id_usec(l.folders[0].region)), oldest);
        probe_add(r, "layers", l.n < p->layers.number && l.bytes <= p->layers.bytes ? PROBE_OK : PROBE_NOTE,
                  "the next kept layer drops the oldest one", "lethe apply, or \"layers\" of the policy",
                  "%zu of at most %" PRIu64 " kept, %s of %s%s%s, for at most %" PRIu64 " h", l.n, p->layers.number,
                  size_format(l.bytes, bytes), size_format(p->layers.bytes, most), l.n > 0 ? ", the oldest for " : "",
                  oldest, p->layers.age_usec / HOUR_USEC);
}

/* The name of the folder's file system; magic(7) has the numbers. */
static const char *overlay_type(const char *path, char out[static 24]) {
        static const struct {
                unsigned long magic;
                const char *name;
        } known[] = {{0xef53, "ext4"}, {0x58465342, "xfs"}, {0x9123683e, "btrfs"}, {0x01021994, "tmpfs"},
                     {0x794c7630, "overlay"}, {0x2fc12fc1, "zfs"}, {0xf2f52010, "f2fs"}};
        struct statfs fs;

        if (statfs(path, &fs) < 0)
                return "?";
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if ((unsigned long)fs.f_type == known[i].magic)
                        return known[i].name;
        snprintf(out, 24, "type 0x%lx", (unsigned long)fs.f_type);
        return out;
}

/* Writes, replaces, removes, and makes a folder anew: with this the kernel marks a folder of the layer. */
static int overlay_try_own(const char *folder, char said[static DOCTOR_SAID_MAX]) {
        static const char job[] = "echo a >new && echo b >old && rm gone && rm -r d && mkdir d && echo c >d/f";
        char at[PATH_MAX], volume[PATH_MAX + 32];
        const char *words[] = {"--timeout", "20s", "-v", volume, "-w", "/src", "--exec", "/bin/sh", "-c", job, NULL};
        static const char *const files[] = {"old", "gone", "d/f"};
        int fd;

        snprintf(at, sizeof(at), "%.3000s/source", folder);
        snprintf(volume, sizeof(volume), "%s:/src:overlay", at);
        if (mkdir(at, 0755) < 0)
                return -errno;
        snprintf(at, sizeof(at), "%.3000s/source/d", folder);
        if (mkdir(at, 0755) < 0)
                return -errno;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                snprintf(at, sizeof(at), "%.3000s/source/%s", folder, files[i]);
                fd = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
                if (fd < 0)
                        return -errno;
                close(fd);
        }
        return doctor_try(folder, words, OVERLAY_MSEC, said);
}

/* Nothing is written above a folder of the user's. Returns NULL, or why not. */
static const char *overlay_try_above(const char *folder, const char *above, char said[static DOCTOR_SAID_MAX]) {
        char volume[PATH_MAX + 32];
        const char *words[] = {"--timeout", "20s", "-v", volume, "--exec", "/bin/true", NULL};

        if (lookup_is_served(above) != 0)
                return "served by a program or another machine";
        snprintf(volume, sizeof(volume), "%.3000s:/src:overlay", above);
        return doctor_try(folder, words, OVERLAY_MSEC, said) == 0 ? NULL : *said ? said
                                                                                : "no";
}

void doctor_overlay(ProbeReport *r, const char *store) {
        static const char meaning[] = "-v SRC:DST:overlay and --here=overlay are not possible",
                          fix[] = "Linux 5.11 or later with overlayfs; from 6.6 on folders can be made anew";
        char folder[PATH_MAX], said[DOCTOR_SAID_MAX] = "", type[24];
        _cleanup_free_ char *here = getcwd(NULL, 0);
        const char *places[] = {here, getenv("HOME")}, *why;
        int e;

        if (!doctor_folder(store, folder))
                return;
        e = overlay_try_own(folder, said);
        if (e != 0)
                probe_add(r, OVERLAY_ROW, PROBE_WARN, meaning, fix, "%.200s", *said ? said : e < 0 ? strerror(-e)
                                                                                                   : "a write failed");
        else
                probe_add(r, OVERLAY_ROW, PROBE_OK, "", "", "works above %s", overlay_type(folder, type));
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(places); i++) {
                if (!places[i] || *places[i] != '/' || (i > 0 && here && strcmp(here, places[i]) == 0))
                        continue;
                why = overlay_try_above(folder, places[i], said);
                if (why)
                        probe_add(r, OVERLAY_ROW, PROBE_NOTE, "a layer above this folder is not possible",
                                  "a folder of a local file system, without mounts below", "%.100s: %.180s", places[i],
                                  why);
        }
        spawn_scratch_remove(folder);
}
