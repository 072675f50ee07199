/* Runs in a region (tests/front/serve/between.py), below lethe-load: leaves bytes wherever C can, or says what it finds there, a line for each:
 * name, tab, value. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <locale.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT ((char *)0x6a0000000000) /* where nothing is mapped by itself */
#define KEY 0x706c616e
#define TIMERS 4

int lethe_main(int argc, char **argv);
static int in_the_object = 1;
static locale_t none;

static void *library(const char *name) {
        void *z = dlopen("libz.so.1", RTLD_NOW);

        return z ? dlsym(z, name) : NULL;
}

/* Bytes at an address, looked at by the kernel. */
static void say_memory(const char *name, const void *at) {
        char bytes[8] = "";
        int ends[2];

        if (pipe(ends) < 0)
                return;
        if (write(ends[1], at, sizeof(bytes)) != (ssize_t)sizeof(bytes) || read(ends[0], bytes, sizeof(bytes)) < 0)
                bytes[0] = 0;
        printf("%s\t", name);
        for (size_t i = 0; i < sizeof(bytes); i++)
                printf("%02x", (unsigned char)bytes[i]);
        puts("");
        close(ends[0]);
        close(ends[1]);
}

static struct sockaddr_un address(socklen_t *ret_n) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};

        memcpy(a.sun_path + 1, "planted", 7);
        *ret_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 8);
        return a;
}

static void say_process(void) {
        char name[16] = "", cwd[256] = "";
        struct itimerval timer;
        struct itimerspec left;
        struct sigaction act;
        struct rlimit limit;
        mode_t mask = umask(0);
        sigset_t set;
        int n = 0;

        umask(mask);
        printf("umask\t%o\n", mask);
        printf("cwd\t%s\n", getcwd(cwd, sizeof(cwd)));
        printf("priority\t%d\n", getpriority(PRIO_PROCESS, 0));
        getrlimit(RLIMIT_NOFILE, &limit);
        printf("limits\t%lu\n", (unsigned long)limit.rlim_cur);
        prctl(PR_GET_NAME, name);
        printf("name\t%s\n", name);
        printf("slack\t%d\n", prctl(PR_GET_TIMERSLACK));
        printf("subreaper\t%d\n", prctl(PR_GET_CHILD_SUBREAPER, &n) == 0 ? n : -1);
        getitimer(ITIMER_REAL, &timer);
        printf("timer\t%d\n", timer.it_value.tv_sec > 0);
        for (intptr_t i = n = 0; i < TIMERS; i++)
                n += timer_gettime((timer_t)i, &left) == 0; /* NOLINT: glibc's small numbers are the kernel's */
        printf("kernel timers\t%d\n", n);
        sigaction(SIGUSR1, NULL, &act);
        printf("signals\t%d\n", act.sa_handler == SIG_IGN);
        sigprocmask(SIG_BLOCK, NULL, &set);
        printf("signal mask\t%d\n", sigismember(&set, SIGUSR2));
        sigpending(&set);
        printf("waiting signals\t%d\n", sigismember(&set, SIGUSR2));
}

static void say_open(void) {
        for (int fd = 0; fd < 600; fd++) {
                int flags = fcntl(fd, F_GETFL);

                if (flags >= 0)
                        printf("descriptor %d\t%x\n", fd, flags);
        }
}

static void say_shared(void) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0), f = open("/usr/bin/env", O_RDONLY);
        socklen_t n;
        struct sockaddr_un a = address(&n);
        mqd_t q = mq_open("/planted", O_RDONLY);

        say_memory("shared memory", AT);
        say_memory("memory of its own", AT + 0x100000);
        printf("segment\t%d\n", shmget(KEY, 8, 0) >= 0);
        printf("queue\t%d\n", q != (mqd_t)-1);
        printf("socket\t%d\n", s >= 0 && connect(s, (struct sockaddr *)&a, n) == 0);
        printf("lock\t%d\n", flock(f, LOCK_SH | LOCK_NB) < 0 ? errno : 0);
        close(s);
        close(f);
        if (q != (mqd_t)-1)
                mq_close(q);
}

static void say_library(void) {
        Dl_info info = {0};
        void *f = library("zlibVersion");
        iconv_t c = iconv_open("PLANTED", "UTF-8");

        printf("layout\t%p\n", dlsym(RTLD_DEFAULT, "puts"));
        printf("static\t%d\n", in_the_object);
        say_memory("code of a library", f);
        printf("library\t%s\n", f && dladdr(f, &info) ? info.dli_fname : "none");
        printf("locale\t%s\n", setlocale(LC_ALL, NULL));
        printf("locales\t%d\n", newlocale(LC_ALL_MASK, "planted", none) != none);
        printf("gconv\t%d\n", c != (iconv_t)-1);
        for (char **e = environ; *e; e++)
                if (strncmp(*e, "LD_", 3) == 0 || strncmp(*e, "GCONV", 5) == 0 || strncmp(*e, "LOCPATH", 7) == 0 || strncmp(*e, "PLANTED", 7) == 0)
                        printf("variable %s\n", *e);
}

