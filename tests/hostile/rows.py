"""The attacks: what each is given, how it is shown to work without Lethe, and what Lethe's receipt must say when it is contained."""

from dataclasses import dataclass, field

ROOT, USER = "root", "user"
NAMESPACES, LANDLOCK = "namespaces", "landlock"


@dataclass
class Row:
    name: str               # unique; the program's name too, unless `program` says otherwise
    req: str                # requirement
    args: str = ""          # of the program; {words} are the World's
    opts: str = ""          # of lethe run
    program: str = ""
    outcome: str = "exited"
    exit: int = 1           # with outcome exited: 1 is "contained"; None is any
    limiting: str = None    # limiting_resource, exactly; None: not looked at
    denial: tuple = None    # (operation, object): regular expressions of one denial that must be in the receipt
    denial_tiers: tuple = (NAMESPACES, LANDLOCK)
    tiers: tuple = (NAMESPACES, LANDLOCK)
    who: tuple = (ROOT, USER)
    control: str = "plain"  # how it is seen to succeed without Lethe (run.py: Controls); "" with a reason in `why`
    why: str = ""           # of no control
    control_args: str = ""  # when they differ
    skill: dict = None      # run as a skill with this lethe.json instead of --exec
    log: dict = None        # an event of this kind must be in the region's log, with these fields
    fds: bool = False       # the supervisor is started with descriptors of the host open
    tty: bool = False       # the supervisor is started on a terminal
    check: str = ""         # a further look by run.py
    says: str = ""          # a regular expression that the program's output must hold: the answer's code
    slow: float = 0.0       # seconds that the look waits for, after the run
    landlock: dict = field(default_factory=dict)  # what differs in that tier


def call(name, op, obj="", **kw):
    """One call that must be refused by the filter and be named in the receipt."""
    return Row(name, kw.pop("req", "I-41"), denial=(op, obj), **kw)


HOST = "(/var/tmp/lethe-hostile-.*)"
OPEN = "open(at|at2)?"
NS_ONLY = (NAMESPACES,)

FILES = [
    Row("fs-shadow", "I-41", denial=(OPEN, "/etc/shadow")),
    Row("fs-home", "I-41", "{home}/token", program="fs-read", denial=(OPEN, HOST)),
    Row("fs-same-uid", "I-41", "{secret}", program="fs-read", denial=(OPEN, HOST)),
    Row("fs-same-uid-write", "I-41", "{secret}", program="fs-write", control_args="{base}/scrap", denial=(OPEN, HOST)),
    Row("fs-store-data", "I-18", "{store}/data.mdb", program="fs-read", control="after", denial=(OPEN, HOST)),
    Row("fs-store-key", "I-18", "{store}/key", program="fs-read", control="after", denial=(OPEN, HOST)),
    Row("fs-anchor", "I-18", "{anchor}", program="fs-read", control="after"),
    Row("fs-receipt", "I-18", "{receipt}", program="fs-write", control="", why="fs-same-uid-write shows the same"),
    Row("fs-worker", "I-41", "{worker}", program="fs-write", control_args="{base}/scrap", denial=(OPEN, HOST)),
    Row("fs-create-usr", "I-41", "/usr/local/lib/lethe-hostile-{pid}", program="fs-create", denial=(OPEN, "/usr/local/lib/.*")),
    Row("fs-create-etc", "I-41", "/etc/lethe-hostile-{pid}", program="fs-create"),
    Row("fs-dotdot", "I-41", "{secret}"),
    Row("fs-dotdot-skill", "I-41", "{secret} {skilldir}", program="fs-dotdot", skill={}, control_args="{secret} {host}"),
    Row("fs-link-out", "I-41", "{skilldir}/link-out", program="fs-follow", skill={"link": "{secret}"}, control_args="{base}/link-out",
        outcome="refused", check="skill-link"),
    Row("fs-hardlink", "I-41", "{secret} ./stolen", control_args="{secret} {base}/stolen"),
    Row("fs-chmod-self", "CVE-2019-5736", ""),
    Row("fs-readonly-mount", "I-41", "{secret}", program="fs-write", opts="-v {host}:{host}:ro", control_args="{base}/scrap",
        denial=(OPEN, HOST)),
    Row("fs-handle", "I-41", "{secret}", control_args="{secret} {host}", denial=("open_by_handle_at|name_to_handle_at", "")),
    Row("fs-mknod", "I-41", "./node", control_args="{base}/node"),
    Row("fs-devices", "I-41"),
    Row("fs-masked", "CVE-2025-31133", "/proc/sys/kernel/core_pattern", control="devns", tiers=NS_ONLY),
    Row("fs-root-write", "I-41"),
    Row("fs-mount-link", "CVE-2021-30465", "{out}/under {host} 200", program="fs-plant-link", opts="-v {out}:{out}:rw", exit=0,
        check="mount-link", tiers=NS_ONLY),
    Row("receipt-link", "CVE-2021-30465", "{out}/receipt {secret}", program="fs-plant-link", opts="-v {out}:{out}:rw", exit=0,
        check="receipt-in-out"),
    Row("receipt-fifo", "I-34", "{out}/receipt fifo", program="fs-plant-link", opts="-v {out}:{out}:rw", exit=0, check="receipt-in-out"),
]

