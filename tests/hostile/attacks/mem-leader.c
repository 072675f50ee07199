// I-66: memory of processes whose first thread is gone: argv[1] processes with argv[2] MiB each, private or (argv[3] "shared") shared, for
// argv[4] milliseconds.
#include "attack.h"

#include <pthread.h>
#include <sys/prctl.h>

static size_t mib;
static bool shared;
static int said[2];

static void *goes_on(void *leader) {
        char *p;

        pthread_join(*(pthread_t *)leader, NULL);
        p = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
        for (size_t i = 0; p != MAP_FAILED && i < mib << 20; i += 4096)
                p[i] = 1;
        if (p != MAP_FAILED && write(said[1], "x", 1) == 1)
                for (;;)
                        pause();
        _exit(1);
}

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), held = 0;
        char b;

        mib = (size_t)atoi(arg(argc, argv, 2));
        shared = strcmp(arg(argc, argv, 3), "shared") == 0;
        if (pipe(said) < 0)
                contained("pipe");
        for (int i = 0; i < n; i++)
                if (fork() == 0) {
                        static pthread_t leader;
                        pthread_t t;

                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        leader = pthread_self();
                        if (pthread_create(&t, NULL, goes_on, &leader) != 0)
                                _exit(1);
                        pthread_exit(NULL);
                }
        close(said[1]);
        while (read(said[0], &b, 1) == 1)
                if (++held == n)
                        break;
        if (argc > 4)
                sleep_msec(atol(argv[4]));
        if (held < n)
                contained("%d of %d hold their memory", held, n);
        escaped("%zu MiB in processes without a first thread", mib * (size_t)n);
}
