// I-21: a System V segment of the host: key argv[1].
#include "attack.h"

#include <sys/shm.h>

int main(int argc, char **argv) {
        int id = shmget((key_t)strtol(arg(argc, argv, 1), NULL, 0), 0, 0);
        if (id < 0)
                contained("shmget");
        const char *p = shmat(id, NULL, SHM_RDONLY);
        if (p == (void *)-1 || memcmp(p, CANARY, strlen(CANARY)) != 0)
                contained("shmat");
        escaped("read the canary in segment %d", id);
}
