/* The region's terminals: a devpts of the region's own, where no terminal of the host or of another region has a name,
 * and the terminal of the three standard streams. The supervisor gets the master of the latter alone. */
#include "schema/limits.h"
#include "worker/sys.h"
#include "worker/worker.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

/* The region's user owns each terminal, and the folder is in the root already (spawn/plan-system.c). */
static int terminals_mount(Worker *w) {
        _autoclose_ int fs = sys_fsopen("devpts"), mount = -1;

        if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0600") < 0 ||
            sys_fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0666") < 0 ||
            sys_fsconfig(fs, FSCONFIG_SET_STRING, "max", TEXT(TERMINALS_MAX)) < 0 ||
            sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
                return -errno;
        mount = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        return mount < 0 || sys_move_mount(mount, w->root, &TERMINALS_DIR[1]) < 0 ? -errno : 0;
}

/* Tier landlock has the host's devpts, and the region no right to it. */
static int terminals_open_master(Worker *w) {
        const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
        int unlocked = 0, fd = w->spec.flags & LAUNCH_TERMINALS ? openat(w->root, &(TERMINALS_DIR "/ptmx")[1], flags)
                                                                  : openat(AT_FDCWD, "/dev/ptmx", flags);

        if (fd >= 0 && ioctl(fd, TIOCSPTLCK, &unlocked) < 0) {
                worker_close(&fd);
                return -errno;
        }
        return fd < 0 ? -errno : fd;
}

static int terminals_make_streams(Worker *w) {
        const StatusRecord r = {.kind = STATUS_TERMINAL};
        _autoclose_ int master = terminals_open_master(w), slave = -1;
        struct termios t;

        if (master < 0)
                return master;
        /* by the master: no path is looked up */
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0 || tcgetattr(slave, &t) < 0)
                return -errno;
        t.c_iflag |= IUTF8; /* an erase takes a whole character */
        if (tcsetattr(slave, TCSANOW, &t) < 0)
                return -errno;
        for (int i = 0; i < 3; i++)
                if (dup2(slave, i) < 0)
                        return -errno;
        return report(&r, master);
}

int step_terminals(Worker *w) {
        int e = w->spec.flags & LAUNCH_TERMINALS ? terminals_mount(w) : 0;

        return e == 0 && w->spec.flags & LAUNCH_TERMINAL ? terminals_make_streams(w) : e;
}
