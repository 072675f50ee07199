// A file system whose server writes down each request, and never answers some of them: holder FOLDER [REQUEST[:NAME]]...
// It mounts itself on FOLDER, says "mounted", then one line a request ("LOOKUP slow", "READ data"; "held LOOKUP slow"), and ends when its standard input
// does: the kernel then answers what was held with an error. "closed" among the requests: only root may write to its folder; "user=NUMBER": that user
// has mounted it. In it are the file `data`, four pages of the letter d, which may be written, and the program
// `true`. Nothing that it says may be cached, so that each look is a request.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOT = 1, DATA = 2, TRUE = 3, DATA_BYTES = 4 * 4096, BUFFER_BYTES = 1 << 17 };

static int device;
static unsigned folder_mode = 0777;
static const char *user = "0";
static char request[BUFFER_BYTES], program[1 << 20];
static size_t n_program;

static const struct {
        unsigned op;
        const char *name;
} names[] = {
        {FUSE_LOOKUP, "LOOKUP"},   {FUSE_GETATTR, "GETATTR"}, {FUSE_OPEN, "OPEN"},       {FUSE_READ, "READ"},         {FUSE_WRITE, "WRITE"},
        {FUSE_FLUSH, "FLUSH"},     {FUSE_STATFS, "STATFS"},   {FUSE_RELEASE, "RELEASE"}, {FUSE_OPENDIR, "OPENDIR"},   {FUSE_READDIR, "READDIR"},
        {FUSE_SETATTR, "SETATTR"}, {FUSE_ACCESS, "ACCESS"},   {FUSE_CREATE, "CREATE"},   {FUSE_UNLINK, "UNLINK"},     {FUSE_READLINK, "READLINK"},
        {FUSE_MKDIR, "MKDIR"},     {FUSE_FSYNC, "FSYNC"},     {FUSE_GETXATTR, "GETXATTR"},
};

static void answer(unsigned long long unique, int error, const void *data, size_t n) {
        static char out[BUFFER_BYTES + 64];
        struct fuse_out_header h = {.len = (unsigned)(sizeof(h) + n), .error = -error, .unique = unique};

        memcpy(out, &h, sizeof(h));
        if (n > 0)
                memcpy(out + sizeof(h), data, n);
        if (write(device, out, h.len) < 0 && errno != ENOENT)
                perror("answer");
}

static struct fuse_attr attributes(unsigned long long node) {
        struct fuse_attr a = {.ino = node, .mode = S_IFDIR | folder_mode, .nlink = 2, .blksize = 4096};

        if (node != ROOT) {
                a.mode = S_IFREG | (node == TRUE ? 0755 : 0666);
                a.nlink = 1;
                a.size = node == TRUE ? n_program : DATA_BYTES;
                a.blocks = (a.size + 511) / 512;
        }
        return a;
}

static void look_up(unsigned long long unique, const char *name) {
        struct fuse_entry_out e = {.nodeid = strcmp(name, "data") == 0 ? DATA : strcmp(name, "true") == 0 ? TRUE : 0};

        if (!e.nodeid) {
                answer(unique, ENOENT, NULL, 0);
                return;
        }
        e.attr = attributes(e.nodeid);
        answer(unique, 0, &e, sizeof(e));
}

static void give(const struct fuse_in_header *h) {
        static char page[BUFFER_BYTES];
        const struct fuse_read_in *in = (const void *)(h + 1);
        size_t size = h->nodeid == TRUE ? n_program : DATA_BYTES, n = in->offset < size ? size - in->offset : 0;

        n = n < in->size ? n : in->size;
        n = n < sizeof(page) ? n : sizeof(page);
        memset(page, 'd', n);
        if (h->nodeid == TRUE)
                memcpy(page, program + in->offset, n);
        answer(h->unique, 0, page, n);
}

