/* Calls whose arguments decide. The kernel reads only the low 32 bits of an int argument, so each comparison masks the
 * upper half: a value that differs in the upper half must not slip by. Calls without a matching row are notified. */
#include "policy/filter.h"

#include "schema/limits.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define INT 0xFFFFFFFFU
#define MASK(i, mask, value)                                                                                           \
        {.arg = (i), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask), .datum_b = (value)}
#define IS(i, value) MASK(i, INT, (uint32_t)(value))
#define ZERO(i)                                                                                                        \
        {.arg = (i), .op = SCMP_CMP_EQ, .datum_a = 0}
#define BELOW(i, value)                                                                                                \
        {.arg = (i), .op = SCMP_CMP_LT, .datum_a = (value)}

/* A mapping's type is private, and no flag of `without` is set. */
#define PRIVATE(without) MASK(3, (without) | MAP_SHARED_VALIDATE, MAP_PRIVATE)

#define SUID_SGID 06000
#define FILTER_RWF_DONTCACHE 0x80U /* Linux 6.14 */
#define CLOSE_RANGE_UNSHARE_ 2
#define UNNAMED (O_TMPFILE & ~O_DIRECTORY)
#define CREATES (O_CREAT | UNNAMED)
#define TYPE(t) ((uint32_t)(t)) /* of a socket, without SOCK_CLOEXEC and SOCK_NONBLOCK */
#define TYPE_BITS (INT & ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))