PROC = [
    Row("proc-exe-1", "CVE-2019-5736", "/proc/1/exe", program="proc-exe", opts="--proc", control_args="/proc/{pid}/exe", tiers=NS_ONLY),
    Row("proc-exe-self", "CVE-2019-5736", "/proc/self/exe", program="proc-exe", opts="--proc", tiers=NS_ONLY),
    Row("proc-root-1", "I-21", "1 {secret}", program="proc-root", opts="--proc", control_args="{pid} {secret}", tiers=NS_ONLY),
    Row("proc-root-host", "I-21", "{pid} {secret}", program="proc-root"),
    Row("proc-sysctl", "I-41", opts="--proc", tiers=NS_ONLY),
    Row("proc-sysctl-none", "I-41", program="proc-sysctl"),
    Row("proc-mem", "I-21", "{pid} {address}"),
    Row("proc-mem-1", "I-21", "1 {address}", program="proc-mem", opts="--proc", control_args="{pid} {address}", tiers=NS_ONLY),
    Row("proc-environ", "I-10", opts="--proc", tiers=NS_ONLY),
    Row("proc-environ-none", "I-10", program="proc-environ"),
    Row("proc-host", "I-41", opts="--proc", tiers=NS_ONLY),
    Row("env-leak", "I-10", control="env"),
    Row("env-leak-exec", "I-10", "-c export", program="/bin/sh", control="", why="env-leak shows it", exit=0, check="no-canary-in-output"),
]

DESCRIPTORS = [
    Row("fd-inherited", "CVE-2024-21626", fds=True),
    Row("fd-dir", "CVE-2024-21626", "{secret}", fds=True),
    Row("fd-dir-proc", "CVE-2024-21626", "{secret}", program="fd-dir", opts="--proc", fds=True, tiers=NS_ONLY),
    Row("fd-stdout-file", "I-41", control="stdout-file", check="stdout-file"),
    Row("fd-setown", "I-21", "{pid}", program="fd-lock-owner", control="hit"),
    Row("pipe-nonblock", "I-41", control="stdout-file", check="stdout-file"),
    Row("tty-inject", "CVE-2017-5226", opts="--no-tty", control="tty", tty=True),
    Row("tty-inject-own", "A-6", program="tty-inject", control="tty", tty=True),
    Row("tty-linux", "CVE-2023-28100", opts="--no-tty", control="tty", tty=True),
    Row("tty-steal", "CVE-2017-5226", opts="--no-tty", control="tty", tty=True),
    Row("tty-seize", "A-6", control="tty", tty=True, denial=("ioctl", "request 0x540e.*")),
    Row("tty-other", "A-4", opts="--no-tty --terminals", control="tty", tty=True, tiers=NS_ONLY),
    Row("tty-many", "A-4", "100", opts="--terminals --nofile 300", tiers=NS_ONLY),
    Row("tty-fill", "A-4", "100", opts="--terminals --nofile 300", tiers=NS_ONLY),
    Row("tty-late", "A-6", "./late 400", control_args="{base}/late 400", control="late", slow=0.8, check="nothing-late", tty=True, tiers=NS_ONLY),
]

PROCESSES = [
    call("trace-parent", "ptrace", args="{pid}", req="I-21"),
    call("trace-child", "ptrace", req="I-21"),
    call("vm-read", "process_vm_readv", args="{pid} {address}", req="I-21"),
    call("vm-write", "process_vm_writev", args="{pid} {address}", req="I-21"),
    Row("vm-madvise", "I-21", "{pid} {address}"),
    Row("proc-fd", "I-21", "/proc/{pid}/fd/0", program="fs-write"),
    Row("kill-victim", "I-21", "{pid}"),
    Row("kill-scan", "I-21"),
    Row("kill-all", "I-34", control="pidns", tiers=NS_ONLY),
    Row("kill-worker", "I-12", "really", control="shell", outcome="exited|signaled|setup_failed|denied", exit=None, check="not-held"),
    Row("stop-worker", "I-34", "really", opts="--timeout 1s", control="shell", outcome="timed_out|exited"),
    Row("pidfd-steal", "I-21", "{pid} {fd}"),
    Row("sched-realtime", "I-34", ""),
    Row("rlimit-raise", "I-24", control="", why="limits of the control's host are not known to be finite; mutations.py shows it"),
    Row("core-dump", "I-41"),
]

KEYS = [
    call("key-add", "add_key", req="I-3"),
    call("key-search", "keyctl", args="{keyname}", req="I-21"),
    call("key-request", "request_key", args="{keyname}", req="I-21"),
    Row("ipc-shm", "I-21", "{key}"),
    Row("ipc-msg", "I-21", "{key}"),
    Row("ipc-posix-shm", "I-21", "{posix}"),
    Row("ipc-mq", "I-21", "{posix}"),
]

