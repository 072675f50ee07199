/* Drops all privileges: after these two steps the process has none and no way back. */
#include "worker/worker.h"

#include <linux/securebits.h>
#include <sys/capability.h>
#include <sys/prctl.h>

int caps_close(void) {
        const int locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                           SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                           SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
        cap_value_t c = 0;

        while (cap_drop_bound(c) == 0)
                c++;
        /* the loop must end at the first capability unknown to the kernel */
        if (errno != EINVAL || CAP_IS_SUPPORTED(c))
                return errno ? -errno : -EPERM;
        return prctl(PR_SET_SECUREBITS, locked) < 0 ? -errno : 0;
}

int step_capabilities(Worker *w) {
        cap_flag_value_t may;
        cap_t none, now;
        int e = 0;

        now = cap_get_proc();
        if (!now || cap_get_flag(now, CAP_SETPCAP, CAP_EFFECTIVE, &may) < 0)
                return -errno;
        cap_free(now);
        /* An ordinary user in tier landlock starts without capabilities, and so without any in these sets that an
         * exec could use: no_new_privs closes the bounding set. */
        if (may == CAP_SET && (e = caps_close()) < 0)
                return e;
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return -errno;
        none = cap_init();
        if (!none || cap_set_proc(none) < 0)
                return -errno;
        now = cap_get_proc();
        if (!now || cap_compare(now, none) != 0)
                e = -EPERM;
        cap_free(now);
        cap_free(none);
        return e;
}

int step_no_new_privs(Worker *w) {
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