const FilterRow filter_rows[] = {
        /* Files with set-user-id bits would be a way to the host through a writable folder. */
        {"open", WHEN_NO_PATHS | WHEN_NO_FREES, 1, {MASK(1, CREATES, 0)}},
        {"open", WHEN_NO_PATHS | WHEN_NO_FREES, 1, {MASK(2, SUID_SGID, 0)}},
        {"openat", WHEN_NO_PATHS | WHEN_NO_FREES, 1, {MASK(2, CREATES, 0)}},
        {"openat", WHEN_NO_PATHS | WHEN_NO_FREES, 1, {MASK(3, SUID_SGID, 0)}},
        {"creat", WHEN_NO_PATHS | WHEN_NO_FREES, 1, {MASK(1, SUID_SGID, 0)}},
        {"open", WHEN_NO_PATHS | WHEN_FREES, 1, {MASK(1, CREATES | O_TRUNC, 0)}},
        {"open", WHEN_NO_PATHS | WHEN_FREES, 2, {MASK(1, UNNAMED | O_TRUNC, 0), MASK(2, SUID_SGID, 0)}},
        {"openat", WHEN_NO_PATHS | WHEN_FREES, 1, {MASK(2, CREATES | O_TRUNC, 0)}},
        {"openat", WHEN_NO_PATHS | WHEN_FREES, 2, {MASK(2, UNNAMED | O_TRUNC, 0), MASK(3, SUID_SGID, 0)}},
        {"chmod", WHEN_NO_PATHS | WHEN_NAMESPACES, 1, {MASK(1, SUID_SGID, 0)}},
        {"fchmodat", WHEN_NO_PATHS | WHEN_NAMESPACES, 1, {MASK(2, SUID_SGID, 0)}},
        {"fchmod", WHEN_NAMESPACES, 1, {MASK(1, SUID_SGID, 0)}},
        {"mknod", WHEN_NO_PATHS, 1, {MASK(1, S_IFMT | SUID_SGID, S_IFIFO)}},
        {"mknod", WHEN_NO_PATHS, 1, {MASK(1, S_IFMT | SUID_SGID, S_IFREG)}},
        {"mknod", WHEN_NO_PATHS, 1, {MASK(1, S_IFMT | SUID_SGID, 0)}},
        {"mknodat", WHEN_NO_PATHS, 1, {MASK(2, S_IFMT | SUID_SGID, S_IFIFO)}},
        {"mknodat", WHEN_NO_PATHS, 1, {MASK(2, S_IFMT | SUID_SGID, S_IFREG)}},
        {"mknodat", WHEN_NO_PATHS, 1, {MASK(2, S_IFMT | SUID_SGID, 0)}},
        {"fchown", WHEN_NAMESPACES, 0, {}},
        {"fremovexattr", WHEN_NAMESPACES, 0, {}},

        /* Memory. Huge pages are in no budget. A shared mapping may make an object that outlives the mapping: it is
         * notified. */
        {"mmap", WHEN_MEMORY_CGROUP | WHEN_NO_FREES, 1, {PRIVATE(MAP_HUGETLB)}},
        {"mmap", WHEN_MEMORY_CGROUP | WHEN_FREES, 1, {PRIVATE(MAP_HUGETLB | MAP_FIXED | FILTER_MAP_DROPPABLE)}},
        {"mmap", WHEN_MEMORY_NOTIFIED | WHEN_NO_FREES, 2, {PRIVATE(MAP_HUGETLB), BELOW(1, FILTER_MEMORY_NOTIFY_BYTES)}},
        {"mmap",
         WHEN_MEMORY_NOTIFIED | WHEN_FREES,
         2,
         {PRIVATE(MAP_HUGETLB | MAP_FIXED | FILTER_MAP_DROPPABLE), BELOW(1, FILTER_MEMORY_NOTIFY_BYTES)}},
        {"mmap", WHEN_MEMORY_NOTIFIED | WHEN_NO_FREES, 2, {PRIVATE(MAP_HUGETLB), MASK(2, PROT_WRITE, 0)}},
        {"mmap",
         WHEN_MEMORY_NOTIFIED | WHEN_FREES,
         2,
         {PRIVATE(MAP_HUGETLB | MAP_FIXED | FILTER_MAP_DROPPABLE), MASK(2, PROT_WRITE, 0)}},
        {"mremap", WHEN_MEMORY_CGROUP | WHEN_NO_FREES, 0, {}},
        {"mremap", WHEN_MEMORY_NOTIFIED | WHEN_NO_FREES, 1, {BELOW(2, FILTER_MEMORY_NOTIFY_BYTES)}},
        {"munmap", WHEN_NO_FREES, 0, {}},
        {"brk", WHEN_NO_FREES, 0, {}},
        {"brk", WHEN_FREES, 1, {ZERO(0)}}, /* asks for the current end */
        {"ftruncate", WHEN_NO_FREES, 0, {}},
        /* On a disk of the host a single call takes any space at once, before the supervisor can look. */
        {"fallocate", WHEN_NAMESPACES | WHEN_NO_FREES, 0, {}},
        {"fallocate", WHEN_NAMESPACES | WHEN_FREES, 1, {MASK(1, INT & ~1U, 0)}}, /* at most FALLOC_FL_KEEP_SIZE */
        {"mprotect", WHEN_MEMORY_CGROUP, 0, {}},
        {"mprotect", WHEN_MEMORY_NOTIFIED, 1, {BELOW(1, FILTER_MEMORY_NOTIFY_BYTES)}},
        {"mprotect", WHEN_MEMORY_NOTIFIED, 1, {MASK(2, PROT_WRITE, 0)}},
        {"pkey_mprotect", WHEN_MEMORY_CGROUP, 0, {}},
        {"pkey_mprotect", WHEN_MEMORY_NOTIFIED, 1, {BELOW(1, FILTER_MEMORY_NOTIFY_BYTES)}},
        {"pkey_mprotect", WHEN_MEMORY_NOTIFIED, 1, {MASK(2, PROT_WRITE, 0)}},
        /* All advice except merging equal pages (12): a merged page belongs to several processes, so overwriting leaves
         * the bytes in place. And none of the numbers between 26 and 101. */
        {"madvise", WHEN_NO_FREES, 1, {MASK(2, INT & ~7U, 0)}},
        {"madvise", WHEN_NO_FREES, 1, {MASK(2, INT & ~3U, 8)}},
        {"madvise", WHEN_NO_FREES, 1, {IS(2, MADV_UNMERGEABLE)}},
        {"madvise", WHEN_NO_FREES, 1, {MASK(2, INT & ~1U, 14)}},
        {"madvise", WHEN_NO_FREES, 1, {MASK(2, INT & ~7U, 16)}},
        {"madvise", WHEN_NO_FREES, 1, {MASK(2, INT & ~1U, 24)}},
        {"madvise", WHEN_NO_FREES, 1, {MASK(2, INT & ~1U, 102)}}, /* guard regions */
        /* Advice that neither returns pages nor lets the kernel copy pages. */
        {"madvise", WHEN_FREES, 1, {MASK(2, INT & ~3U, 0)}},             /* normal, random, sequential, will need */
        {"madvise", WHEN_FREES, 1, {MASK(2, INT & ~1U, MADV_DONTFORK)}}, /* and its opposite; so below */
        {"madvise", WHEN_FREES, 1, {IS(2, MADV_UNMERGEABLE)}},
        {"madvise", WHEN_FREES, 1, {IS(2, MADV_NOHUGEPAGE)}},
        {"madvise", WHEN_FREES, 1, {MASK(2, INT & ~1U, MADV_DONTDUMP)}},
        {"madvise", WHEN_FREES, 1, {MASK(2, INT & ~1U, MADV_WIPEONFORK)}},
        {"madvise", WHEN_FREES, 1, {IS(2, 20)}},              /* MADV_COLD */
        {"madvise", WHEN_FREES, 1, {MASK(2, INT & ~1U, 22)}}, /* MADV_POPULATE_READ, _WRITE */

        /* Tasks: a process, a vfork child, or a thread. Memory shared in another way hides its user from the
         * scrubber. */
        {"clone", WHEN_TASK_CGROUP, 1, {MASK(0, FILTER_CLONE_BAD | CLONE_VM, 0)}},
        {"clone", WHEN_TASK_CGROUP, 1, {MASK(0, FILTER_CLONE_BAD | CLONE_VM | CLONE_VFORK, CLONE_VM | CLONE_VFORK)}},
        {"clone",
         WHEN_TASK_CGROUP,
         1,
         {MASK(0, FILTER_CLONE_BAD | CLONE_VM | CLONE_THREAD | CLONE_FILES, CLONE_VM | CLONE_THREAD | CLONE_FILES)}},
        {"clone",
         WHEN_TASK_CGROUP | WHEN_TABLES,
         1,
         {MASK(0, FILTER_CLONE_BAD | CLONE_VM | CLONE_THREAD, CLONE_VM | CLONE_THREAD)}},
        {"close_range", 0, 1, {MASK(2, CLOSE_RANGE_UNSHARE_, 0)}},
        {"close_range", WHEN_TABLES, 0, {}},
        {"fork", WHEN_TASK_CGROUP, 0, {}},
        {"vfork", WHEN_TASK_CGROUP, 0, {}},

        /* Sockets. A datagram socket of a pair could be sent elsewhere: only for regions with AF_UNIX. */
        {"socketpair", 0, 2, {IS(0, AF_UNIX), MASK(1, TYPE_BITS, TYPE(SOCK_STREAM))}},
        {"socketpair", 0, 2, {IS(0, AF_UNIX), MASK(1, TYPE_BITS, TYPE(SOCK_SEQPACKET))}},
        {"socketpair", WHEN_UNIX, 2, {IS(0, AF_UNIX), MASK(1, TYPE_BITS, TYPE(SOCK_DGRAM))}},
        {"socket", WHEN_UNIX, 1, {IS(0, AF_UNIX)}},
        /* A datagram can be sent to any path, by calls whose addresses are in memory. A stream has to be connected. */
        {"socket", WHEN_LOOPBACK, 2, {IS(0, AF_UNIX), MASK(1, TYPE_BITS, TYPE(SOCK_STREAM))}},
        {"socket", WHEN_LOOPBACK, 2, {IS(0, AF_UNIX), MASK(1, TYPE_BITS, TYPE(SOCK_SEQPACKET))}},
        {"socket", WHEN_LISTED, 2, {IS(0, AF_UNIX), MASK(1, TYPE_BITS, TYPE(SOCK_STREAM))}},
        {"socket", WHEN_LISTED, 2, {IS(0, AF_UNIX), MASK(1, TYPE_BITS, TYPE(SOCK_SEQPACKET))}},
        {"socket", WHEN_INET, 3, {IS(0, AF_INET), MASK(1, TYPE_BITS, TYPE(SOCK_STREAM)), IS(2, 0)}},
        {"socket", WHEN_INET, 3, {IS(0, AF_INET), MASK(1, TYPE_BITS, TYPE(SOCK_STREAM)), IS(2, 6)}},
        {"socket", WHEN_INET, 3, {IS(0, AF_INET6), MASK(1, TYPE_BITS, TYPE(SOCK_STREAM)), IS(2, 0)}},
        {"socket", WHEN_INET, 3, {IS(0, AF_INET6), MASK(1, TYPE_BITS, TYPE(SOCK_STREAM)), IS(2, 6)}},
        {"socket", WHEN_UDP, 3, {IS(0, AF_INET), MASK(1, TYPE_BITS, TYPE(SOCK_DGRAM)), IS(2, 0)}},
        {"socket", WHEN_UDP, 3, {IS(0, AF_INET), MASK(1, TYPE_BITS, TYPE(SOCK_DGRAM)), IS(2, 17)}},
        {"socket", WHEN_UDP, 3, {IS(0, AF_INET6), MASK(1, TYPE_BITS, TYPE(SOCK_DGRAM)), IS(2, 0)}},
        {"socket", WHEN_UDP, 3, {IS(0, AF_INET6), MASK(1, TYPE_BITS, TYPE(SOCK_DGRAM)), IS(2, 17)}},
        /* getifaddrs(3) asks for the addresses of lo. Without CAP_NET_ADMIN nothing can be changed. */
        {"socket", WHEN_LOOPBACK, 3, {IS(0, AF_NETLINK), MASK(1, TYPE_BITS, TYPE(SOCK_RAW)), IS(2, 0)}},
        {"socket", WHEN_LOOPBACK, 3, {IS(0, AF_NETLINK), MASK(1, TYPE_BITS, TYPE(SOCK_DGRAM)), IS(2, 0)}},
        {"connect", WHEN_CONNECTS, 0, {}},
        {"bind", WHEN_BINDS, 0, {}},
        {"listen", WHEN_LISTENS, 0, {}},
        {"accept", WHEN_BINDS, 0, {}},
        {"accept4", WHEN_BINDS, 0, {}},
        {"sendto", WHEN_ADDRESSES, 0, {}},
        {"sendmsg", WHEN_ADDRESSES, 0, {}},
        {"sendmmsg", WHEN_ADDRESSES, 0, {}},
        {"sendto", WHEN_NO_ADDRESSES, 2, {MASK(3, MSG_FASTOPEN, 0), ZERO(4)}},
        {"sendmsg", WHEN_NO_ADDRESSES, 1, {MASK(2, MSG_FASTOPEN, 0)}},
        {"sendmmsg", WHEN_NO_ADDRESSES, 1, {MASK(3, MSG_FASTOPEN, 0)}},
        /* Options: those of SOL_SOCKET up to 23 (no packet filters, no device binding), the plain options of TCP and
         * IP. Data sent by a closed socket is in the queue of another socket, and charged to no known process: without
         * a control group the send buffer keeps its size (I-66). */
        {"setsockopt", 0, 2, {IS(1, SOL_SOCKET), MASK(2, INT & ~3U, 0)}},
        {"setsockopt", 0, 2, {IS(1, SOL_SOCKET), MASK(2, INT & ~1U, 4)}},
        {"setsockopt", 0, 2, {IS(1, SOL_SOCKET), IS(2, SO_BROADCAST)}},
        {"setsockopt", WHEN_MEMORY_CGROUP, 2, {IS(1, SOL_SOCKET), IS(2, SO_SNDBUF)}},
        /* SO_LINGER has no effect: a process of Lethe would close its copy of the socket last, and wait (I-62). */
        {"setsockopt", 0, 2, {IS(1, SOL_SOCKET), MASK(2, INT & ~3U, 8)}},
        {"setsockopt", 0, 2, {IS(1, SOL_SOCKET), IS(2, SO_PRIORITY)}},
        {"setsockopt", 0, 2, {IS(1, SOL_SOCKET), MASK(2, INT & ~1U, 14)}},
        {"setsockopt", 0, 2, {IS(1, SOL_SOCKET), MASK(2, INT & ~7U, 16)}},
        {"setsockopt", WHEN_INET, 2, {IS(1, 6), MASK(2, INT & ~7U, 0)}},
        {"setsockopt", WHEN_INET, 2, {IS(1, 6), MASK(2, INT & ~3U, 8)}},
        /* no keys of TCP_MD5SIG: 128 KiB for each socket, outside every budget */
        {"setsockopt", WHEN_INET, 2, {IS(1, 6), MASK(2, INT & ~1U, 12)}},
        {"setsockopt", WHEN_INET, 2, {IS(1, 6), MASK(2, INT & ~7U, 16)}},
        {"setsockopt", WHEN_INET, 2, {IS(1, 0), MASK(2, INT & ~15U, 0)}},
        /* No memberships (20, 21, 27 and 28): objects of the host's interfaces. */
        {"setsockopt", WHEN_INET, 2, {IS(1, 41), MASK(2, INT & ~3U, 16)}},
        {"setsockopt", WHEN_INET, 2, {IS(1, 41), MASK(2, INT & ~1U, 22)}},
        {"setsockopt", WHEN_INET, 2, {IS(1, 41), MASK(2, INT & ~1U, 24)}},
        {"setsockopt", WHEN_INET, 2, {IS(1, 41), IS(2, 26)}}, /* IPV6_V6ONLY */

        /* Terminals and files: only requests that read a state or change the caller's own descriptor. */
        {"ioctl", 0, 1, {IS(1, 0x5401)}},              /* TCGETS: isatty() */
        {"ioctl", 0, 1, {IS(1, 0x540F)}},              /* TIOCGPGRP */
        {"ioctl", 0, 1, {IS(1, 0x5411)}},              /* TIOCOUTQ */
        {"ioctl", 0, 1, {IS(1, 0x5413)}},              /* TIOCGWINSZ */
        {"ioctl", 0, 1, {IS(1, 0x541B)}},              /* FIONREAD */
        {"ioctl", 0, 1, {IS(1, 0x5421)}},              /* FIONBIO */
        {"ioctl", 0, 1, {MASK(1, INT & ~1U, 0x5450)}}, /* FIONCLEX, FIOCLEX */
        {"ioctl", 0, 1, {IS(1, 0x5452)}},              /* FIOASYNC */
        {"ioctl", 0, 1, {IS(1, 0x802C542A)}},          /* TCGETS2 */
        /* The region's own terminal: modes, flow, the foreground group, size. Never TIOCSTI, TIOCSETD, TIOCLINUX, TIOCCONS
         * or another request. */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5402)}},             /* TCSETS */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5403)}},             /* TCSETSW */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5404)}},             /* TCSETSF */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5409)}},             /* TCSBRK: tcdrain() */
        {"ioctl", WHEN_TERMINAL, 1, {MASK(1, INT & ~1U, 0x540A)}}, /* TCXONC, TCFLSH */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5410)}},             /* TIOCSPGRP */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5414)}},             /* TIOCSWINSZ */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5425)}},             /* TCSBRKP */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x5429)}},             /* TIOCGSID */
        {"ioctl", WHEN_TERMINAL, 1, {IS(1, 0x402C542B)}},         /* TCSETS2 */
        {"ioctl", WHEN_TERMINAL, 1, {MASK(1, INT & ~1U, 0x402C542C)}}, /* TCSETSW2, TCSETSF2 */
        /* A new terminal in the region's own devpts. As the controlling terminal without theft: the kernel's argument 1. */
        {"ioctl", WHEN_TERMINALS, 1, {IS(1, 0x80045430)}},        /* TIOCGPTN */
        {"ioctl", WHEN_TERMINALS, 1, {IS(1, 0x40045431)}},        /* TIOCSPTLCK */
        {"ioctl", WHEN_TERMINALS, 1, {IS(1, 0x5441)}},            /* TIOCGPTPEER */
        {"ioctl", WHEN_TERMINALS, 2, {IS(1, 0x540E), ZERO(2)}},   /* TIOCSCTTY */
        {"ioctl", 0, 1, {IS(1, 0x80086601)}},          /* FS_IOC_GETFLAGS */
        {"ioctl", 0, 1, {IS(1, 0x40049409)}},          /* FICLONE: cp tries it */
        /* No leases and no dnotify: a lease on a shared file would hold up the host. */
        {"fcntl", 0, 1, {MASK(1, INT & ~3U, 0)}}, /* F_DUPFD, F_GETFD, F_SETFD, F_GETFL */
        {"fcntl", 0, 1, {IS(1, F_SETFL)}},
        {"fcntl",
         0,
         1,
         {MASK(1, INT & ~7U, 8)}}, /* owners and signals of descriptors; locks (5 to 7, 36 to 38) are FILTER_LOCK */
        {"fcntl", 0, 1, {MASK(1, INT & ~15U, 16)}},
        {"fcntl", 0, 1, {IS(1, 1024 + 3)}}, /* F_DUPFD_QUERY */
        {"fcntl", 0, 1, {IS(1, F_DUPFD_CLOEXEC)}},
        /* No F_SETPIPE_SZ: a larger pipe takes from the user's limit, and a named pipe of a read-only folder is the
         * host's (I-68). */
        {"fcntl", 0, 1, {IS(1, F_GETPIPE_SZ)}},
        /* and the hint for writes; no new seals: a sealed file cannot be overwritten */
        {"fcntl", 0, 1, {MASK(1, INT & ~1U, F_GET_SEALS)}},
        /* No hint is set (F_SET_RW_HINT and below): a hint belongs to the inode, and other regions read the hint. */

        /* The page cache is the host's: no region drops pages from the cache, or asks for cached pages (I-68). */
        {"fadvise64", 0, 1, {MASK(3, INT & ~3U, 0)}}, /* normal, random, sequential, will need */
        {"fadvise64", 0, 1, {IS(3, POSIX_FADV_NOREUSE)}},
        {"preadv2", 0, 1, {MASK(5, RWF_NOWAIT | FILTER_RWF_DONTCACHE, 0)}},
        {"pwritev2", 0, 1, {MASK(5, RWF_NOWAIT | FILTER_RWF_DONTCACHE, 0)}},

        /* A page of a file in a pipe or a socket keeps its whole large folio (512 pages and more), even after the file
         * is gone. Only a control group counts the folio. */
        {"splice", WHEN_MEMORY_CGROUP, 0, {}},
        {"sendfile", WHEN_MEMORY_CGROUP, 0, {}},

        /* Each open file keeps the opener's credentials and Landlock domain: 4 KiB for each layer, with the program's
         * path. */
        {"landlock_restrict_self", WHEN_MEMORY_CGROUP, 0, {}},

        {"inotify_init", WHEN_WATCHES, 0, {}},
        {"inotify_init1", WHEN_WATCHES, 0, {}},

        /* Process attributes. */
        {"prctl", 0, 1, {MASK(0, INT & ~1U, PR_GET_PDEATHSIG)}}, /* and PR_GET_DUMPABLE */
        {"prctl", 0, 1, {IS(0, PR_SET_PDEATHSIG)}},
        {"prctl", 0, 1, {IS(0, PR_GET_KEEPCAPS)}},
        {"prctl", 0, 1, {IS(0, PR_SET_NAME)}},
        {"prctl", 0, 1, {IS(0, PR_GET_NAME)}},
        {"prctl", 0, 1, {IS(0, PR_GET_SECCOMP)}},
        {"prctl", 0, 1, {MASK(0, INT & ~1U, PR_SET_SECCOMP)}}, /* and PR_CAPBSET_READ */
        {"prctl", 0, 1, {IS(0, PR_GET_SECUREBITS)}},
        {"prctl", 0, 1, {IS(0, PR_SET_TIMERSLACK)}},
        {"prctl", 0, 1, {IS(0, PR_GET_TIMERSLACK)}},
        {"prctl", 0, 1, {MASK(0, INT & ~3U, PR_SET_CHILD_SUBREAPER)}}, /* 36..39: subreaper, no_new_privs */
        {"prctl", 0, 1, {IS(0, PR_GET_TID_ADDRESS)}}, /* not PR_SET_THP_DISABLE: worker/program.c says why */
        {"prctl", 0, 1, {IS(0, PR_GET_THP_DISABLE)}},
        {"prctl", 0, 2, {IS(0, PR_CAP_AMBIENT), IS(1, PR_CAP_AMBIENT_IS_SET)}},
        {"prctl", 0, 1, {IS(0, PR_GET_SPECULATION_CTRL)}},
        {"prctl", 0, 1, {IS(0, 65)}}, /* PR_SET_MDWE */
        {"prctl", 0, 1, {IS(0, 66)}}, /* PR_GET_MDWE */
        {"personality", 0, 1, {IS(0, 0)}},
        {"personality", 0, 1, {IS(0, -1)}},
        {"seccomp", 0, 1, {IS(0, 0)}},                /* strict */
        {"seccomp", 0, 2, {IS(0, 1), MASK(1, 8, 0)}}, /* the region's own filter, without a listener */
        {"seccomp", 0, 1, {MASK(0, INT & ~1U, 2)}},   /* questions */

        /* Limits and priorities. Without a PID namespace a process id could be a host process's of the same user. The
         * limit of core files stays 1: with 0 a core pattern that is a pipe would run a host program on the region's
         * memory. */
        {"setrlimit", 0, 1, {MASK(0, INT & ~3U, 0)}},
        {"setrlimit", 0, 1, {IS(0, 5)}},
        {"setrlimit", 0, 1, {MASK(0, INT & ~1U, 6)}},
        {"setrlimit", 0, 1, {MASK(0, INT & ~7U, 8)}},
        {"prlimit64", 0, 1, {ZERO(2)}},
        {"prlimit64", WHEN_NAMESPACES, 1, {MASK(1, INT & ~3U, 0)}},
        {"prlimit64", WHEN_NAMESPACES, 1, {IS(1, 5)}},
        {"prlimit64", WHEN_NAMESPACES, 1, {MASK(1, INT & ~1U, 6)}},
        {"prlimit64", WHEN_NAMESPACES, 1, {MASK(1, INT & ~7U, 8)}},
        {"prlimit64", WHEN_LANDLOCK, 2, {IS(0, 0), MASK(1, INT & ~3U, 0)}},
        {"prlimit64", WHEN_LANDLOCK, 2, {IS(0, 0), IS(1, 5)}},
        {"prlimit64", WHEN_LANDLOCK, 2, {IS(0, 0), MASK(1, INT & ~1U, 6)}},
        {"prlimit64", WHEN_LANDLOCK, 2, {IS(0, 0), MASK(1, INT & ~7U, 8)}},
        {"setpriority", WHEN_NAMESPACES, 0, {}},
        {"ioprio_set", WHEN_NAMESPACES, 0, {}},
        {"sched_setscheduler", 0, 2, {IS(0, 0), MASK(1, INT & ~0x40000000U, SCHED_NORMAL)}},
        {"sched_setscheduler", 0, 2, {IS(0, 0), MASK(1, INT & ~0x40000000U, SCHED_BATCH)}},
        {"sched_setscheduler", 0, 2, {IS(0, 0), MASK(1, INT & ~0x40000000U, SCHED_IDLE)}},
};
const size_t n_filter_rows = ARRAY_SIZE(filter_rows);