NETWORK = [
    call("net-tcp", "socket", "AF_INET.*", args="{tcp}"),
    call("net-udp", "socket", "AF_INET.*", args="{udp}"),
    call("net-fastopen", "socket", "AF_INET.*", args="{tcp}"),
    call("net-mapped", "socket", "AF_INET6.*", args="{tcp}"),
    call("net-listen", "socket", "AF_INET.*"),
    Row("net-connect-other", "I-41", "{other}", program="net-tcp", opts="--connect 127.0.0.1:{tcp}", denial=("connect", ".*:{other}")),
    Row("net-connect-race", "I-41", "{tcp} {other}", opts="--connect 127.0.0.1:{tcp}", control="plain"),
    Row("net-linger", "I-62", "{silent}", opts="--connect 127.0.0.1:{silent}", denial=("setsockopt", "level 1 option 13")),
    Row("net-connect-fastopen", "I-41", "{other}", program="net-fastopen", opts="--connect 127.0.0.1:{tcp}"),
    Row("net-connect-mapped", "I-41", "{other}", program="net-mapped", opts="--connect 127.0.0.1:{tcp}"),
    Row("net-connect-udp", "I-41", "{udp}", program="net-udp", opts="--connect 127.0.0.1:{tcp}"),
    Row("net-connect-listen", "I-41", program="net-listen", opts="--connect 127.0.0.1:{tcp}"),
    Row("net-connect-abstract", "I-41", "{abstract}", program="net-abstract", opts="--connect 127.0.0.1:{tcp}"),
    Row("net-connect-pair-send", "I-41", "{dgram} {abstract}-dgram", program="net-pair-send", opts="--connect 127.0.0.1:{tcp}"),
    Row("net-abstract", "I-41", "{abstract}"),
    Row("net-unix", "I-41", "{unix}"),
    Row("net-unix-mounted", "I-41", "{unix}", program="net-unix", opts="-v {host}:{host}:ro"),
    Row("net-pair-send", "I-41", "{dgram} {abstract}-dgram"),
    Row("net-pair-send-mounted", "I-41", "{dgram} {abstract}-dgram", program="net-pair-send", opts="-v {host}:{host}:ro"),
    Row("net-loopback-udp", "I-41", "{udp}", program="net-udp", opts="--network loopback", tiers=NS_ONLY),
    Row("net-loopback-tcp", "A-7", "{tcp}", program="net-tcp", opts="--network loopback", tiers=NS_ONLY),
    Row("net-loopback-abstract", "I-41", "{abstract}", program="net-abstract", opts="--network loopback", tiers=NS_ONLY),
    Row("net-loopback-unix", "I-41", "{unix}", program="net-unix", opts="--network loopback", tiers=NS_ONLY),
    Row("net-loopback-pair-send", "I-41", "{dgram} {abstract}-dgram", program="net-pair-send", opts="--network loopback", tiers=NS_ONLY),
    Row("net-loopback-unix-mounted", "A-7", "{unix}", program="net-unix", opts="--network loopback -v {host}:{host}:rw", denial=("connect", HOST), tiers=NS_ONLY),
    Row("net-loopback-pair-send-mounted", "A-7", "{dgram} {abstract}-dgram", program="net-pair-send", opts="--network loopback -v {host}:{host}:ro", tiers=NS_ONLY),
    Row("net-unix-own", "A-7", "{unix} {host}", opts="--network loopback -v {host}:{host}:rw", tiers=NS_ONLY),
    Row("net-unix-race", "A-7", "{unix} {out}", opts="--network loopback -v {host}:{host}:ro -v {out}:{out}:rw", tiers=NS_ONLY),
    Row("net-host-unix-mounted", "A-7", "{unix}", program="net-unix", opts="--network host -v {host}:{host}:rw", denial=("connect", HOST), tiers=NS_ONLY),
    Row("net-host-unix-own", "A-7", "{unix} {host}", program="net-unix-own", opts="--network host -v {host}:{host}:rw", tiers=NS_ONLY),
    Row("net-host-unix-race", "A-7", "{unix} {out}", program="net-unix-race", opts="--network host -v {host}:{host}:ro -v {out}:{out}:rw", tiers=NS_ONLY),
    Row("net-host-listen-abstract", "A-7", "{abstract}", program="net-listen-abstract", opts="--network host", denial=("listen", ".*abstract.*"), tiers=NS_ONLY),
    Row("net-connect-unix-mounted", "A-7", "{unix}", program="net-unix", opts="--connect 127.0.0.1:{tcp} -v {host}:{host}:rw", denial=("connect", HOST), tiers=NS_ONLY),
    Row("net-connect-unix-own", "A-7", "{unix} {host}", program="net-unix-own", opts="--connect 127.0.0.1:{tcp} -v {host}:{host}:rw", tiers=NS_ONLY),
    Row("net-connect-unix-race", "A-7", "{unix} {out}", program="net-unix-race", opts="--connect 127.0.0.1:{tcp} -v {host}:{host}:ro -v {out}:{out}:rw", tiers=NS_ONLY),
    Row("net-connect-listen-abstract", "A-7", "{abstract}", program="net-listen-abstract", opts="--connect 127.0.0.1:{tcp}", denial=("listen", ".*abstract.*"), tiers=NS_ONLY),
    Row("net-host-abstract-alone", "A-7", "{abstract}", program="net-abstract", opts="--network host", tiers=NS_ONLY),
    Row("net-host-abstract", "A-7", "{abstract}", program="net-abstract", opts="--network host -v {host}:{host}:ro", denial=("connect", ".*abstract.*"), tiers=NS_ONLY),
    Row("net-connect-listen-race", "A-7", program="net-listen-race", opts="--connect 127.0.0.1:{tcp}", tiers=NS_ONLY),
    call("net-netlink", "socket", "AF_NETLINK.*"),
    call("net-packet", "socket", "AF_PACKET.*"),
    call("net-raw", "socket", "AF_INET.*"),
    call("net-alg", "socket", "AF_ALG.*"),
    call("net-vsock", "socket", "AF_VSOCK.*"),
]