static void serve(const struct fuse_in_header *h) {
        struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096, .max_readahead = 4096};
        struct fuse_attr_out attr = {.attr = attributes(h->nodeid)};
        struct fuse_open_out open = {.fh = 1};
        struct fuse_statfs_out st = {.st = {.bsize = 4096, .namelen = 255, .blocks = 1000, .bfree = 500}};
        struct fuse_write_out written = {.size = ((const struct fuse_write_in *)(h + 1))->size};

        switch (h->opcode) {
        case FUSE_INIT: answer(h->unique, 0, &init, sizeof(init)); break;
        case FUSE_LOOKUP: look_up(h->unique, (const char *)(h + 1)); break;
        case FUSE_SETATTR:
        case FUSE_GETATTR: answer(h->unique, 0, &attr, sizeof(attr)); break;
        case FUSE_OPENDIR:
        case FUSE_OPEN: answer(h->unique, 0, &open, sizeof(open)); break;
        case FUSE_READ: give(h); break;
        case FUSE_WRITE: answer(h->unique, 0, &written, sizeof(written)); break;
        case FUSE_STATFS: answer(h->unique, 0, &st, sizeof(st)); break;
        case FUSE_FLUSH:
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_READDIR:
        case FUSE_ACCESS: answer(h->unique, 0, NULL, 0); break;
        default: answer(h->unique, ENOSYS, NULL, 0);
        }
}

static const char *of_what(const struct fuse_in_header *h) {
        if (h->opcode == FUSE_LOOKUP || h->opcode == FUSE_UNLINK)
                return (const char *)(h + 1);
        if (h->opcode == FUSE_CREATE)
                return (const char *)(h + 1) + sizeof(struct fuse_create_in);
        return h->nodeid == ROOT ? "." : h->nodeid == TRUE ? "true" : "data";
}

static bool is_to_be_held(int argc, char **argv, const char *op, const char *what) {
        size_t n = strlen(op);

        for (int i = 2; i < argc; i++)
                if (strncmp(argv[i], op, n) == 0 && (argv[i][n] == 0 || (argv[i][n] == ':' && strcmp(argv[i] + n + 1, what) == 0)))
                        return true;
        return false;
}

int main(int argc, char **argv) {
        struct pollfd p[2] = {{.fd = 0, .events = POLLIN}, {.events = POLLIN}};
        char options[128];
        int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, program, sizeof(program));

        for (int i = 2; i < argc; i++)
                if (strcmp(argv[i], "closed") == 0)
                        folder_mode = 0755;
                else if (strncmp(argv[i], "user=", 5) == 0)
                        user = argv[i] + 5;
        p[1].fd = device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        snprintf(options, sizeof(options), "fd=%d,rootmode=40%o,user_id=%.10s,group_id=0,allow_other", device, folder_mode, user);
        if (argc < 2 || n < 0 || device < 0 || mount("holder", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
                perror("holder");
                return 77;
        }
        n_program = (size_t)n;
        setvbuf(stdout, NULL, _IOLBF, 0);
        puts("mounted");
        for (;;) {
                const struct fuse_in_header *h = (const void *)request;
                const char *op = NULL;

                if (poll(p, 2, -1) < 0 || p[0].revents)
                        return 0;
                if (!p[1].revents)
                        continue;
                if (read(device, request, sizeof(request)) < 0) {
                        if (errno == EINTR || errno == ENOENT)
                                continue;
                        return errno != ENODEV;
                }
                for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                        if (names[i].op == h->opcode)
                                op = names[i].name;
                if (h->opcode == FUSE_FORGET || h->opcode == FUSE_BATCH_FORGET || h->opcode == FUSE_INTERRUPT)
                        continue;
                if (op && is_to_be_held(argc, argv, op, of_what(h))) {
                        printf("held %s %s\n", op, of_what(h));
                        continue;
                }
                if (op)
                        printf("%s %s\n", op, of_what(h));
                serve(h);
        }
}