/* Newer than libseccomp's table; numbers from 424 on are the same everywhere. */
const FilterNumber filter_numbers[] = {
        {"map_shadow_stack", 453}, {"futex_wake", 454}, {"futex_wait", 455}, {"futex_requeue", 456}, {"mseal", 462},
};
const size_t n_filter_numbers = ARRAY_SIZE(filter_numbers);

bool filter_call_frees(const char *call) {
        static const char *const calls[] = {"munmap", "brk", "madvise", "mmap", "mremap", "execve", "execveat",
                                            "unlink", "unlinkat", "rename", "renameat", "renameat2", "truncate",
                                            "ftruncate", "fallocate", "open", "openat", "creat", NULL};

        return word_index(calls, call) >= 0;
}

const void *filter_find(const void *rows, size_t n, size_t row_bytes, const char *call) {
        for (const char *row = rows; n > 0; row += row_bytes, n--)
                if (strcmp(*(const char *const *)(const void *)row, call) == 0)
                        return row;
        return NULL;
}

static bool filter_row_matches(const FilterRow *r, const uint64_t *args) {
        for (size_t i = 0; i < r->n; i++) {
                uint64_t v = args[r->cmp[i].arg];
                bool yes;

                if (r->cmp[i].op == SCMP_CMP_MASKED_EQ)
                        yes = (v & r->cmp[i].datum_a) == r->cmp[i].datum_b;
                else if (r->cmp[i].op == SCMP_CMP_LT)
                        yes = v < r->cmp[i].datum_a;
                else
                        yes = v == r->cmp[i].datum_a;
                if (!yes)
                        return false;
        }
        return true;
}

bool filter_rows_allow(const char *call, unsigned when, const uint64_t *args) {
        for (size_t i = 0; i < n_filter_rows; i++)
                if ((filter_rows[i].when & ~when) == 0 && strcmp(filter_rows[i].call, call) == 0 &&
                    filter_row_matches(&filter_rows[i], args))
                        return true;
        return false;
}
