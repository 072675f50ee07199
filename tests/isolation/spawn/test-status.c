/* Reports of a worker with a descriptor: the supervisor reads and writes the terminal of STATUS_TERMINAL. */
#include "base/io.h"
#include "base/util.h"
#include "spawn/spawn.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

/* What the supervisor takes the record of the descriptor as: 0, or -errno. *ret_kept: it has a terminal afterwards. */
static int told(Tier tier, bool awaits, bool born, int fd, bool *ret_kept) {
        const StatusRecord r = {.kind = STATUS_TERMINAL};
        Spawned s = SPAWNED_NULL;
        int ends[2], notify, scratch, e, early;
        StatusRecord got;

        cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 && io_set_nonblock(ends[0]) == 0);
        s.status = ends[0];
        s.tier = tier;
        s.awaits_terminal = awaits;
        s.born = born;
        cr_assert(io_send_fds(ends[1], &r, sizeof(r), &fd, fd >= 0) == 0);
        early = spawn_take_born(&s, &scratch);
        cr_assert(io_send_fds(ends[1], &r, sizeof(r), &fd, fd >= 0) == 0);
        e = spawn_status(&s, &got, &notify, &scratch);
        /* a second one is none, whatever the first was */
        cr_assert(e == -EPROTO, "%d", e);
        *ret_kept = s.terminal >= 0;
        close(ends[1]);
        spawned_deinit(&s);
        return early == -EAGAIN ? 0 : early; /* kept, and STATUS_BORN is to come */
}

/* a master, and in tier namespaces none of the host's. */
Test(status, a_terminal_is_a_master_of_its_own) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave, null = open("/dev/null", O_RDWR | O_CLOEXEC), p[2];
        bool kept;

        cr_assert(master >= 0 && unlockpt(master) == 0 && null >= 0 && pipe(p) == 0);
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        cr_assert(slave >= 0);
        cr_assert(told(TIER_LANDLOCK, true, false, master, &kept) == 0 && kept);
        const struct {
                const char *what;
                Tier tier;
                bool awaits, born;
                int fd;
        } rows[] = {
                {"a terminal of the host", TIER_NAMESPACES, true, false, master},
                {"a slave", TIER_LANDLOCK, true, false, slave},
                {"another device", TIER_LANDLOCK, true, false, null},
                {"a pipe", TIER_LANDLOCK, true, false, p[0]},
                {"nothing", TIER_LANDLOCK, true, false, -1},
                {"a region without a terminal", TIER_LANDLOCK, false, false, master},
                {"late", TIER_LANDLOCK, true, true, master},
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_assert(told(rows[i].tier, rows[i].awaits, rows[i].born, rows[i].fd, &kept) == -EPROTO && !kept, "%s",
                          rows[i].what);
        close(master);
        close(slave);
        close(null);
        close(p[0]);
        close(p[1]);
}

/* Without its terminal the region does not begin. */
Test(status, a_terminal_that_is_missing) {
        const StatusRecord r = {.kind = STATUS_BORN};
        Spawned s = SPAWNED_NULL;
        int ends[2], notify, scratch;
        StatusRecord got;

        cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 && io_set_nonblock(ends[0]) == 0);
        s.status = ends[0];
        s.tier = TIER_LANDLOCK;
        s.awaits_terminal = true;
        for (int i = 0; i < 2; i++) {
                cr_assert(send(ends[1], &r, sizeof(r), 0) == sizeof(r));
                cr_assert(spawn_status(&s, &got, &notify, &scratch) == (i ? 1 : -EPROTO));
                s.awaits_terminal = false;
        }
        close(ends[1]);
        spawned_deinit(&s);
}
