// I-66: open files, each of which keeps the credentials of the thread that opened it, and these a Landlock of 15 layers, each with the program's path: argv[1]
// processes with argv[2] each, for argv[3] milliseconds.
#include "attack.h"

#include <pthread.h>

#define LAYERS 15
#define NR_LANDLOCK_CREATE_RULESET 444
#define NR_LANDLOCK_RESTRICT_SELF 446

static void *one(void *arg) {
        const uint64_t handled = 1 << 12; /* to make block devices */
        bool *made = arg;

        for (int i = 0; i < LAYERS; i++) {
                int fd = (int)syscall(NR_LANDLOCK_CREATE_RULESET, &handled, sizeof(handled), 0);

                if (fd < 0 || syscall(NR_LANDLOCK_RESTRICT_SELF, fd, 0) < 0)
                        return NULL;
                close(fd);
        }
        *made = open("/dev/null", O_RDONLY) >= 0;
        return NULL;
}

static bool make(long n) {
        for (long i = 0; i < n; i++) {
                bool made = false;
                pthread_t t;

                if (pthread_create(&t, NULL, one, &made) != 0)
                        return false;
                pthread_join(t, NULL);
                if (!made)
                        return false;
        }
        return true;
}

int main(int argc, char **argv) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        held_by_children(argc, argv, make, "files with a Landlock each");
}
