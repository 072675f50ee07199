// I-3: leaves the canary wherever a program can put it: heap, stack, environment, /tmp, /work, /dev/shm, keyring, System V, an unread pipe.
// It finishes well; canary-seek looks for what is left.
#include "attack.h"

#include <sys/shm.h>

static void put(const char *path) {
        int fd = open(path, O_WRONLY | O_CREAT, 0666);
        if (fd >= 0 && write(fd, CANARY, sizeof CANARY) < 0)
                perror(path);
        if (fd >= 0)
                close(fd);
}

int main(int argc, char **argv) {
        const char *mark = arg(argc, argv, 1);
        static const char *const folders[] = {"/tmp", "/work", "/dev/shm", ".", "/var/tmp", "/skill", "/run"};
        size_t n = 8 << 20, len = sizeof CANARY;
        char *heap = malloc(n), path[300];
        for (size_t i = 0; heap && i + len < n; i += len)
                memcpy(heap + i, CANARY, len);
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
                snprintf(path, sizeof path, "%s/%s", folders[i], mark);
                put(path);
        }
        syscall(SYS_add_key, "user", mark, CANARY, sizeof CANARY, -4);
        int id = shmget((key_t)strtol(mark + 2, NULL, 16), 4096, IPC_CREAT | 0666);
        if (id >= 0)
                memcpy(shmat(id, NULL, 0), CANARY, len);
        setenv("LEFT", CANARY, 1);
        printf("planted\n");
        return 0;
}