PRIVILEGES = [
    call("ns-unshare", "unshare"),
    call("ns-clone", "clone"),
    Row("ns-clone3", "I-41"),
    call("ns-setns", "setns", args="{pid}"),
    Row("priv-setuid-exec", "I-41", "{suid}", opts="-v {suid}:{suid}:ro", control="user"),
    Row("priv-setuid", "I-41"),
    Row("priv-caps", "I-41", "bounding", landlock={"args": ""}),
    Row("priv-nnp", "I-41"),
    call("mount-bind", "mount", args="/usr", control="mountns"),
    call("mount-remount", "mount", args="/usr", control="mountns-usr"),
    call("mount-umount", "umount2?", args="/usr", control="mountns-usr"),
    Row("mount-newapi", "I-41", denial=("fsopen|open_tree|mount_setattr|move_mount", "")),
    Row("mount-pivot", "I-41", "{secret}", control="scratch", denial=("pivot_root|chroot", "")),
]

CALLS = [
    call("sys-io-uring", "io_uring_setup"),
    call("sys-bpf", "bpf"),
    call("sys-perf", "perf_event_open"),
    call("sys-userfaultfd", "userfaultfd"),
    call("sys-memfd-secret", "memfd_secret", req="I-29"),
    call("sys-seal", "fcntl", "command 1033", req="I-29"),
    call("sys-merge", "madvise", "advice 12", req="I-29"),
    call("sys-landlock-file", "landlock_add_rule", req="I-29"),
    call("sys-fanotify", "fanotify_init"),
    call("sys-module", "init_module"),
    call("sys-kexec", "kexec_load"),
    call("sys-reboot", "reboot"),
    call("sys-ioperm", "ioperm"),
    call("sys-iopl", "iopl"),
    call("sys-hostname", "sethostname"),
    call("sys-syslog", "syslog"),
    call("sys-swapon", "swapon"),
    call("sys-acct", "acct"),
    call("sys-quotactl", "quotactl"),
    call("sys-kcmp", "kcmp"),
    call("sys-modify-ldt", "modify_ldt"),
    call("sys-chroot", "chroot"),
    call("sys-vhangup", "vhangup"),
    call("sys-personality", "personality"),
    Row("sys-aio", "I-41"),
    Row("sys-vmsplice", "I-29"),
    call("file-attributes", "[lf]?setxattr", req="I-69"),
    Row("sys-clock", "I-41"),
    call("sys-set-mm", "prctl", "option 35|PR_SET_MM"),
    call("sys-dumpable", "prctl", "option 4|PR_SET_DUMPABLE", req="I-29"),
    call("sys-seccomp-listener", "seccomp"),
    Row("abi-int80", "I-41", outcome="denied"),
    Row("abi-x32", "I-41", outcome="denied", control_args="raw"),
    # The same signal of the program's own is no denial, and another one no broken budget.
    *[Row(name, "I-12", f"-c 'kill -{signal} $$'", program="/bin/sh", outcome="signaled", exit=None, control="", why="it wins nothing; a record that says more would be false")
      for name, signal in (("abi-signal", "SYS"), ("file-signal", "XFSZ"))],
]