static void say(int n, char **places) {
        say_process();
        say_open();
        say_shared();
        say_library();
        for (int i = 0; i < n; i++) {
                struct stat st;

                if (stat(places[i], &st) == 0)
                        printf("%s\t%ld %o\n", places[i], (long)st.st_size, st.st_mode);
                else
                        printf("%s\tnone\n", places[i]);
        }
        puts("");
        fflush(stdout);
}

/* What is there goes on, with a few bytes more. */
static void put(const char *path, const char *text) {
        char part[512], bytes[65536];
        FILE *f, *before;
        size_t n;

        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
                mkdir(part, 0755);
        }
        snprintf(part, sizeof(part), "%s.new", path);
        f = fopen(part, "we");
        if (!f)
                return;
        before = fopen(path, "re");
        while (before && (n = fread(bytes, 1, sizeof(bytes), before)) > 0)
                fwrite(bytes, 1, n, f);
        if (before)
                fclose(before);
        fputs(text, f);
        fclose(f);
        chmod(part, 0755);
        rename(part, path);
}

static void plant_process(void) {
        const struct itimerval late = {.it_value = {.tv_sec = 1000}};
        const struct itimerspec later = {.it_value = {.tv_sec = 1000}};
        struct sigevent event = {.sigev_notify = SIGEV_NONE};
        struct rlimit limit;
        sigset_t set;
        timer_t t;

        setitimer(ITIMER_REAL, &late, NULL);
        if (timer_create(CLOCK_MONOTONIC, &event, &t) == 0)
                timer_settime(t, 0, &later, NULL);
        signal(SIGUSR1, SIG_IGN);
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGUSR2);
        umask(031);
        if (chdir("/tmp") < 0 || nice(1) < 0)
                return;
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = 200;
        setrlimit(RLIMIT_NOFILE, &limit);
        prctl(PR_SET_NAME, "planted");
        prctl(PR_SET_TIMERSLACK, 77777);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void plant_shared(void) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0), f = open("/usr/bin/env", O_RDONLY);
        struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
        socklen_t n;
        struct sockaddr_un a = address(&n);
        char *p = mmap(AT, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

        if (p == AT)
                memcpy(p, "planted!", 8);
        p = mmap(AT + 0x100000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (p == AT + 0x100000)
                memcpy(p, "planted!", 8);
        shmget(KEY, 8, IPC_CREAT | 0666);
        mq_open("/planted", O_CREAT | O_RDWR, 0666, &attr);
        if (s >= 0 && bind(s, (struct sockaddr *)&a, n) == 0)
                listen(s, 1);
        flock(f, LOCK_EX | LOCK_NB);
        dup2(f, 150);
        for (int fd = 0; fd < 5; fd++)
                fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void plant_library(void) {
        char *f = library("zlibVersion"), *page = f ? f - (uintptr_t)f % 4096 : NULL;

        in_the_object = 7;
        if (page && mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
                memset(f, 0xcc, 8);
        setlocale(LC_ALL, "C.UTF-8");
        put("/tmp/lib/gconv-modules", "alias PLANTED// ISO-10646/UTF8/\n");
        if (system("mkdir -p /tmp/lib/planted && cp -r /usr/lib/locale/C.utf8/* /tmp/lib/planted/ && cp /usr/lib/*/libz.so.1 /tmp/lib/") != 0)
                return;
        setenv("GCONV_PATH", "/tmp/lib", 1);
        setenv("LOCPATH", "/tmp/lib", 1);
        setenv("LD_LIBRARY_PATH", "/tmp/lib", 1);
        setenv("PLANTED", "x", 1);
}

int lethe_main(int argc, char **argv) {
        if (argc < 2)
                return 9;
        if (strcmp(argv[1], "plant") == 0 || strcmp(argv[1], "both") == 0) {
                plant_process();
                plant_shared();
                plant_library();
                for (int i = 2; i < argc; i++)
                        put(argv[i], "# planted\n");
        }
        if (strcmp(argv[1], "plant") == 0) {
                puts("planted");
                fflush(stdout);
                sleep(600);
                return 0;
        }
        say(argc - 2, argv + 2);
        if (strcmp(argv[1], "look") != 0) {
                char **words = calloc((size_t)argc + 2, sizeof(*words));
                pid_t pid = words ? fork() : -1;

                if (pid == 0) {
                        memcpy(words + 1, argv, sizeof(*argv) * (size_t)argc);
                        words[0] = "/lethe/bin/lethe-load";
                        words[2] = "look";
                        execv(words[0], words);
                        _exit(127);
                }
                waitpid(pid, NULL, 0);
        }
        return 0;
}
