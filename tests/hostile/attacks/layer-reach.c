// what a region could do to a layer of its own above a folder of the host: argv[1] is the attack, argv[2] what it aims at, argv[3] more.
#include "attack.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

// The folders of overlayfs lie in the root of the scratch, above /work and /tmp: in them an entry in overlayfs's own form could be made by hand.
static void upper(const char *plant) {
        static const char *const from[] = {".", "..", "../..", "/", "/work", "/work/..", "/tmp", "/tmp/..", "/proc/self/root", "/proc/self/cwd/..", "/dev/shm/..", "/run"};
        char path[256];

        if (plant)
                (void)!(mkdir("layer0", 0700) | mkdir("layer0/upper", 0700));
        for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++) {
                snprintf(path, sizeof(path), "%s/layer0/upper", from[i]);
                if (open(path, O_RDONLY | O_DIRECTORY) >= 0)
                        escaped("%s", path);
        }
        contained("layer0/upper");
}

static void attribute(const char *path, const char *name) {
        char full[64];

        snprintf(full, sizeof(full), "user.overlay.%s", name);
        if (setxattr(path, full, "y", 1, 0) == 0)
                escaped("%s has %s", path, full);
        contained("setxattr %s", full);
}

static void whiteout(const char *folder) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/made-whiteout", folder);
        if (mknod(path, S_IFCHR, makedev(0, 0)) < 0)
                contained("mknod %s", path);
        unlink(path);
        escaped("a whiteout by hand");
}

// Bytes that go through a shared mapping into the file of the host.
static void mapped(const char *path) {
        int fd = open(path, O_RDWR);
        char *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (at == MAP_FAILED)
                contained("mmap %s", path);
        at[0] ^= 1;
        msync(at, 4096, MS_SYNC);
        escaped("%s is written through a mapping", path);
}

// A folder of the host moved to another name would carry a redirection.
static void redirect(const char *folder) {
        char to[4096];

        snprintf(to, sizeof(to), "%s-moved", folder);
        if (rename(folder, to) < 0)
                contained("rename %s", folder);
        rename(to, folder);
        escaped("%s has moved as a whole", folder);
}

static void linked(const char *path, const char *to) {
        if (link(path, to) < 0)
                contained("link %s", path);
        unlink(to);
        escaped("%s has a second name out of the layer", path);
}

static void flags(const char *path) {
        int fd = open(path, O_RDONLY), value = 0;

        if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &value) < 0)
                contained("flags of %s", path);
        value ^= FS_NODUMP_FL;
        if (ioctl(fd, FS_IOC_SETFLAGS, &value) < 0)
                contained("flags of %s", path);
        value ^= FS_NODUMP_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &value);
        escaped("other flags of %s", path);
}

static void rights(const char *path) {
        if (chmod(path, 04755) == 0 || chmod(path, 02755) == 0)
                escaped("%s gives rights", path);
        contained("chmod %s", path);
}

int main(int argc, char **argv) {
        const char *attack = arg(argc, argv, 1), *at = arg(argc, argv, 2), *more = argc > 3 ? argv[3] : NULL;

        if (strcmp(attack, "upper") == 0)
                upper(more);
        else if (strcmp(attack, "attribute") == 0)
                attribute(at, more);
        else if (strcmp(attack, "whiteout") == 0)
                whiteout(at);
        else if (strcmp(attack, "mapped") == 0)
                mapped(at);
        else if (strcmp(attack, "redirect") == 0)
                redirect(at);
        else if (strcmp(attack, "linked") == 0)
                linked(at, more);
        else if (strcmp(attack, "flags") == 0)
                flags(at);
        else if (strcmp(attack, "rights") == 0)
                rights(at);
        return 2;
}
