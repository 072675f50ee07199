// Signals to a process outside: argv[1], by kill, tgkill, rt_sigqueueinfo and pidfd. SIGUSR1 by name, and the victim says that it came.
#include "attack.h"

int main(int argc, char **argv) {
        pid_t pid = atoi(arg(argc, argv, 1));
        siginfo_t si = {.si_code = SI_QUEUE};
        if (kill(pid, SIGUSR1) == 0 || syscall(SYS_tgkill, pid, pid, SIGUSR1) == 0 || syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, &si) == 0)
                escaped("signalled %d", pid);
        int e = errno, fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0) == 0)
                escaped("signalled %d by pidfd", pid);
        errno = e;
        contained("kill %d", pid);
}