BUDGETS = [
    Row("bomb-fork", "I-24", "200", opts="--pids-limit 32", outcome="pids_exceeded", limiting="processes"),
    Row("bomb-tree", "I-24", "7", opts="--pids-limit 32", outcome="pids_exceeded", limiting="processes"),
    Row("bomb-thread", "I-24", "200", opts="--pids-limit 32", outcome="pids_exceeded", limiting="processes"),
    Row("mem-touch", "I-24", "200", opts="--memory 64m", outcome="out_of_region", limiting="memory"),
    Row("mem-creep", "I-24", "200", opts="--memory 64m", outcome="out_of_region", limiting="memory"),
    Row("mem-shared", "I-24", "200", opts="--memory 64m", outcome="out_of_region", limiting="memory"),
    Row("mem-shared-held", "I-66", "128 anonymous", opts="--memory 64m", outcome="out_of_region", limiting="memory"),
    Row("mem-shared-zero", "I-66", "128 zero", program="mem-shared-held", opts="--memory 64m", outcome="out_of_region", limiting="memory"),
    Row("mem-shared-multipass", "I-66", "128 anonymous", program="mem-shared-held", opts="--memory 64m --discipline multipass", outcome="out_of_region", limiting="memory"),
    Row("mem-shared-small", "I-66", "128 anonymous 256", program="mem-shared-held", opts="--memory 64m", outcome="out_of_region", limiting="memory"),
    Row("mem-tables", "I-66", "128 stay", opts="--memory 64m", outcome="out_of_region", limiting="memory", control_args="128"),
    Row("mem-stack", "I-24", "200", opts="--memory 64m", outcome="out_of_region|signaled"),
    Row("mem-many", "I-24", "8 24 20000", opts="--memory 64m", outcome="out_of_region", limiting="memory", control_args="8 24"),
    Row("mem-tmpfs", "I-24", "200 .", opts="--memory 64m --scratch 400m --file-size 400m", outcome="out_of_region|scratch_exceeded",
        control_args="200 {base}", tiers=NS_ONLY),
    Row("mem-memfd", "I-24", "200", opts="--memory 64m --file-size 400m", denial=("memfd_create", "")),
    # The kernel's own memory is counted by a memory cgroup only: without one (an ordinary user) lethe-isolation(7) says that it is not.
    # 6 MiB: before there are so many pipes that descriptors run out.
    # At the limit the kernel may refuse the next buffer instead of telling that memory is out, some pages before the limit when the buffer has more than one.
    Row("mem-pipes", "I-24", "60", opts="--memory 6m", outcome="out_of_region|exited", who=(ROOT,)),
    Row("mem-sockets", "I-24", "60", opts="--memory 32m", outcome="out_of_region|exited", who=(ROOT,)),
    Row("mem-pipes-kept", "I-66", "6 stay", program="mem-pipes", opts="--memory 4m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="6"),
    Row("mem-sockets-kept", "I-66", "40 stay", program="mem-sockets", opts="--memory 8m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="40"),
    # Of these only a control group would tell; without one the supervisor counts. They wait until somebody has looked.
    Row("mem-leader", "I-66", "3 40 private 20000", opts="--memory 64m", outcome="out_of_region", limiting="memory", control_args="3 40 private"),
    Row("mem-leader-shared", "I-66", "3 40 shared 20000", program="mem-leader", opts="--memory 64m", outcome="out_of_region", limiting="memory", control_args="3 40 shared"),
    Row("mem-thread-tables", "I-66", "4 30 pipes 5000", opts="--memory 4m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="4 30 pipes"),
    Row("mem-inflight", "I-66", "12 5000", opts="--memory 8m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="12"),
    Row("mem-inflight-behind", "I-66", "12 5000 long", program="mem-inflight", opts="--memory 8m", outcome="out_of_region", limiting="memory", who=(USER,),
        control_args="12 0 long"),
    Row("mem-sent-stream", "I-66", "20 stream 5000", program="mem-sent", opts="--memory 8m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="20 stream"),
    Row("mem-sent-packets", "I-66", "20 packets 5000", program="mem-sent", opts="--memory 8m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="20 packets"),
    Row("mem-sent-urgent", "I-66", "12 urgent 5000", program="mem-sent", opts="--memory 10m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="12 urgent"),
    Row("mem-sent-datagrams", "I-66", "20 datagrams 5000", program="mem-sent", opts="--memory 8m --network loopback", outcome="out_of_region", limiting="memory", who=(USER,),
        tiers=NS_ONLY, control_args="20 datagrams"),
    # An ordinary user has no control group: what closed connections have still to send is named there.
    *[Row("file-unnamed-" + way, "I-24", "96 " + way + " 5000", program="file-unnamed", opts="--memory 256m --scratch 16m", outcome="scratch_exceeded",
          limiting="scratch", tiers=(LANDLOCK,), control_args="96 " + way) for way in ("open", "mapped", "sent")],
    Row("file-reserved", "I-24", "200", opts="--scratch 16m", tiers=(LANDLOCK,), denial=("fallocate", "")),
    Row("mem-tcp-sent", "I-66", "64 {silent} 5000", opts="--memory 16m --connect 127.0.0.1:{silent}", outcome="out_of_region", limiting="memory",
        control_args="64 {silent}"),
    Row("mem-tcp-kept", "I-66", "10 {giver} 5000", opts="--memory 8m --connect 127.0.0.1:{giver}", outcome="out_of_region", limiting="memory",
        control_args="10 {giver}"),
    Row("mem-tcp", "I-66", "64 5000", opts="--memory 16m --network host", outcome="out_of_region", limiting="memory", who=(ROOT,), control_args="64"),
    Row("mem-tcp-loopback", "A-7", "64 5000", program="mem-tcp", opts="--memory 16m --network loopback", outcome="out_of_region", limiting="memory", tiers=NS_ONLY, control_args="64"),
    Row("mem-tcp-backlog", "A-7", "96 5000", opts="--memory 16m --network loopback", outcome="out_of_region", limiting="memory", tiers=NS_ONLY, control_args="96"),
    Row("mem-datagrams", "I-66", "4 200 5000", opts="--memory 16m --network host", outcome="out_of_region", limiting="memory", control_args="1 40"),
    Row("mem-events", "I-66", "8 5000", opts="--memory 8m", outcome="out_of_region|exited", who=(USER,), tiers=NS_ONLY, control_args="8"),
    Row("mem-folios-pipes", "I-66", "16 {out} splice", program="mem-folios", opts="-v {out}:{out}:rw", who=(USER,), denial=("splice", ""), control_args="16 {base} splice"),
    Row("mem-folios-sockets", "I-66", "16 {out} sendfile", program="mem-folios", opts="-v {out}:{out}:rw", who=(USER,), denial=("sendfile", ""),
        control_args="16 {base} sendfile"),
    Row("mem-files", "I-66", "6 3000 5000 files", opts="--memory 4m --nofile 4000", outcome="out_of_region", limiting="memory", who=(USER,), control_args="2 500 0 files"),
    Row("mem-files-tables", "I-66", "40 16000 5000 tables", program="mem-files", opts="--memory 6m --nofile 16384", outcome="out_of_region", limiting="memory", who=(USER,),
        control_args="2 500 0 tables"),
    Row("mem-backlog", "I-66", "120 closed 5000", opts="--memory 24m --network loopback", outcome="out_of_region", limiting="memory", who=(USER,), tiers=NS_ONLY,
        control_args="60 closed"),
    Row("mem-backlog-host", "I-66", "120 closed 5000 ./backlog", program="mem-backlog", opts="--memory 24m --network host", outcome="out_of_region", limiting="memory", who=(USER,), tiers=NS_ONLY,
        control_args="60 closed"),
    Row("mem-backlog-connect", "I-66", "120 closed 5000 ./backlog", program="mem-backlog", opts="--memory 24m --connect 127.0.0.1:{tcp}", outcome="out_of_region", limiting="memory", who=(USER,), tiers=NS_ONLY,
        control_args="60 closed"),
    Row("mem-backlog-open", "I-66", "120 open 300", program="mem-backlog", opts="--memory 24m --network loopback", who=(USER,), tiers=NS_ONLY, control="",
        why="connections of clients that are there hold nothing that does not count with their descriptors"),
    Row("mem-areas", "I-66", "3 12000 5000", opts="--memory 4m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="3 12000"),
    Row("mem-chain", "I-66", "8 1500 5000", opts="--memory 12m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="8 1500"),
    Row("mem-chain-many", "I-66", "40 480 5000", program="mem-chain", opts="--memory 32m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="20 480"),
    Row("mem-chain-orphans", "I-66", "20 1500 5000 orphans", program="mem-chain", opts="--memory 32m", outcome="out_of_region", limiting="memory", who=(USER,),
        control_args="8 480 0 orphans"),
    Row("mem-fifos", "I-66", "4 100 5000", opts="--memory 8m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="1 40"),
    Row("mem-epoll", "I-66", "3 12000 5000", opts="--memory 4m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="3 12000"),
    Row("mem-epoll-numbers", "I-66", "4 12000 5000", opts="--memory 4m", outcome="out_of_region", limiting="memory", who=(USER,), control_args="4 12000"),
    Row("mem-epoll-sent", "I-66", "4 12000 5000 sent", program="mem-epoll-numbers", opts="--memory 4m", outcome="out_of_region", limiting="memory", who=(USER,),
        control_args="4 12000 0 sent"),
    Row("mem-opened-folders", "I-66", "8 200 5000 /usr/bin", program="mem-opened", opts="--memory 16m", outcome="out_of_region", limiting="memory", control_args="8 200 0 /usr/bin"),
    Row("mem-opened-lists", "I-66", "2 60 5000", program="mem-opened", opts="--memory 16m --proc", outcome="out_of_region", limiting="memory", who=(USER,), tiers=NS_ONLY, control_args="2 60"),
    Row("mem-options-keys", "I-66", "keys", program="mem-options", opts="--network host", denial=("setsockopt", "level 6 option 14")),
    Row("mem-options-groups", "I-66", "groups", program="mem-options", opts="--network host", denial=("setsockopt", "level 41 option 20")),
    Row("mem-names", "I-66", "6000 . 5000", opts="--memory 6m --scratch 64m", outcome="out_of_region", limiting="memory", who=(USER,), tiers=NS_ONLY,
        control_args="6000 ."),
    call("mem-landlock", "landlock_add_rule", args="1", req="I-66"),
    # As root the control group counts both. There a failing execve can be all that its limit does.
    Row("mem-exec-args", "I-66", "40 5 20000", opts="--memory 16m", outcome="out_of_region", limiting="memory", control_args="10 5 200", who=(USER,)),
    call("mem-domains", "landlock_restrict_self", args="2 20 0", req="I-66", who=(USER,)),
    Row("cpu-burn", "I-24", "3", opts="--cpu-time 1s", outcome="cpu_exceeded", limiting="cpu"),
    Row("cpu-children", "I-24", "3", opts="--cpu-time 1s", outcome="cpu_exceeded", limiting="cpu"),
    Row("cpu-orphans", "I-24", "3", opts="--cpu-time 1s", outcome="cpu_exceeded", limiting="cpu"),
    Row("out-flood", "I-24", "32 1", opts="--output-limit 1m", outcome="output_exceeded", limiting="output"),
    Row("err-flood", "I-24", "32 2", program="out-flood", opts="--output-limit 1m", outcome="output_exceeded", limiting="output"),
    Row("free-unlink", "I-30", ".", opts="--discipline multipass"),
    Row("scratch-flood", "I-24", "400 .", program="mem-tmpfs", opts="--scratch 8m", outcome="scratch_exceeded", limiting="scratch",
        control_args="80 {base}"),
    # on a slow disk the wall budget comes first
    Row("scratch-inodes", "I-24", "200000 .", opts="--memory 64m --scratch 8m", outcome="scratch_exceeded|out_of_region|exited|timed_out",
        control_args="2000 {base}"),
    Row("file-big", "I-24", "40 ./big", opts="--file-size 4m", outcome="file_size_exceeded", limiting="file_size",
        control_args="40 {base}/big"),
    Row("file-sparse", "I-24", "40 ./big", opts="--file-size 4m", outcome="file_size_exceeded|exited", control_args="40 {base}/big"),
    Row("fd-many", "I-24", "400", opts="--nofile 64", outcome="denied", limiting="open_files"),
    Row("time-ignore", "I-34", "4", opts="--timeout 500ms", outcome="timed_out", limiting="wall"),
    Row("time-stop", "I-34", "4", opts="--timeout 500ms", outcome="timed_out", limiting="wall"),
    Row("daemon-survive", "I-12", "./late 400", control_args="{base}/late 400", control="late", slow=0.8, check="nothing-late"),
    Row("daemon-survive-out", "I-12", "{out}/late 400", program="daemon-survive", opts="-v {out}:{out}:rw", control="late",
        control_args="{base}/late 400", slow=0.8, check="nothing-late"),
    Row("daemon-pipes", "I-34", "600", check="not-held", control="holds"),
    Row("scratch-litter", "I-12", ". 300", outcome="exited|scratch_exceeded", control="", why="its trace is what run.py looks for", check="no-scratch"),
]

# Objects that the kernel counts per user, and those that all users have in common.
OBJECTS = [
    Row("obj-inotify", "I-67", "17"),
    Row("obj-timers", "I-67", "1025"),
    Row("obj-pipe-size", "I-67", "128", denial=("fcntl", "131072 bytes")),
    Row("pipe-shared-size", "I-68", "{fifo}", opts="-v {host}:{host}:ro", denial=("fcntl", "4096 bytes")),
    Row("lock-many", "I-67", "4200 ./locked", opts="--nofile 4400", denial=("flock", "more than 4096 locked ranges"), control_args="500 {base}/locked"),
    Row("lock-flock", "I-68", "/usr/bin/env flock", program="lock-shared", denial=("flock", "/usr/bin/env|.*coreutils.*")),
    Row("lock-record", "I-68", "/usr/bin/env record", program="lock-shared", denial=("fcntl", "/usr/bin/env|.*coreutils.*")),
    Row("lock-own", "I-68", "/usr/bin/env own", program="lock-shared", denial=("fcntl", "/usr/bin/env|.*coreutils.*")),
    Row("lock-test", "I-68", "/usr/bin/env test", program="lock-shared", denial=("fcntl", "/usr/bin/env|.*coreutils.*")),
    Row("lock-device", "I-68", "/dev/null flock", program="lock-shared", denial=("flock", "/dev/null")),
    Row("lock-device-record", "I-68", "/dev/null record", program="lock-shared", denial=("fcntl", "/dev/null")),
    Row("lock-read-only", "I-68", "{host} flock", program="lock-shared", opts="-v {host}:{host}:ro", denial=("flock", HOST)),
    call("cache-drop", "fadvise64", "advice 4", args="/usr/bin/env", req="I-68"),
    call("cache-ask", "preadv2", "flags 0x8", args="/usr/bin/env preadv2", req="I-68"),
    call("cache-ask-stat", "call", "number 451", args="/usr/bin/env cachestat", program="cache-ask", req="I-68"),
    Row("hint-shared", "I-68", "/usr/bin/env", denial=("fcntl", "command 1036")),
    Row("device-times", "I-68", "/dev/null"),
    Row("proc-net", "I-68", "{other}", opts="--proc --connect 127.0.0.1:{tcp}", tiers=NS_ONLY),
    Row("watch-usr", "I-68", "/usr/bin", program="watch-shared", denial=("inotify_(init1|add_watch)", ".*")),
    Row("watch-device", "I-68", "/dev/null", program="watch-shared", denial=("inotify_(init1|add_watch)", ".*")),
    Row("watch-read-only", "I-68", "{host}", program="watch-shared", opts="-v {host}:{host}:ro", denial=("inotify_(init1|add_watch)", ".*")),
]

SLOTS = {"slots": {"notes/a": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False},
                   "notes/b": {"type": "integer"}, "notes/c": {"type": "integer"}},
         "reads": ["notes/a"], "writes": ["notes/a"]}


def line(method, params, ident=1):
    return '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}' % (ident, method, params)


HELLO = line("hello", '{"protocol":1}', 0)


def lie(name, code, *lines, req="I-18", **kw):
    """Lines on the pipe, the last of which must be refused with that code (schema/errors.def)."""
    return Row("pipe-" + name, req, program="pipe-lines", args=list(lines), skill=kw.pop("skill", SLOTS), control="gullible",
               says=f'"code":"({code})"', **kw)


PIPE = [
    lie("not-granted", "not_granted", HELLO, line("slot.write", '{"name":"notes/b","value":1}')),
    lie("not-granted-read", "not_granted", HELLO, line("slot.read", '{"name":"notes/b"}')),
    lie("not-defined", "undefined_slot|not_granted", HELLO, line("slot.write", '{"name":"notes/none","value":1}')),
    lie("name-traversal", "bad_name", HELLO, line("slot.read", '{"name":"../../notes/a"}')),
    lie("name-control", "bad_name|parse|invalid_params", HELLO, line("slot.write", '{"name":"notes/a\\u0000","value":{"n":1}}')),
    lie("schema", "schema", HELLO, line("slot.write", '{"name":"notes/a","value":{"n":"one"}}')),
    lie("schema-extra", "schema", HELLO, line("slot.write", '{"name":"notes/a","value":{"n":1,"admin":true}}')),
    lie("conflict", "conflict", HELLO, line("slot.write", '{"name":"notes/a","value":{"n":1},"expect":7}')),
    lie("dup-keys", "duplicate_key", HELLO, '{"jsonrpc":"2.0","id":1,"method":"slot.write","params":{"name":"notes/b","name":"notes/a","value":{"n":1}}}'),
    lie("dup-value", "duplicate_key", HELLO, '{"jsonrpc":"2.0","id":1,"method":"slot.write","params":{"name":"notes/a","value":{"n":1,"n":2}}}'),
    lie("fake-region", "invalid_params", HELLO, line("slot.write", '{"name":"notes/a","value":{"n":1},"region":"r-00000000000000000000000000"}')),
    lie("fake-operator", "invalid_params", HELLO, line("slot.write", '{"name":"notes/b","value":1,"who":"operator"}')),
    lie("unknown-method", "unknown_method", HELLO, line("slot.define", '{"name":"notes/z","schema":{}}')),
    lie("operator-method", "unknown_method", HELLO, line("region.release", "{}")),
    lie("no-version", "invalid_request", '{"id":1,"method":"slot.read","params":{"name":"notes/a"}}'),
    lie("batch", "batch", HELLO, "[" + line("slot.read", '{"name":"notes/a"}') + "]"),
    lie("before-hello", "not_permitted", line("slot.write", '{"name":"notes/a","value":{"n":1}}')),
    lie("huge-number", "parse|invalid_request|schema", HELLO, line("slot.write", '{"name":"notes/a","value":{"n":1e400}}')),
    lie("huge-id", "parse|invalid_request", '{"jsonrpc":"2.0","id":%s,"method":"hello","params":{"protocol":1}}' % ("9" * 400)),
    lie("bad-utf8", "bad_utf8", HELLO, '{"jsonrpc":"2.0","id":1,"method":"log","params":{"message":"\udcff\udcfe"}}'),
    lie("after-result", "not_permitted", HELLO, line("result", '{"value":1}'), line("slot.write", '{"name":"notes/a","value":{"n":1}}', 2)),
    lie("result-twice", "not_permitted", HELLO, line("result", '{"value":1}'), line("result", '{"value":2}', 2)),
    lie("spoof-answer", "invalid_request", HELLO, '{"jsonrpc":"2.0","id":0,"result":{"granted":true}}'),
    Row("pipe-garbage", "I-18", "50", skill=SLOTS, control="gullible"),
    Row("pipe-garbage-long", "I-18", "3000", program="pipe-garbage", skill=SLOTS, outcome="denied", limiting="pipe", control="",
        why="pipe-garbage shows it"),
    Row("pipe-huge", "I-18", "6", skill=SLOTS, control="gullible"),
    Row("pipe-deep", "I-18", "20000", skill=SLOTS, control="gullible"),
    Row("pipe-flood", "I-34", "300000", opts="--timeout 2s", skill=SLOTS, outcome="timed_out|denied", control="gullible"),
    Row("pipe-close", "I-34", skill=SLOTS, control="", why="nothing is won", check="not-held"),
    Row("pipe-half", "I-18", skill=SLOTS, outcome="signaled", control="", why="nothing is won", check="not-written",
        args=[line("slot.write", '{"name":"notes/a","value":{"n":1}}')[:-1]]),
    Row("pipe-last", "I-24", skill=SLOTS, control="", why="nothing is won", args=[line("slot.write", '{"name":"notes/b","value":1}')],
        check="not-written"),
    Row("pipe-breach", "I-24", skill=SLOTS, opts="--output-limit 20", outcome="output_exceeded", limiting="output", control="gullible",
        args=[HELLO, line("slot.write", '{"name":"notes/a","value":{"n":7}}')], says="all lines were", check="not-written"),
    Row("pipe-eavesdrop", "I-18", skill=SLOTS, control="socket-pipe"),
]

REMAINS = [
    Row("canary-seek", "I-3", "{mark}x", control="canary", check="planted-before"),
]

# A layer of the region's own above a folder of the host. run.py sees that the folder stays as it was.
OVERLAY = "-v {host}:{host}:overlay"
LAYERS = [
    Row("layer-upper", "A-16", "upper .", program="layer-reach", opts=OVERLAY, control_args="upper . plant", tiers=NS_ONLY),
    Row("layer-opaque", "A-16", "attribute {host} opaque", program="layer-reach", opts=OVERLAY, control_args="attribute {base} opaque", tiers=NS_ONLY),
    Row("layer-redirect", "A-16", "attribute {host} redirect", program="layer-reach", opts=OVERLAY, control_args="attribute {base} redirect", tiers=NS_ONLY),
    Row("layer-metacopy", "A-16", "attribute {secret} metacopy", program="layer-reach", opts=OVERLAY, control_args="attribute {base}/scrap metacopy", tiers=NS_ONLY),
    Row("layer-whiteout", "A-16", "whiteout {host}", program="layer-reach", opts=OVERLAY, control_args="whiteout {base}", tiers=NS_ONLY),
    Row("layer-device", "A-16", "{host}/node", program="fs-mknod", opts=OVERLAY, control_args="{base}/node", tiers=NS_ONLY),
    Row("layer-mapped", "A-16", "mapped {secret}", program="layer-reach", opts=OVERLAY, control_args="mapped {base}/scrap", exit=0, tiers=NS_ONLY),
    Row("layer-linked", "A-16", "linked {secret} /work/stolen", program="layer-reach", opts=OVERLAY, control_args="linked {secret} {base}/stolen", tiers=NS_ONLY),
    Row("layer-rights", "A-16", "rights {secret}", program="layer-reach", opts=OVERLAY, control_args="rights {base}/scrap", denial=("f?chmod.*", "mode 0?4755"), tiers=NS_ONLY),
    Row("layer-write", "A-16", "{secret}", program="fs-write", opts=OVERLAY, control_args="{base}/scrap", exit=0, tiers=NS_ONLY),
    Row("layer-moved", "A-16", "redirect /b/shim-root", program="layer-reach", opts="-v {base}/bin:/b:overlay", control_args="redirect {out}", tiers=NS_ONLY),
    Row("layer-umount", "A-16", "{host}", program="mount-umount", opts=OVERLAY, control="", why="mount-umount shows the same", tiers=NS_ONLY),
    Row("layer-handle", "A-16", "{secret} {host}", program="fs-handle", opts=OVERLAY, denial=("open_by_handle_at|name_to_handle_at", ""), tiers=NS_ONLY),
    Row("layer-unix", "A-16", "{unix}", program="net-unix", opts=OVERLAY, tiers=NS_ONLY),
]

ROWS = FILES + LAYERS + PROC + DESCRIPTORS + PROCESSES + KEYS + NETWORK + PRIVILEGES + CALLS + BUDGETS + OBJECTS + PIPE + REMAINS
