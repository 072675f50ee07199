/* A skill as a shared object (shim/warm/lethe-load.c). */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;
int lethe_main(int argc, char **argv);

static int facts(int argc, char **argv) {
        for (int i = 0; i < argc; i++)
                printf("[%s]", argv[i]);
        for (char **e = environ; *e; e++)
                if (strncmp(*e, "LETHE_REGION=", 13) != 0)
                        puts(*e);
        for (int fd = 0; fd < 64; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        printf("fd %d\n", fd);
        printf("%d %d %s\n", (int)getpid(), (int)getppid(), dlopen("libz.so.1", RTLD_NOW | RTLD_NOLOAD) || strcmp(getenv("A") ?: "", "executed") == 0 ? "loaded" : "not loaded");
        return access("/tmp/secret", F_OK) == 0;
}

int lethe_main(int argc, char **argv) {
        static char kept[64];
        char buffer[64];

        if (argc < 2)
                return 9;
        if (strcmp(argv[1], "facts") == 0)
                return facts(argc, argv);
        if (strcmp(argv[1], "cat") == 0) {
                while (fgets(buffer, sizeof(buffer), stdin))
                        fputs(buffer, stdout);
                return 0;
        }
        if (strcmp(argv[1], "secret") == 0) {
                snprintf(kept, sizeof(kept), "%s", argv[2]);
                close(open("/tmp/secret", O_CREAT | O_WRONLY, 0600));
                return 0;
        }
        if (strcmp(argv[1], "random") == 0) {
                unsigned long n;

                if (getrandom(&n, sizeof(n), 0) != sizeof(n))
                        return 1;
                printf("%lx %x\n", n, arc4random());
                return 0;
        }
        if (strcmp(argv[1], "abort") == 0)
                abort();
        exit(3);
}
