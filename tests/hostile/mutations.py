#!/usr/bin/env python3
"""Takes each defence away, once, and sees that an attack notices: a defence whose absence no attack notices is either not needed or not
tested. Works on a copy of the source tree in a temporary folder, so that nothing of it can be shipped. Takes about ten minutes.

    mutations.py [--only TEXT] [--table FILE]       writes the table, e.g. tests/hostile/MUTATIONS.md
    mutations.py --check                            only sees that each defence is where this file says
"""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


@dataclass
class Mutation:
    defence: str
    edits: list      # (file, text, replacement): the text must be there
    attacks: str     # all of them must be noticed as not contained; "early:A,B": ways of tests/isolation/scrub/freer to give memory back
    options: str = "--as root"
    runner: str = "hostile/run.py"  # in tests/; a program of unit tests is without a suffix, and takes no options
    cases: str = ""  # instead of attacks: a file of tests/front/cli, of which `attacks` are cases
    before: str = ""  # cases that these need, and which pass
    program: str = ""  # of the build's tests: what these are given instead of the user


def allow(*calls):
    """These calls join the allow-list."""
    body = "".join(f'        if (e == 0) e = filter_allow(ctx, "{c}", NULL);\n' for c in calls)
    return ("supervisor/isolation/policy/filter.c", "        return e;\n}\n\nstatic int filter_export", body + "        return e;\n}\n\nstatic int filter_export")


def without_hook(*calls):
    """What these calls give back is not overwritten (multipass)."""
    return [("supervisor/isolation/scrub/release_hook/hook.c", f'{{"{c}", ', f'{{"no {c}", ') for c in calls]


def without_limit(name):
    return ("supervisor/isolation/spawn/plan.c", f"        plan_add_limit(p, {name},", f"        if (0) plan_add_limit(p, {name},")


def first_line(path, head, text):
    """The function whose head this is begins with `text`."""
    return (path, head + " {\n", head + " {\n" + text + "\n")


BUDGET, FILTER, LANDLOCK = "supervisor/isolation/region/region-budget-tick.c", "supervisor/isolation/policy/filter.c", "worker/landlock.c"
NO_LANDLOCK = first_line(LANDLOCK, "int step_landlock(Worker *w)", "        return 0;")
NO_NET_NAMESPACE = ("supervisor/isolation/spawn/start.c", "return g->network == NETWORK_PRIVATE ||", "return 0 &&")
NO_TCP_RULE = (LANDLOCK, "if (abi >= 4 && !(w->spec.flags & LAUNCH_NET_HOST))", "if (0)")
NO_SIGNAL_SCOPE = (LANDLOCK, "LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL", "LL_SCOPE_ABSTRACT")
NO_CHANGE_OF_ID = ("worker/identity.c", "if (!(w->spec.flags & LAUNCH_CHANGE_IDS))", "if (1)")

BUDGET_BREACH = "supervisor/isolation/region/region-budget-breach.c"
BUDGET_SOCKETS = "supervisor/isolation/region/region-budget-sockets.c"
BUDGET_EVENT = "supervisor/isolation/region/region-budget-event.c"
BUDGET_SCRATCH = "supervisor/isolation/region/region-budget-scratch.c"
MUTATE, REF, NOTE = "supervisor/state/engine/mutate.c", "supervisor/state/refs/ref.c", "supervisor/front/dispatch/note.c"
WAIT, ATTENUATE = "supervisor/state/engine/wait.c", "supervisor/isolation/policy/attenuate.c"
LESS_BELOW, SAVED = "a sub skill has nothing that the region above has not", "what a skill saves is there for all"
INTERPRET, FOREIGN = "supervisor/state/belief/interpret.c", "supervisor/front/serve/other-user.c"
AGAIN, END, QUEUES, ROUND, SHARED, TRACE = (f"supervisor/isolation/scrub/tracer/{x}.c" for x in ("reuse", "exit-overwrite", "queues", "round", "shared", "trace"))
TEARDOWN = "supervisor/isolation/scrub/teardown.c"
FORGETS = "nothing_of_one_region_is_in_it_when_it_serves_the_next"
FOES = "isolation/scrub/foes.py"
HELD_START, NOT_HELD = "no name and no content that is held holds a start", "the same without a server that holds runs"
SERVES_NOBODY = "an_interpreter_with_a_thread_or_something_shared_serves_nobody"

OBJECT_APPLY, OBJECT_CHILDREN, OBJECT_NEXT = (f"supervisor/state/object/{x}.c" for x in ("memory-apply", "memory-delegation", "select-next"))
OBJECT_ROW, OBJECT_WAKE, OBJECT_STORE = "supervisor/state/record/object-row.c", "state/object/test-object-wake", "state/object/test-object-object"
EXECUTION_TEST = "state/engine/test-engine-execution"
OBJECT_CYCLE, OBJECT_TRANSFER, OBJECT_VERIFY = (f"state/object/test-object-{x}" for x in ("cycle", "transfer", "verify"))
OBJECT_MEMORY, OBJECT_SELECT = "state/object/test-object-memory", "state/object/test-object-select"

INTENT, REFINE, TRIGGER = (f"state/object/test-object-{x}" for x in ("intent", "refine", "trigger"))

MUTATIONS = [
    # --- system calls
    Mutation("filter: keyrings", [allow("add_key", "keyctl", "request_key")], "key-add"),
    Mutation("filter: io_uring", [allow("io_uring_setup")], "sys-io-uring"),
    Mutation("filter: memfd_secret", [allow("memfd_secret")], "sys-memfd-secret"),
    Mutation("filter: memfd_create", [allow("memfd_create")], "mem-memfd"),
    Mutation("filter: seals", [allow("fcntl")], "sys-seal"),
    Mutation("filter: merged memory", [allow("madvise")], "sys-merge"),
    Mutation("filter: rules of a Landlock of its own", [allow("landlock_add_rule")], "sys-landlock-file,mem-landlock"),
    Mutation("filter: a Landlock of its own, without a memory control group", [allow("landlock_restrict_self")], "mem-domains", "--as user"),
    Mutation("arguments of a program that is about to be executed are memory", [("supervisor/isolation/region/region-proc.c", "shared + proc_unmapped_bytes(anon, mapped)", "shared")],
             "mem-exec-args", "--as user"),
    Mutation("filter: no close of a socket waits for the other side", [("supervisor/isolation/policy/filter-args.c", "IS(2, SO_PRIORITY)}", "MASK(2, INT & ~1U, 12)}")], "net-linger"),
    Mutation("filter: nobody throws pages out of the host's cache", [allow("fadvise64")], "cache-drop"),
    Mutation("filter: nobody asks what is in the host's cache", [allow("preadv2", "cachestat")], "cache-ask,cache-ask-stat"),
    Mutation("filter: no hints for writes", [allow("fcntl")], "hint-shared"),
    Mutation("net namespace where connect and /proc were granted", [("supervisor/isolation/spawn/start.c", "(g->network != NETWORK_HOST && g->proc)",
             "(g->network == NETWORK_NONE && g->proc)")], "proc-net"),
    Mutation("filter: userfaultfd", [allow("userfaultfd")], "sys-userfaultfd"),
    Mutation("filter: perf_event_open", [allow("perf_event_open")], "sys-perf"),
    Mutation("filter: ptrace", [allow("ptrace")], "trace-child"),
    Mutation("filter: unshare", [allow("unshare")], "ns-unshare"),
    Mutation("filter: flags of clone", [allow("clone")], "ns-clone"),
    Mutation("filter: clone3 as a whole", [(FILTER, "SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3)", "SCMP_ACT_ALLOW, SCMP_SYS(clone3)")], "ns-clone3"),
    Mutation("filter: personality, modify_ldt, fanotify, vmsplice, kernel AIO",
             [allow("personality", "modify_ldt", "fanotify_init", "vmsplice", "io_setup")],
             "sys-personality,sys-modify-ldt,sys-fanotify,sys-vmsplice,sys-aio"),
    Mutation("filter: prctl's options", [allow("prctl")], "sys-dumpable"),
    Mutation("a signal of the program's own is no denial", [("supervisor/front/invoke/status.c", "return !r->guard.page ||", "return 1 ||")],
             "abi-signal,file-signal"),
    Mutation("filter: foreign ABIs end the region", [(FILTER, "SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS", "SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW")],
             "abi-int80"),
    Mutation("filter: socket families", [allow("socket")], "net-netlink,net-vsock"),
    # --- namespaces and the private root
    Mutation("filter: sockets of the default, network none", [allow("socket", "sendto")], "net-udp"),
    Mutation("network namespace of network private, with sockets allowed", [allow("socket", "sendto"), NO_NET_NAMESPACE],
             "net-private-udp"),
    Mutation("Landlock: TCP, with sockets and the host's network", [allow("socket", "connect"), NO_TCP_RULE,
             NO_NET_NAMESPACE], "net-tcp"),
    Mutation("IPC namespace and filter: System V calls", [allow("shmget", "shmat", "msgget", "msgctl"), ("supervisor/isolation/spawn/start.c", "CLONE_NEWNS | CLONE_NEWIPC |", "CLONE_NEWNS |")], "ipc-shm,ipc-msg"),
    Mutation("PID namespace and Landlock's signal scope",
             [("supervisor/isolation/spawn/start.c", "CLONE_NEWPID | CLONE_NEWNS", "CLONE_NEWNS"), ("worker/program.c", "w->spec.tier == 2 && getppid() != 1", "0"),
              NO_SIGNAL_SCOPE], "kill-scan,kill-victim"),
    Mutation("/proc: only processes (subset=pid)", [("worker/root.c", 'sys_fsconfig(fs, FSCONFIG_SET_STRING, "subset", "pid") == 0 &&', "")], "proc-host"),
    Mutation("root file system and Landlock: read-only", [("worker/root.c", "if (sys_mount_setattr(w->root, 0, &readonly) < 0)", "if (0)"), NO_LANDLOCK],
             "fs-root-write", "--as user"),
    Mutation("binds: read-only, with Landlock's rules", [("worker/bind.c", "attr.attr_set |= MOUNT_ATTR_RDONLY;", ";"),
             ("supervisor/isolation/spawn/bind-mount.c", "MOUNT_ATTR_RDONLY", "0"), NO_LANDLOCK], "fs-readonly-mount", "--as user"),
    Mutation("the first process cannot be looked into", [("worker/init.c", "if (prctl(PR_SET_DUMPABLE, 0) < 0)", "if (0)")], "proc-exe-1", "--as user"),
    # --- privilege, descriptors, environment
    Mutation("capabilities", [first_line("worker/caps.c", "int step_capabilities(Worker *w)", "        return 0;")], "priv-caps"),
    Mutation("no_new_privs (the filter cannot be installed without: nothing starts)",
             [first_line("worker/caps.c", "int step_no_new_privs(Worker *w)", "        return 0;")], "priv-nnp"),
    Mutation("the region's own uid", [NO_CHANGE_OF_ID], "priv-setuid", "--as root --tier landlock"),
    Mutation("descriptors are closed, at the clone and before the exec",
             [("supervisor/isolation/spawn/clone.c", "if (syscall(SYS_close_range, n + 1, ~0U, 0) < 0)", "if (0)"),
              ("worker/program.c", "if (syscall(SYS_close_range, from, ~0U, 0) < 0)", "if (0)")], "fd-inherited"),
    Mutation("descriptors are closed, and Landlock",
             [("supervisor/isolation/spawn/clone.c", "if (syscall(SYS_close_range, n + 1, ~0U, 0) < 0)", "if (0)"),
              ("worker/program.c", "if (syscall(SYS_close_range, from, ~0U, 0) < 0)", "if (0)"), NO_LANDLOCK], "fd-dir"),
    Mutation("environment", [("supervisor/isolation/spawn/clone.c", "static char *const env[] = {NULL};", "char **env = environ;"),
             ("worker/program.c", "execve(name, (char **)w->spec.argv, (char **)w->spec.env)", "execve(name, (char **)w->spec.argv, environ)")],
             "env-leak"),
    # --- what is counted per user, and what all have in common
    Mutation("filter: locks are the supervisor's to make", [allow("flock", "fcntl")], "lock-flock,lock-record,lock-own,lock-test,lock-device,lock-device-record,lock-read-only"),
    Mutation("locks: a file of the region's own", [first_line("supervisor/isolation/region/region-locks.c", "static bool locks_is_own(RegionLocks *l, const LockPlace *p, int fd, const LockFile *f)",
             "        return true;")], "lock-flock,lock-record,lock-own,lock-device"),
    Mutation("locks: on a copy of the descriptor, not by going on", [("supervisor/isolation/region/region-notify.c", "        switch (region_locks_call(",
             "        if (region_locks_call(n->locks, &place, n->req, &error, object) == 0) {\n                region_notify_answer(n, n->req->id, 0, true);\n"
             "                return;\n        }\n        switch (region_locks_call(")], "no thread slips a file of the host under a lock", cases="objects.py"),
    Mutation("locks: so many ranges", [("supervisor/isolation/region/region-locks.c", "        return l->ranges <= LOCK_RANGES_MAX;", "        return true;")],
             "the number of locked ranges is bounded", cases="objects.py"),
    Mutation("filter: watches are the supervisor's to make", [allow("inotify_add_watch")], "watch-usr,watch-device,watch-read-only"),
    Mutation("inotify: a limit of the region's own", [first_line("worker/identity.c", "int step_objects(Worker *w)", "        return 0;")], "obj-inotify"),
    Mutation("each region of root has a user of its own", [("supervisor/isolation/spawn/start.c", "if (!p.root || p.region_id)", "if (1)")],
             "each region of root is a user of its own", cases="objects.py"),
    Mutation("each region of root has a user that nobody else is", [first_line("supervisor/isolation/spawn/uids.c",
             "static int uids_check(const UidRange *r, bool standard, bool *ret_none, Diag *reterr)", "        return 0;")], "the range of ids is the operators", cases="objects.py"),
    Mutation("regions of one template: no more than have room", [("supervisor/isolation/spawn/spawner.c", " || t->users >= s->regions_most", "")],
             "a region of a template has all of its own share", cases="objects.py"),
    Mutation("inotify: none where it cannot be limited", [("supervisor/isolation/spawn/probe.c", "statvfs(\"/proc/sys/user/max_inotify_instances\", &fs) == 0 &&", "statvfs(\"/proc/sys/user\", &fs) == 0 &&"),
             ("supervisor/isolation/spawn/probe.c", "access(\"/proc/sys/user/max_inotify_watches\", F_OK) == 0", "1"), ("worker/identity.c", "the filter allows inotify */\n                return -errno;", "the filter allows inotify */\n                return 0;")],
             "where inotify cannot be limited there is none", cases="objects.py"),
    Mutation("a user that regions share is told", [("supervisor/isolation/spawn/start.c", "!p->region_id ? \"nobody\" : ", "")], "a user that regions share is told", cases="objects.py"),
    Mutation("a region's user owns its namespace", [("schema/become.h", "b->bits = uid ? ", "b->bits = 0 ? ")],
             "each region of root is a user of its own", cases="objects.py"),
    Mutation("timers and queued signals", [without_limit("RLIMIT_SIGPENDING")], "obj-timers", "--as user"),
    Mutation("filter: the size of a pipe", [allow("fcntl")], "obj-pipe-size,pipe-shared-size"),
    Mutation("shared memory: charged when it is made", [first_line(BUDGET, "Breach region_budget_ask_shared(RegionBudget *b, pid_t tid, uint64_t bytes)",
             "        return budget_no_breach;")], "mem-shared-held,mem-shared-zero", "--as user"),
    Mutation("shared memory: what is not listed stays charged", [("supervisor/isolation/region/region-shared.c", "        if (!region_shared_is_full(s) && GROW(", "        if (GROW(")],
             "the_list_of_calls_has_a_bound", runner="isolation/region/test-region-shared"),
    Mutation("filter: shared mappings are notified", [("supervisor/isolation/policy/filter-args.c", "MASK(3, (without) | MAP_SHARED_VALIDATE, MAP_PRIVATE)",
             "MASK(3, (without), 0)")], "mem-shared-small", "--as user"),
    Mutation("what pipes and sockets hold is memory", [(BUDGET_SOCKETS, "queues_update(&b->queues, b->worker, b->guard);", "b->queues.bytes = 0;")], "mem-pipes-kept,mem-sockets-kept", "--as user"),
    Mutation("memory of a process without its first thread", [("supervisor/isolation/region/region-proc.c", "if (f[17] > 1 && f[PROC_VSIZE] == 0", "if (0 && f[PROC_VSIZE] == 0")],
             "mem-leader", "--as user"),
    Mutation("a thread's own table of descriptors is looked at", [first_line("supervisor/isolation/region/region-tables.c", "static bool tables_add(pid_t tid, void *arg)",
             "        if (((Tables *)arg)->n > 0)\n                return false;")], "mem-thread-tables", "--as user"),
    Mutation("sockets that lie in sockets are looked into", [("supervisor/isolation/region/region-queues.c", "lie = pipe ? 0 : proc_field(PROC_PATH(\"self/fdinfo/%d\", fd), \"scm_fds:\", 10);", "lie = 0;")],
             "mem-inflight", "--as user"),
    Mutation("what epolls watch is memory", [("supervisor/isolation/region/region-file-memory.c", "#define OPENS_WATCH 200 ", "#define OPENS_WATCH 0 ")], "mem-epoll", "--as user"),
    Mutation("an epoll watches more than there are descriptors", [("supervisor/isolation/region/region-file-memory.c", "sum += o->lines * OPENS_WATCH;", "sum += o->n * in_table * OPENS_WATCH;")],
             "mem-epoll-numbers", "--as user"),
    Mutation("an epoll that lies in a socket is looked into", [("supervisor/isolation/region/region-queues.c", "if (strcmp(name, QUEUES_EPOLL) == 0)", "if (0)")], "mem-epoll-sent", "--as user"),
    Mutation("locks of flock() are counted", [("supervisor/isolation/region/region-locks.c", "if (!unlocks && !locks_may_add", "if (!unlocks && w.command >= 0 && !locks_may_add")], "lock-many"),
    Mutation("open folders are memory", [("supervisor/isolation/region/region-file-memory.c", "OPENS_FILE + (opens_is_folder(link) ? OPENS_FOLDER : 0)", "OPENS_FILE")], "mem-opened-folders", "--as user"),
    Mutation("open folders are memory (control groups)", [(BUDGET, "                r = budget_look_folders(b);\n", "                ;\n")], "mem-opened-folders"),
    Mutation("text of /proc that was read is memory", [("supervisor/isolation/region/region-file-memory.c", "OPENS_PROC + (strstr(name, \"/fdinfo/\") ? 2 * l->longest : 0)", "OPENS_PROC")],
             "mem-opened-lists", "--as user"),
    Mutation("filter: keys of TCP sockets", [("supervisor/isolation/policy/filter-args.c", "{IS(1, 6), MASK(2, INT & ~1U, 12)}", "{IS(1, 6), MASK(2, INT & ~3U, 12)}")], "mem-options-keys"),
    Mutation("filter: memberships of IPv6", [("supervisor/isolation/policy/filter-args.c", "{IS(1, 41), MASK(2, INT & ~3U, 16)}", "{IS(1, 41), MASK(2, INT & ~7U, 16)}")], "mem-options-groups"),
    Mutation("what closed sockets sent is memory", [("supervisor/isolation/region/region-queues-one.c", "return queues_left_by_closed(fd, p.revents) +", "return")],
             "mem-sent-stream,mem-sent-packets", "--as user"),
    Mutation("a socket's buffer for sending stays as it is", [("supervisor/isolation/policy/filter-args.c", '{"setsockopt", WHEN_MEMORY_CGROUP, 2,', '{"setsockopt", 0, 2,')],
             "mem-sent-stream", "--as user"),
    Mutation("bytes that were read out of band leave memory", [("supervisor/isolation/region/region-queues-one.c", "(2 * (uint64_t)n + 1)", "(uint64_t)n")], "mem-sent-urgent", "--as user"),
    Mutation("datagrams that closed sockets sent are memory", [("supervisor/isolation/region/region-queues.c", "sum = looked && !seen->busy ? sent.length : queues", "sum = looked && !seen->busy ? 0 : queues")], "mem-sent-datagrams",
             "--as user"),
    Mutation("what TCP and UDP sockets hold is memory (control groups of version 1)", [("supervisor/isolation/region/region-budget-tick.c",
             "                r = budget_look_sockets(b, slow);\n", "                ;\n")], "mem-tcp"),
    Mutation("what granted connections hold is memory, without a control group", [("supervisor/isolation/region/region-budget-tick.c",
             "                b->connected_bytes = region_connected_bytes(&b->connected);\n", "")], "mem-tcp-sent", "--as user"),
    Mutation("what granted connections hold is memory, beside a control group", [(BUDGET_SOCKETS,
             "b->cgroup->memory ? region_connected_bytes(&b->connected) + b->datagram_bytes : 0", "b->cgroup->memory ? b->datagram_bytes : 0")], "mem-tcp-sent,mem-tcp-kept"),
    Mutation("datagrams that were begun are memory, beside a control group", [(BUDGET_SOCKETS,
             "                b->datagram_bytes = sockets_datagrams(b);\n", "")], "mem-datagrams"),
    Mutation("processor time counts once, whatever else is looked at", [("supervisor/isolation/region/region-proc.c", "        if (look & PROC_LOOK_CPU) /* a walk", "        if (1) /* a walk")],
             "other_looks_leave_cpu_time", runner="isolation/region/test-region-proc"),
    Mutation("processor time counts once, of a process that one look leaves out", [("supervisor/isolation/region/region-proc.c", " && proc_start_ticks(t->v[i].pid) != t->v[i].start_ticks", "")],
             "other_looks_leave_cpu_time", runner="isolation/region/test-region-proc"),
    Mutation("memory that a vfork shares is no second one", [("supervisor/isolation/region/region-proc.c", "KCMP_VM, 0UL, 0UL) == 0", "KCMP_VM, 0UL, 0UL) == -2")],
             "a_vfork_holds_nothing", runner="isolation/region/test-region-proc"),
    Mutation("memory that many can touch at once is looked at in time (A-61)", [("supervisor/isolation/region/region-budget-tick.c",
             "MIN(b->look_deadline, now + cost + b->watch_usec)", "b->look_deadline")], "who_can_touch_more_than_the_budget_at_once_is_looked_at_in_time", runner="isolation/region/test-region-budget"),
    Mutation("a stack that can grow is looked at in time (A-61)", [("supervisor/isolation/region/region-proc.c", " + proc_stack_bytes(teller);", ";")],
             "who_can_touch_more_than_the_budget_at_once_is_looked_at_in_time", runner="isolation/region/test-region-budget"),
    Mutation("who may have grown is held for a look (A-61)", [("supervisor/isolation/region/region-budget-tick.c", "                if (budget_has_grown(b))\n", "                if (0)\n")],
             "who_may_have_grown_is_held_while_it_is_looked_at", runner="isolation/region/test-region-budget"),
    Mutation("who was held goes on (A-61)", [("supervisor/isolation/region/region-budget-hold.c", "                region_hold_end(&b->hold);\n        } else if", "                ;\n        } else if")],
             "who_may_have_grown_is_held_while_it_is_looked_at", runner="isolation/region/test-region-budget"),
    Mutation("growth of others does not hold a region without end (A-61)", [("supervisor/isolation/region/region-budget-hold.c", "        b->calm_until = now + (", "        b->calm_until = 0 * (")],
             "growth_of_others_holds_a_region_half_of_the_time_at_most", runner="isolation/region/test-region-budget"),
    Mutation("the guard watches by itself (A-61)", [("supervisor/isolation/scrub/tracer/pause.c", "        pause_stand(g);\n", "")],
             "stands_when_the_machine_has_given_out_more", runner="isolation/scrub/test-guard-orders"),
    Mutation("one processor is left to who looks (A-61)", [("supervisor/isolation/scrub/tracer/pause.c", "                CPU_CLR(last, &set);", "                ;")],
             "leaves_one_processor_to_others", runner="isolation/scrub/test-guard-orders"),
    Mutation("the guard's word is a reason to look (A-61)", [("supervisor/isolation/region/region-budget-hold.c", "        b->tick_deadline = 0;\n", "")],
             "who_was_stopped_by_the_guard_is_looked_at", runner="isolation/region/test-region-budget"),
    Mutation("forks between two looks are counted on (A-61)", [("supervisor/isolation/region/region-budget-tick.c", "        budget_forks(b);\n", "")],
             "who_can_touch_more_than_the_budget_at_once_is_looked_at_in_time", runner="isolation/region/test-region-budget"),
    Mutation("files that may be written are counted on (A-61)", [("supervisor/isolation/region/region-budget-hold.c", "(1 + forked) + files + budget_held(b)", "(1 + forked) + 0 * files + budget_held(b)")],
             "who_can_touch_more_than_the_budget_at_once_is_looked_at_in_time", runner="isolation/region/test-region-budget"),
    Mutation("who was stopped before a look stays so (A-61)", [("supervisor/isolation/region/region-budget-hold.c", ' || strchr("tTZX", (char)letter)', "")],
             "who_was_stopped_before_stays_so", runner="isolation/region/test-region-budget"),
    Mutation("who is to stand does (A-61)", [("supervisor/isolation/scrub/tracer/pause.c", "        if (g->stands)\n                return true;\n", "")],
             "stands_until_it_may_walk", runner="isolation/scrub/test-guard-orders"),
    Mutation("who stands goes on (A-61)", [("supervisor/isolation/scrub/tracer/pause.c", "        g->stands = false;\n        pause_let_go_on(g);\n", "        g->stands = false;\n")],
             "stands_until_it_may_walk", runner="isolation/scrub/test-guard-orders"),
    Mutation("a control group that cannot be divided is left as it was (A-60)", [("supervisor/isolation/region/region-cgroup-home.c", "                group_each_listed(leaf, home_move_one_back, (void *)h);\n",
             "                group_write(h->dir, \"cgroup.procs\", \"%d\", (int)getpid());\n")], "who_is_alone_moves_into_a_leaf", runner="isolation/region/test-region-cgroup-home"),
    Mutation("connections that are over are looked for behind descriptors", [(BUDGET_SOCKETS,
             "                region_connected_look(&b->connected, &b->queues, b->worker, b->guard);\n", "                ;\n")], "mem-tcp-kept"),
    Mutation("TCP sockets hold more than others", [(BUDGET_SOCKETS, "sockets_has_tcp(b) ? queues_tcp_most() : queues_each_most()", "queues_each_most()")],
             "sockets_that_can_hold_much_are_looked_into", runner="isolation/region/test-region-budget"),
    Mutation("files without a name are in the scratch (tier landlock)", [(BUDGET_SCRATCH, "                l.bytes += unnamed;\n", "")],
             "file-unnamed-open,file-unnamed-mapped,file-unnamed-sent", "--as user --tier landlock"),
    Mutation("filter: space of the host's disk (tier landlock)", [allow("fallocate")], "file-reserved", "--as user --tier landlock"),
    Mutation("events of inotify are memory", [("supervisor/isolation/region/region-queues.c", "#define QUEUES_EVENT 4 ", "#define QUEUES_EVENT 0 ")], "mem-events", "--as user"),
    Mutation("open files are memory", [("supervisor/isolation/region/region-file-memory.c", "#define OPENS_FILE 256 ", "#define OPENS_FILE 0 ")], "mem-files", "--as user"),
    Mutation("tables of descriptors are memory", [("supervisor/isolation/region/region-queues.c", "#define QUEUES_SLOT 8 ", "#define QUEUES_SLOT 0 ")], "mem-files-tables", "--as user"),
    Mutation("filter: pages of files in pipes and sockets", [allow("splice", "sendfile")], "mem-folios-pipes,mem-folios-sockets", "--as user"),
    Mutation("filter: extended attributes", [allow("setxattr", "lsetxattr", "fsetxattr")], "file-attributes"),
    Mutation("a terminal with tostop stops no supervisor", [("supervisor/front/invoke/run.c", "        signal(SIGTTOU, SIG_IGN);\n", "")],
             "output in the background stops no clock", cases="callers.py"),
    Mutation("a limit for files ends no supervisor", [("supervisor/front/cli/main.c", "        signal(SIGXFSZ, SIG_IGN);", "")], "a limit for files ends no supervisor", cases="callers.py"),
    Mutation("few descriptors are no missing program", [("supervisor/isolation/policy/program.c", " || e == -EMFILE || e == -ENFILE", "")], "few descriptors are told as that",
             cases="callers.py"),
    Mutation("a daemon needs descriptors", [("supervisor/front/serve/main.c", "#define FDS_LEAST 384", "#define FDS_LEAST 3")], "a daemon with few descriptors says so",
             cases="callers.py"),
    Mutation("125 says that nothing ran", [("supervisor/isolation/region/region.c", "OUTCOME_SETUP_FAILED ? 128 + SIGKILL : 125;", "OUTCOME_SETUP_FAILED ? 125 : 125;")],
             "a limit for files ends no supervisor", cases="callers.py"),
    Mutation("areas of address space are memory", [(BUDGET_BREACH, " + b->tree.areas_bytes", "")], "mem-areas,mem-chain", "--as user"),
    Mutation("an area's links to those it was forked from are memory", [("supervisor/isolation/region/region-proc.c", "#define PROC_AREA_LINK_BYTES 64", "#define PROC_AREA_LINK_BYTES 0")],
             "mem-chain", "--as user"),
    Mutation("an area's links count from the first area on", [("supervisor/isolation/region/region-proc.c", "n * each > PROC_AREAS_FREE ? n * each - PROC_AREAS_FREE : 0",
             "n > 1024 ? (n - 1024) * each : 0")], "mem-chain-many", "--as user"),
    Mutation("an orphan's areas have links, too", [("supervisor/isolation/region/region-proc.c", "links += proc_is_older_image(&l->v[i], &l->v[a->first]);", "links += 0 * proc_is_older_image(&l->v[i], &l->v[a->first]);")], "mem-chain-orphans", "--as user"),
    Mutation("pipes with names are memory", [first_line("supervisor/isolation/region/region-queues.c", "static uint64_t queues_named(const char *link, const char *name)",
             "        return 0;")], "mem-fifos", "--as user"),
    Mutation("names of the scratch are memory", [(BUDGET_BREACH, " + b->scratch_names", "")], "mem-names", "--as user"),
    Mutation("a deleted file that a lock was made on is overwritten", [(TEARDOWN, "        teardown_wipe_locked(r, &sum, ret);\n", "")], "locked", "--as root --tier landlock", FOES),
    Mutation("the guard knows that the supervisor has files of the scratch", [("supervisor/front/invoke/watch.c", "                guard_lent(&r->guard);\n", "                ;\n")],
             "supervisor-killed-locked", "--as root --tier landlock", FOES),
    Mutation("a socket is emptied however many empty messages it has", [(QUEUES, "queues_sent_to_own(fd) > 0)) &&", "0)) &&")], "behind-empty-messages", "--as root --tier landlock", FOES),
    Mutation("a stream that has ended is not emptied again and again", [(QUEUES, " && (n > 0 || !stream)", "")], "read-urgent", "--as root --tier landlock", FOES),
    Mutation("a look takes all of a message at once", [(QUEUES, "flags & MSG_PEEK ? LOOK_CHUNKS : 1", "1")], "sent-seen", "--as root --tier landlock", FOES),
    Mutation("what a look does not see is missed, in sockets that lie in sockets, too", [(QUEUES, "        if (n_seen < (before < after ? after : before) && files_any(g))\n", "        if (after > before && files_any(g) && 0)\n")],
             "sent-seen,sent-seen-nested", "--as root --tier landlock", FOES),
    Mutation("sockets for which there is no room are missed", [(QUEUES, "        } else if (files_any(g))\n                files_miss(g, &(struct stat){});\n", "        }\n")],
             "sent-wide", "--as root --tier landlock", FOES),
    Mutation("the guard looks into no socket while the supervisor does", [(QUEUES, "if (!__atomic_load_n(&e->supervisor_looks, __ATOMIC_SEQ_CST))", "if (e)")],
             "supervisor_and_guard_do_not_look_into_a_socket_at_one_time", runner="isolation/scrub/test-guard-tree"),
    Mutation("the supervisor looks into no socket while the guard does", [first_line("supervisor/isolation/spawn/guard.c", "bool guard_look_begin(Guard *g)", "        return true;")],
             "supervisor_and_guard_do_not_look_into_a_socket_at_one_time", runner="isolation/scrub/test-guard-tree"),
    Mutation("the supervisor's look takes all of a message at once", [("supervisor/isolation/region/region-queues-one.c", ".msg_iovlen = QUEUES_PARTS,", ".msg_iovlen = 1,")],
             "mem-inflight-behind", "--as user"),
    Mutation("connections that nobody accepts are memory", [(BUDGET_SOCKETS, "b->waiting_bytes = n * queues_unix_most();", "b->waiting_bytes = 0;")],
             "mem-backlog", "--as user"),
    Mutation("capacity: the host's limits of objects", [("supervisor/front/cli/cmd-capacity.c", "regions = user / each;", "regions = OBJECTS_ANY;")],
             "capacity knows the limits of objects", "--as user", cases="objects.py"),
    Mutation("page tables are memory", [("supervisor/isolation/region/region-proc.c", 'tables = proc_status_kib(text, "\\nVmPTE:");', "tables = 0;")], "mem-tables", "--as user"),
    # --- tier landlock
    Mutation("Landlock: files (tier landlock)", [NO_LANDLOCK], "fs-same-uid,fs-home,fs-store-key,proc-mem", "--as user --tier landlock"),
    Mutation("Landlock: signals (tier landlock)", [NO_SIGNAL_SCOPE], "kill-victim,kill-scan,fd-setown", "--as user --tier landlock"),
    Mutation("filter: mode and owner of files (tier landlock)", [allow("chmod", "chown", "utimensat")], "fs-same-uid-write",
             "--as user --tier landlock"),
    Mutation("filter: sending to an address, with Landlock's socket scope (tier landlock)", [allow("sendto", "sendmsg", "connect", "socketpair"),
             (LANDLOCK, "LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL", "LL_SCOPE_SIGNAL")], "net-pair-send", "--as user --tier landlock"),
    Mutation("all processes are ended (tier landlock)", [first_line("worker/init.c", "static void init_reap_all(void)", "        return;"),
             ("supervisor/isolation/spawn/kill.c", "                clone_each_child(s->pid, kill_tree, NULL);", ""),
             ("supervisor/isolation/spawn/kill.c", "        kill_tree(pid, NULL);\n        clone_reap(pid, REAP_MS);", "")],
             "daemon-survive", "--as user --tier landlock"),
    Mutation("what is given back is notified (multipass)", [(FILTER, ".notify_frees = g->discipline == DISCIPLINE_MULTIPASS", ".notify_frees = 0")],
             "free-unlink"),
    Mutation("what is given back is overwritten (multipass)", [("supervisor/isolation/scrub/release_hook/hook.c", "r->notify.frees = hook_before_call;", "")], "free-unlink"),
    Mutation("multipass: munmap", without_hook("munmap"), "early:munmap,large,protected,shared"),
    Mutation("multipass: madvise", without_hook("madvise"), "early:dontneed,free,shared-remove,file-remove"),
    Mutation("multipass: brk", without_hook("brk"), "early:brk"),
    Mutation("multipass: mmap over something", without_hook("mmap"), "early:fixed"),
    Mutation("multipass: memory that the kernel frees by itself", [("supervisor/isolation/policy/filter-args.c", " | FILTER_MAP_DROPPABLE)", ")")], "early:droppable"),
    Mutation("multipass: mremap", without_hook("mremap"), "early:mremap,mremap-over,mremap-second"),
    Mutation("multipass: execve", without_hook("execve"), "early:exec"),
    Mutation("multipass: unlink and rename", without_hook("unlink", "unlinkat", "rename"),
             "early:file-unlink,file-unlink-open,file-unlink-mapped,file-rename,file-dotdot"),
    Mutation("multipass: truncation", without_hook("truncate", "ftruncate", "openat"), "early:file-truncate,file-ftruncate,file-open,file-tail"),
    Mutation("multipass: private copies of what is cut off are missed",
             [first_line("supervisor/isolation/scrub/release_hook/memory.c", "void hook_count_copies(ReleaseHook *e, const struct stat *file, uint64_t length)", "        return;")],
             "early:copies"),
    Mutation("multipass: holes", without_hook("fallocate"), "early:file-hole"),
    Mutation("multipass: the others stand meanwhile", [("supervisor/isolation/scrub/release_hook/pause.c", "if (step == NOTIFY_LATER && c->kind != HOOK_IMAGE && !e->common && !job_has_other_users(e, everybody))",
             "if (step == NOTIFY_LATER)")],
             "early:threads-write,vfork-free"),
    Mutation("multipass: those who stand do so until the call is through", [("supervisor/isolation/scrub/tracer/pause.c", "task_request(t, PTRACE_INTERRUPT, 0);", ";"),
             ("supervisor/isolation/scrub/tracer/pause.c", "!pause_stands_in_call(t->pid)", "0")], "early:threads-write,vfork-free"),
    # --- the guard: foes are programs in a region, the others speak with a guard alone
    Mutation("guard: memory is overwritten at the exit stop", [(END, "                end_clear_space(g, s, seen, plain);\n", "                ;\n")], "areas,exec,orphans", runner=FOES),
    Mutation("guard: registers", [first_line("supervisor/isolation/scrub/tracer/regs.c", "void regs_clear(Tracer *g, pid_t pid)", "        return;")],
             "general_and_floating_point_are_overwritten", runner="isolation/scrub/test-regs"),
    Mutation("guard: shared memory as an ordinary user", [first_line(SHARED, "static void shared_clear_through_process(Tracer *g, const Area *a)", "        return;")],
             "shared,shared-read-only", "--as user", FOES),
    Mutation("guard: shared memory is left to the last who maps it", [(SHARED, "        if (shared_mapped_elsewhere(g, t, a))\n                return;\n        fd = scan_open_object(t->pid, a);\n"
             "        if (fd < 0)\n                shared_clear", "        fd = scan_open_object(t->pid, a);\n        if (fd < 0)\n                shared_clear")],
             "shared_memory_is_left_to_the_last_process", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: pages that no page table shows", [("supervisor/isolation/scrub/tracer/holes.c", "                r = holes_read(g, i == 0 ? absent : &hidden[i - 1], window, &empty[i], &read[i]);\n", "")],
             "shared_memory_is_left_to_the_last_process", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: the window of a fault is measured", [("supervisor/isolation/scrub/tracer/holes.c", "        known = SCAN_PAGE;\n", "        known = 4 * WINDOW_MAX;\n")],
             "shared_memory_is_left_to_the_last_process", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: pages behind guard pages are no holes", [("supervisor/isolation/scrub/tracer/holes.c", "if (g->scan.guarded)", "if (0)")], "guarded-shared,guarded-shared-early", "--as user", FOES),
    Mutation("guard: unread descriptors in sockets", [first_line("supervisor/isolation/scrub/tracer/queues.c", "static void queues_take_sent(Tracer *g, int taken, bool keeps)",
             "        close(taken);\n        return;")], "sent-stream,sent-packet,sent-nested,sent-child", runner=FOES),
    Mutation("guard: pipes of the host are left alone", [("supervisor/isolation/scrub/tracer/queues.c", "(st->st_dev == g->scratch_dev && files_below_scratch(g, path) > 0)", "1"),
             ("supervisor/isolation/scrub/tracer/queues.c", "                only = only && poll(&p, 1, 0) >= 0 && p.revents & ends[i].gone;\n", "")],
             "fifo-outside", "--as root --tier landlock", FOES),
    Mutation("guard: deleted files outside the scratch are left alone", [(SHARED, "(g->tier == 2 || a->flags & AREA_BELOW)", "1")],
             "deleted-outside", "--as root --tier landlock", FOES),
    Mutation("guard: deleted files", [first_line("supervisor/isolation/scrub/tracer/files.c", "void files_keep_link(Tracer *g, const char *link)", "        return;")],
             "deleted-thread,sent-stream", runner=FOES),
    Mutation("guard: files of a thread's own table", [(TRACE, "        if (!task_other(g, t, trace_same_files) && !(parked && trace_same_files(parked, t)))\n", "        if (parked && 0)\n")],
             "deleted-thread,thread-queue-killed", runner=FOES),
    Mutation("guard: sockets of a thread's own table", [(TRACE, "        queues_look(g, t->pid);\n", ""), (TRACE, "                queues_keep(g, t->pid);\n", "                ;\n"),
             (TRACE, "        files_count(g, t);\n", ""), (TEARDOWN, "        teardown_sum_scratch(r);\n        r->killed", "        r->killed")],
             "thread-queue-killed", runner=FOES),
    Mutation("guard: a socket is taken from its thread, or what lies in it is missed", [(QUEUES, "#define PIDFD_THREAD_ O_EXCL", "#define PIDFD_THREAD_ 0"),
             (QUEUES, "        if (fd < 0) {\n                files_miss(g, &(struct stat){});\n", "        if (fd < 0) {\n")],
             "leader-gone", runner=FOES),
    Mutation("shared objects: what nobody maps any more", [("supervisor/isolation/scrub/evidence.c", "        ret->bytes_unmapped = evidence_unmapped_bytes(r, &ret->guard);\n", "        (void)evidence_unmapped_bytes;\n")],
             "one-page", "--as user", FOES),
    Mutation("filter: threads with a table of descriptors that nobody can look into", [("supervisor/isolation/policy/filter.c", "(in->tables ? WHEN_TABLES : 0)", "WHEN_TABLES")],
             "no_thread_has_a_table_that_cannot_be_looked_into", runner="isolation/spawn/test-filter"),
    Mutation("guard: what was sent out of band", [first_line(QUEUES, "static void queues_read_all_in_line(int fd)", "        return;")], "sent-urgent", runner=FOES),
    Mutation("guard: files in the hands of a call", [(TRACE, "if (held && t->space->closed_by_others && files_ever(g))", "if (0)")], "call", runner=FOES),
    Mutation("guard: a call that waits at a socket", [("supervisor/isolation/scrub/tracer/regs.c", "if (calls[i] == call)", "if (calls[i] == call && call != SYS_write && call != SYS_ppoll)")],
             "call-write,call-poll", runner=FOES),
    Mutation("multipass: what two give back at one moment", [("supervisor/isolation/scrub/release_hook/pause.c", "        everybody |= e->common;\n", "")], "together-munmap,together-advice", runner=FOES),
    Mutation("multipass: shared memory that two give back at one moment", [("supervisor/isolation/scrub/release_hook/memory.c", " ||\n                     (shared && scan_shares((pid_t)q->pid, r->start, r->end, NULL))", "")],
             "together-shared", runner=FOES),
    Mutation("multipass: nobody leaves its exit stop while others give back", [first_line("supervisor/isolation/scrub/tracer/pause.c", "bool pause_keeps(const Tracer *g)", "        return false;")],
             "together-exit", runner=FOES),
    Mutation("guard: in doubt, was anything made in the scratch?", [("supervisor/isolation/scrub/tracer/files.c", "return st.st_ino > g->scratch_files + ++g->scratch_probes;",
             "return g->scratch_probes > 0;")], "call", runner=FOES),
    Mutation("scratch: the sum before the kill", [(TEARDOWN, "        teardown_sum_scratch(r);\n        r->killed", "        r->killed")], "call-killed", runner=FOES),
    Mutation("scratch: the sum at the exit stops", [("supervisor/isolation/scrub/tracer/files.c", "                e->scratch_sum = sum;\n", "                ;\n")],
             "one-page-file", "--as user", FOES),
    Mutation("guard: all stand until they may go (freeze, hold)", [(END, "if (g->scrub || !(g->frozen || (g->hold && s->program)))", "if (1)")],
             "frozen_until_scrub,held_at_its_own_end", runner="isolation/scrub/test-guard-orders"),
    Mutation("guard: only pages that no other process maps", [("supervisor/isolation/scrub/scan.c", "        if (!(entry & ENTRY_EXCLUSIVE))", "        if (scan_is_kernel_area(s, address))")],
             "what_another_process_keeps_is_missed", runner="isolation/scrub/test-guard-orders"),
    Mutation("a skill's region has the copy", [("supervisor/isolation/policy/grant.c", "r = r ?: text_copy(&g.skill_dir, s->copy.path ?: s->dir);", "r = r ?: text_copy(&g.skill_dir, s->dir);"),
                                               ("supervisor/isolation/spawn/start.c", "strcmp(g->skill_dir, g->skill_folder) == 0", "0")],
             "a folder that changes while it runs is no matter", cases="copies.py"),
    Mutation("a program's region has the copy", [("supervisor/isolation/policy/grant.c", "text_copy(&g->program_copy, p->real ? p->copy : NULL)", "text_copy(&g->program_copy, p->host)")],
             "a program that changes while it runs is no matter", cases="copies.py"),
    Mutation("a copy is told by the bytes that were copied", [("supervisor/isolation/manifest/copy.c", "        *b = copied;\n        copied = (Bundle){0};\n        return 0;", "        return 0;")],
             "is_told_by_what_was_copied", runner="isolation/manifest/test-manifest-copy"),
    Mutation("the daemon's heap is overwritten when it is given back", [("supervisor/base/heap.c", "        heap_wipe(p, n);\n        HEAP_LIBC", "        HEAP_LIBC")],
             "when it was answered nothing is left", cases="../serve/heap.py"),
    Mutation("pages that LMDB keeps are overwritten", [("supervisor/base/pages.c", "                        pages_wipe(pages.v[i]);", "                        (void)pages_wipe;")],
             "when it was answered nothing is left", cases="../serve/heap.py"),
    Mutation("lines of clients are overwritten when they were taken", [("supervisor/base/line.c", "        line_forget_taken(r);\n", "        (void)line_forget_taken;\n")],
             "when it was answered nothing is left", cases="../serve/heap.py"),
    Mutation("a copy that was touched is read again", [("supervisor/isolation/manifest/copy.c", "if (!copy_looks_as_made(s, name, &before)) {", "if (0) {")],
             "is_refused_when_it_was_touched", runner="isolation/manifest/test-manifest-copy"),
    Mutation("copies are read again by verify", [first_line("supervisor/isolation/manifest/copy.c", "int copy_check(int fd, const char *path, const char *digest, Diag *reterr)",
             "        return 0;")], "verify reads the copies again", cases="copies.py"),
    Mutation("a callback of a later start has the copy", [("supervisor/front/invoke/callbacks-left.c", ".digest = digest, .gone = true};", ".digest = NULL, .gone = false};")],
             "a skill that was changed meanwhile is called as it ran", cases="callbacks.py"),
    Mutation("guard: who executes is waited for", [(END, "goes = goes && !s->alone && !end_others_execute(g, s);", "goes = goes && !s->alone;")],
             "one that executes keeps no page of another from being overwritten", cases="teardown.py"),
    Mutation("guard: in a round, one that has pages of a few others stays", [(ROUND, "        if (!all)\n                round_stay(g, s);\n        return all;", "        return true;")],
             "what_few_of_many_have", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: in a round, shared memory is looked for", [("supervisor/isolation/scrub/scan.c", "shares = ioctl(fd, PROCMAP_QUERY_, &shared) < 0 ? errno != ENOENT : shared.start < end;", "shares = shared.size == 0;")],
             "what_few_of_many_have", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: in a round, what is open is compared", [("supervisor/isolation/scrub/tracer/queues.c", "!count_only && i < g->n_model_fds", "0")],
             "what_few_of_many_have", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: what is unread when the first process ends", [(END, "bool over = end_all_die(g, s->last) ||", "bool over = g->frozen ||")],
             "what_is_unread_at_the_end_of_a_pid_namespace", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: an order before the exit stops that it comes with", [(TRACE, "                g->take_sent(g);\n        g->evidence->threads++;", "                ;\n        g->evidence->threads++;")],
             "what_is_unread_when_an_order_was_on_its_way", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: one that could not be attached is not waited for", [("supervisor/isolation/spawn/guard.c", "refused = ret->kind == GUARD_ATTACHED && ret->error != 0;", "refused = false;")],
             "is_not_waited_for", runner="isolation/scrub/test-guard-refused"),
    Mutation("guard: a program that has ended is no missing right", [(TRACE, "errno == EPERM && task_is_doomed(g->program)", "false")],
             "says_that_the_program_has_ended", runner="isolation/scrub/test-guard-refused"),
    Mutation("scratch: what it holds beside all names", [("supervisor/isolation/scrub/scratch.c", "used > held ? used - held : 0", "0")],
             "what_has_no_name_is_missed", runner="isolation/scrub/test-wipe"),
    Mutation("warm: a region has nothing open that is its interpreter's", [("worker/warm.c", "|| syscall(SYS_close_range, WORDS_FD + 1, ~0U, 0) < 0", "")],
             "nothing_of_one_is_in_the_other", runner="isolation/spawn/test-warm"),
    Mutation("warm: a template has a control group", [("supervisor/front/serve/main.c", "                if (s->groups) {", "                if (0) {")],
             "it is confined itself,a module of the systems that does harm is kept in", cases="../serve/zygote.py"),
    Mutation("warm: an interpreter with threads is none", [("worker/warm-alone.c", "return st.st_nlink == 3 ? 0 : EBUSY;", "return 0;")],
             SERVES_NOBODY, runner="isolation/spawn/test-warm"),
    Mutation("template: what was granted is not in its view", [("supervisor/isolation/spawn/view.c", "i < p->granted; i++) {\n                LaunchEntry e", "i < of->n_entries; i++) {\n                LaunchEntry e")],
             "nothing_that_was_granted_is_loaded_before_confinement", runner="isolation/spawn/test-warm"),
    Mutation("template: one serves one client", [("supervisor/isolation/spawn/view.c", "owner->client, owner->net_host};", "0, owner->net_host};")],
             "an_interpreter_serves_one_client_and_is_the_systems", runner="isolation/spawn/test-warm"),
    Mutation("between two invocations: an interpreter of each user", [("supervisor/isolation/spawn/view.c", "owner->client, owner->net_host};", "0, owner->net_host};")],
             "skills are there", cases="../serve/between.py"),
    Mutation("between two invocations: copies and shims are read-only", [("worker/bind.c", "attr.attr_set |= MOUNT_ATTR_RDONLY;", ";"),
             ("supervisor/isolation/spawn/bind-mount.c", "MOUNT_ATTR_RDONLY", "0"), NO_LANDLOCK],
             "python: nothing is found by another invocation,c: nothing is found by another invocation", "--as user", cases="../serve/between.py", before="skills are there"),
    Mutation("warm: a library comes from a folder that root alone can write", [("shim/warm/lethe-load.c", "if (dl_iterate_phdr(load_is_elsewhere, folders) != 0)", "if (0)")],
             "a library of a folder that others can write is loaded by nobody ahead", cases="../serve/zygote.py"),
    Mutation("spawner: a spare takes the place of a dead zygote (I-84)", [("supervisor/isolation/spawn/spawner.c", "                if (zygote_look(spare))\n", "                if (0)\n")],
             "one that is killed is replaced and sessions go on", cases="../serve/zygote.py"),
    Mutation("warm: what others can write customises regions alone (I-92)", [("shim/warm/warm.py", "set(there) <= set(trusted) and ", "")],
             "a folder that others can write customises regions alone", cases="../serve/zygote.py"),
    Mutation("warm: what asked for a variable sees the region's", [("shim/warm/warm.py", "self.same and all(environment.get(n) == self.asked.get(n) for n in self.asked.names)", "self.same")],
             "what the system customises is taken once or by one that is executed", cases="../serve/zygote.py"),
    Mutation("warm: an interpreter with another process is none", [("worker/warm-alone.c", "return pid == 1 || pid == getpid() ? 0 : EBUSY;", "return 0;")], SERVES_NOBODY,
             runner="isolation/spawn/test-warm"),
    Mutation("warm: an interpreter with a description that is shared is none", [("worker/warm-alone.c", ": EBADF;", ": 0;")],
             SERVES_NOBODY, runner="isolation/spawn/test-warm"),
    Mutation("warm: an interpreter with a mapping that is shared is none", [("worker/warm-alone.c", "        if (mode[4] != 's')\n", "        if (1)\n")], SERVES_NOBODY,
             runner="isolation/spawn/test-warm"),
    Mutation("warm: an interpreter that raised its limits is none", [("worker/warm-alone.c", "data.rlim_cur > TEMPLATE_DATA_BYTES || ", "")], SERVES_NOBODY, runner="isolation/spawn/test-warm"),
    Mutation("guard: a space is overwritten at the end of its last user", [(TRACE, "        if (t->space->users > 0)\n                trace_on_leave", "        if (0)\n                trace_on_leave"),
             (END, "                if (s->users == 0) {", "                if (1) {")],
             "vfork", runner=FOES),
    Mutation("guard: the last of a dying thread group waits", [(TRACE, "if (how != ENDS_ALONE && !t->space->parked && task_other(g, t, trace_same_group))", "if (0)")],
             "threads-end", runner=FOES),
    Mutation("guard: a thread that took on its leader's pid", [first_line("supervisor/isolation/scrub/tracer/task.c", "unsigned task_forget_ghosts(Tracer *g, const Task *t)", "        return 0;")],
             "thread-exec", runner=FOES),
    Mutation("guard: who executed and was killed before it said so has a memory of its own", [(TRACE, "        if (executes && !again)\n", "        if (0)\n")],
             "killed_before_it_says_that_it_executed", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: a call that held a file is missed", [(TRACE, "        if (held && t->space->closed_by_others && files_ever(g)) {", "        if (0) {")],
             "killed_in_a_call_that_holds_a_file", runner="isolation/scrub/test-guard-tree"),
    Mutation("guard: what was written is read back", [("supervisor/isolation/scrub/wipe.c", "*(wipe_same_page(pages + at, want) ? &count->overwritten : &count->mismatched) += SCAN_PAGE;",
             "count->overwritten += SCAN_PAGE;")], "written-outside", runner=FOES),
    Mutation("a file's pass is forced out once", [("supervisor/isolation/scrub/wipe.c", "                e = wipe_write_extent(x.fd, pattern, x.start, x.end);",
             "                e = wipe_write_extent(x.fd, pattern, x.start, x.end) ?: fdatasync(x.fd);")], "each_pass_of_a_file_is_forced_out_once", runner="isolation/scrub/test-wipe"),
    Mutation("a failed pass of a file is a loss", [("supervisor/isolation/scrub/wipe.c", "                if (failed)\n", "                if (0)\n")],
             "a_failed_pass_is_a_loss_of_the_file", runner="isolation/scrub/test-wipe"),
    Mutation("a user of many groups: fields behind them are read", [("supervisor/base/proc.c", "                                drop = true;", "                                drop = false;")],
             "a_user_of_many_groups", runner="base/test-base-proc"),
    Mutation("guard: frames are compared", [(END, "moved = scan_moved(scan);", "moved = 0;")], "moved_pages_are_missed", runner="isolation/scrub/test-guard-tree"),
    Mutation("no huge pages", [("worker/program.c", "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0 && errno != EINVAL", "0")], "huge-fork", runner=FOES),
    Mutation("guard: what it may not look into does not run", [(TRACE, "        if (scan_allowed(t->pid))", "        if (1)")], "unreadable", "--as user", FOES),
    Mutation("guard: lines of any length in /proc/PID/maps", [("supervisor/isolation/scrub/proc-maps.c", "                if (have == sizeof(text) - 1) {\n", "                if (have == sizeof(text) - 1)\n"
             "                        return -EBADMSG;\n                if (0) {\n")], "long-path", runner=FOES),
    Mutation("guard: between two regions, its stack", [(AGAIN, "        again_forget_stack();\n", "        (void)again_forget_stack;\n")], FORGETS, runner="isolation/scrub/test-guard-again"),
    Mutation("guard: between two regions, what it knew", [(AGAIN, "        explicit_bzero(g, sizeof(*g));\n        *g = (Tracer){.control = was.control, "
             ".evidence = was.evidence, .fd_max = was.fd_max, .pipe_dev = was.pipe_dev,\n                      .regions = was.regions + 1, .take_sent = was.take_sent, .scan = scan};\n", "        g->attached = g->empty = false;\n        g->scan = scan;\n")],
             FORGETS, runner="isolation/scrub/test-guard-again"),
    Mutation("guard: between two regions, its descriptors", [(AGAIN, "syscall(SYS_close_range, GUARD_FD_EVIDENCE, ~0U, 0) < 0", "0")], FORGETS,
             runner="isolation/scrub/test-guard-again"),
    Mutation("guard: between two regions, the evidence", [(AGAIN, "        explicit_bzero(g->evidence, sizeof(*g->evidence));\n", "")], FORGETS,
             runner="isolation/scrub/test-guard-again"),
    Mutation("guard: in doubt it serves no other region", [(AGAIN, "        return odd == 0 && ", "        return ")], "in_doubt_it_serves_no_other",
             runner="isolation/scrub/test-guard-again"),
    Mutation("recovery: one at a time", [("supervisor/state/store/place.c", "        while (fcntl(fd, F_OFD_SETLK, &l) < 0) {\n", "        while (0) {\n")],
             "one at a time finishes what a dead supervisor left", cases="callbacks.py"),
    Mutation("guard: the scratch after the supervisor's death", [first_line("supervisor/isolation/scrub/tracer/orphan.c", "static void orphan_walk(Tracer *g)", "        return;")],
             "supervisor-killed", runner=FOES),
    # --- budgets
    Mutation("memory: control group", [("supervisor/isolation/region/region-cgroup-make.c", 'GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)b->memory_bytes',
             'GROUP_MEMORY_LIMIT, "%llu", 1ULL << 40'), ("supervisor/isolation/region/region-cgroup-make.c", 'GROUP_SWAP_LIMIT, "%llu", (unsigned long long)b->memory_bytes',
             'GROUP_SWAP_LIMIT, "%llu", 1ULL << 40')], "mem-touch,mem-shared,mem-many,mem-pipes"),
    Mutation("memory without a group: refusals, looks and RLIMIT_DATA",
             [without_limit("RLIMIT_DATA"), first_line(BUDGET, "Breach region_budget_ask_memory(RegionBudget *b, pid_t pid, uint64_t bytes)", "        return budget_no_breach;"),
              first_line(BUDGET, "static Breach budget_look_memory(RegionBudget *b, bool closer)", "        return budget_no_breach;"),
              (BUDGET, "!b->cgroup->memory && v + b->lent.memory_bytes > b->grant->budget.memory_bytes", "0")], "mem-touch,mem-creep,mem-many", "--as user"),
    Mutation("memory without a group: looks alone", [first_line(BUDGET, "static Breach budget_look_memory(RegionBudget *b, bool closer)", "        return budget_no_breach;")],
             "mem-many", "--as user"),
    Mutation("processes: control group", [("supervisor/isolation/region/region-cgroup-make.c", 'GROUP_PIDS_MAX, "%llu", (unsigned long long)b->processes',
             'GROUP_PIDS_MAX, "%llu", 10000 + (unsigned long long)b->processes'), without_limit("RLIMIT_NPROC"),
             (BUDGET, "b->tree.tasks + b->lent.processes > max->processes", "0")], "bomb-fork,bomb-thread,bomb-tree"),
    Mutation("processes without a group: refusals, looks and RLIMIT_NPROC",
             [first_line(BUDGET, "Breach region_budget_ask_task(RegionBudget *b)", "        return budget_no_breach;"), without_limit("RLIMIT_NPROC"),
              (BUDGET, "b->tree.tasks + b->lent.processes > max->processes", "0")], "bomb-fork,bomb-thread", "--as user"),
    Mutation("CPU time of the tree", [first_line(BUDGET_BREACH, "Breach budget_look_cpu(RegionBudget *b)", "        return budget_no_breach;")], "cpu-children,cpu-orphans"),
    Mutation("memory: what the kernel refused at the limit is a breach", [(BUDGET_EVENT, "if (!b->full || end == BUDGET_END_WELL ||", "if (1 || end == BUDGET_END_WELL ||")],
             "breach: memory that only system calls touch", cases="budgets.py", program="front/cli/breach"),
    Mutation("memory: no walk through page tables that cannot matter", [(BUDGET, "closer && used + b->lent.memory_bytes <= max &&", "closer &&")],
             "tables_need_no_closer_look", runner="isolation/region/test-region-proc"),
    Mutation("memory: a limit above the region's is not its own", [("supervisor/isolation/region/region-cgroup-count.c", "c->oom_doubt |= group_told(c->oom_above) > 0;", "(void)0;")],
             "a_limit_of_the_group_above_is_not_its_own", runner="isolation/region/test-region-cgroup"),
    Mutation("memory: who was ended from outside is told", [first_line("supervisor/isolation/region/region-cgroup-count.c", "uint64_t region_cgroup_oom_kills(const RegionCgroup *c)", "        return 0;")],
             "memory that is short around it is no breach", cases="outside.py"),
    Mutation("memory: what a breach used is measured", [(BUDGET_EVENT, "                r.used = used + b->reserved;", "                r.used = r.limit + 4096;")],
             "memory of its own budget is one within a group too", cases="outside.py"),
    Mutation("processes: a limit above the region's is not its own", [first_line("supervisor/isolation/region/region-cgroup-count.c", "bool region_cgroup_pids_outside(const RegionCgroup *c, uint64_t limit)", "        return false;")],
             "tasks that are short around it are no breach", cases="outside.py"),
    Mutation("wall time", [(BUDGET, "NEVER : now + b->grant->budget.wall_usec;", "NEVER : NEVER;")], "time-ignore,time-stop"),
    Mutation("a budget without an end is the operator's word", [first_line("supervisor/isolation/policy/merge.c", "static bool merge_may_be_none(const Merge *m, uint64_t said, uint64_t most)",
             "        if (1) return true;")], "none is the operators word", cases="typed.py"),
    Mutation("output", [("supervisor/isolation/region/region-io.c", ".output_max = output_max", ".output_max = output_max << 20")], "out-flood,err-flood"),
    Mutation("scratch: size of its file system and the looks", [first_line(BUDGET_SCRATCH, "Breach budget_look_scratch(RegionBudget *b, FilesLook files)", "        return budget_no_breach;"),
             ("supervisor/isolation/spawn/plan.c", "s->scratch_bytes = (g->budget.scratch_bytes", "s->scratch_bytes = 1000 * (g->budget.scratch_bytes")], "scratch-flood"),
    Mutation("scratch: number of files", [("supervisor/isolation/spawn/plan.c", "s->scratch_inodes = g->budget", "s->scratch_inodes = 1000 * g->budget")],
             "scratch-inodes", "--as user"),
    Mutation("scratch on the host (tier landlock)", [first_line(BUDGET_SCRATCH, "Breach budget_look_scratch(RegionBudget *b, FilesLook files)", "        return budget_no_breach;")],
             "scratch-flood,scratch-inodes", "--as user --tier landlock"),
    Mutation("file size", [without_limit("RLIMIT_FSIZE"), first_line(BUDGET_SCRATCH, "Breach budget_look_scratch(RegionBudget *b, FilesLook files)", "        return budget_no_breach;")],
             "file-big"),
    Mutation("open files", [without_limit("RLIMIT_NOFILE"), (BUDGET, "b->tree.most_fds > max->open_files", "0")], "fd-many"),
    Mutation("core files", [without_limit("RLIMIT_CORE")], "core-dump"),
    # --- the pipe and the one mutation path
    Mutation("permit table", [("schema/methods.def", 'METHOD("slot.write", slot_write, 0, 1, 0)', 'METHOD("slot.write", slot_write, 1, 1, 1)')],
             "pipe-before-hello,pipe-after-result"),
    Mutation("grant of a slot's writing", [("supervisor/state/engine/region.c", "!region_may_write(row, name)", "0")], "pipe-not-granted"),
    Mutation("schema of a slot", [("supervisor/state/engine/slot-check.c", "r = jsonschema_validate(schema, value, reterr);", "r = 0;")], "pipe-schema,pipe-schema-extra"),
    Mutation("duplicate keys", [("supervisor/base/json.c", "JSON_REJECT_DUPLICATES | ", "")], "pipe-dup-keys,pipe-dup-value"),
    Mutation("end after too many bad lines", [("schema/limits.h", "#define PIPE_BAD_LINES_MAX 64 ", "#define PIPE_BAD_LINES_MAX 1000000 ")],
             "pipe-garbage-long"),
    Mutation("a breach commits nothing", [("supervisor/state/engine/end.c", 'keep ? "slot.written" : "slot.discarded"', '"slot.written"')], "pipe-breach"),
    Mutation("a breach commits nothing of memory", [("supervisor/front/invoke/record.c", "dispatch_memory_end(dispatch, t, end.keep && !*discards,", "dispatch_memory_end(dispatch, t, true,")],
             "a breach of any budget leaves nothing,a sub skill has its own end", cases="held.py"),
    Mutation("memory: what is judged is taken back", [("supervisor/front/dispatch/write-buffer.c", "        store_abort(t);\n        if (r < 0)", "        store_commit(t, NULL);\n        if (r < 0)")],
             "a breach of any budget leaves nothing,a supervisor that dies leaves nothing", cases="held.py"),
    # --- keys, sub-skills, callbacks
    Mutation("a key does not leave with a proposal", [("supervisor/front/dispatch/handle.c", "int r = region_keys_in_json(value);", "int r = 0;")],
             "keys do not leave", cases="keys.py"),
    Mutation("a key does not leave with the output of a sub-skill", [("supervisor/front/invoke/end.c", "if (run->pipe.dispatch && run->region.io.out.kept)", "if (0)")],
             "a key does not go with the output", cases="tree.py"),
    Mutation("a sub-skill has nothing that is not above it", [("supervisor/isolation/policy/attenuate.c", "r = r ?: attenuate_network(g, above, row);", ""),
             ("supervisor/isolation/policy/attenuate.c", "r = r ?: attenuate_files(g, above, row);", "")], "a sub skill has no right that the one above has not", cases="tree.py"),
    Mutation("callbacks of a later start have nothing that the region had not", [("supervisor/front/invoke/callbacks-left.c", "?: grant_attenuate(ret, &had, &had.budget, NULL, &d);",
             ";")], "callbacks that a later start runs have no more than the region", cases="tree.py"),
    Mutation("what is lent the lender cannot use", [(BUDGET, "lender->lent.memory_bytes += b->grant->budget.memory_bytes;", ""),
             (BUDGET, "lender->lent.memory_bytes -= b->grant->budget.memory_bytes;", "")], "what is lent the lender cannot use", cases="tree.py"),
    Mutation("the limit of memory stays until all of the region stands",
             [("supervisor/isolation/scrub/teardown.c", "        teardown_kill_now(r);\n}\n\nvoid teardown_go_on", "        teardown_kill_now(r);\n        region_cgroup_unlimit(&r->cgroup);\n}\n\nvoid teardown_go_on")],
             "nothing grows after the breach", cases="tree.py"),
    Mutation("the memory of callbacks is set aside", [(BUDGET, ".lent.memory_bytes = grant_set_aside(g)", ".lent.memory_bytes = 0")],
             "the memory of callbacks is inside the budget", cases="tree.py"),
    Mutation("callbacks within the cancel bound", [("supervisor/front/invoke/callbacks.c", "g.budget.wall_usec = MIN(g.budget.wall_usec, left);", "")],
             "callbacks share the cancel bound", cases="tree.py"),
    Mutation("nothing begins below an end", [("supervisor/front/invoke/sub-skill.c", "if (parent->region.state != REGION_RUNNING)", "if (0)")],
             "nothing begins below a region that has ended", cases="tree.py"),
    Mutation("those below end first", [("supervisor/front/invoke/end.c", "return end_stands(run) && !run_has_below(run);", "return end_stands(run);")],
             "a child does not outlive its parent", cases="tree.py"),
    Mutation("left behind: one look is no wait", [("supervisor/isolation/region/region-proc-blocked.c", "        return now - w->since >= usec;", "        return true;")],
             "one_wait_is_told_from_many", runner="isolation/region/test-region-proc"),
    Mutation("start: a name is looked up by a task of its own", [("supervisor/base/path-lookup.c", "r = how ? timed_open(lookup_open_task, &q, sizeof(q), lookup_left)",
             "r = how ? (int)lookup_open_task(&q)")], HELD_START, cases="starts.py", before=NOT_HELD, program="front/cli/holder"),
    Mutation("start: that task has no descriptors of ours", [("supervisor/base/timed-syscall.c", "        if (a->keep != TIMED_ALL && timed_own_files(", "        if (0 && timed_own_files(")],
             HELD_START, cases="starts.py", before=NOT_HELD, program="front/cli/holder"),
    Mutation("start: what is served is read below a process that ends it", [("supervisor/front/cli/cmd-run.c", "                if (code != RUN_AGAIN)\n                        return code;\n"
             "                lookup_read_local_alone(false);", "                if (code == RUN_AGAIN)\n                        lookup_read_local_alone(false);\n"
             "                return code == RUN_AGAIN ? cmd_run_command(argc, argv) : code;")], HELD_START, cases="starts.py", before=NOT_HELD, program="front/cli/holder"),
    Mutation("start: a worker that mounts is waited for until its time", [("supervisor/front/invoke/watch.c", "        if (source)\n", "        if (0)\n")],
             HELD_START, cases="starts.py", before=NOT_HELD, program="front/cli/holder"),
    Mutation("start: the worker does not ask for what it mounts", [("worker/bind.c", "e == 0 && sys_kind(tree, &st) < 0", "e == 0 && fstat(tree, &st) < 0")],
             "the root of what is granted is mounted unseen", cases="starts.py", program="front/cli/holder"),
    Mutation("start: a daemon reads nothing that is served", [("supervisor/front/serve/main.c", "lookup_read_local_alone(true)", "lookup_read_local_alone(false)")],
             "a daemon is held by no request", cases="starts.py", program="front/cli/holder"),
    Mutation("left behind: the program's own result", [("supervisor/isolation/region/region.c", "r->state == REGION_UNRECORDED && r->left == 0)", "r->state == REGION_UNRECORDED)")],
             "what ended by itself has its own result", cases="waits.py", program="front/cli/holder"),
    Mutation("left behind: the one above has its own", [("supervisor/front/invoke/sub-skill.c", "|| (r->left > 0 && !run->store.failed)) {", ") {")],
             "what is left below leaves the one above its result", cases="waits.py", program="front/cli/holder"),
    Mutation("serve: regions below count as their user's", [("supervisor/front/serve/job.c", "        if (on)\n                fits = job_has_share(", "        if (0)\n                fits = job_has_share(")],
             "regions below count as those of their user", cases="../serve/rights.py", before="skills are there"),
    Mutation("left behind: recorded before the one above is released", [first_line("supervisor/front/recover/recover.c",
             "static int recover_record_left(Store *s, const RegionRow *seen, unsigned tasks, Diag *reterr)", "        return 0;")],
             "what a dead supervisor leaves in the kernel ends after the one above", cases="waits.py", program="front/cli/holder"),
    Mutation("left behind: a breach above is known when those rows are gone", [("supervisor/state/engine/region.c", "                        r = region_note_broke_above(t, row);",
             "                        r = 0;")], "what is left below a breach keeps nothing", cases="waits.py", program="front/cli/holder"),
    Mutation("what another region's guard holds is left alone (tier landlock)", [("supervisor/isolation/spawn/kill.c", " && !kill_is_held_by_another(text, guard)", "")],
             "what stands still is left alone", cases="tree.py"),
    Mutation("nobody waits for who reads standard error", [("supervisor/base/log.c", "        own.holding = true;\n", ""),], "nobody reads what a callback says", cases="tree.py"),
    # --- what is prepared ahead
    Mutation("pool: only for a grant that is the same", [("supervisor/isolation/policy/grant-copy.c", "return memcmp(x, y, m->size) == 0;", "return true;")],
             "only a grant that is the same gets one", cases="../serve/pool.py"),
    Mutation("pool: what gates read is taken off the memory", [("supervisor/front/invoke/begin.c", "json_array_size(run->region.grant->gates) > 0 ? region_budget_limit", "0 ? region_budget_limit")],
             "what gates read is taken off its memory", cases="../serve/pool.py"),
    Mutation("pool: not what sees a file that was replaced", [("supervisor/front/invoke/pool-region.c", " && view_still_is(&r->spawned.view)", "")],
             "what was killed or replaced is nobodys", cases="../serve/pool.py"),
    Mutation("ahead: the bootstrap's descriptors are closed before anything of the skill runs", [("shim/warm/ahead.js", "        fs.closeSync(LIFELINE);\n        fs.closeSync(SPEC);\n", "")],
             "node runs what it is told as one that is executed", cases="../serve/ahead.py"),
    Mutation("ahead: only in the environment that it was started with", [("supervisor/isolation/policy/grant.c", "if (!usual)\n                        return false;", "")],
             "what node cannot be told later is executed", cases="../serve/ahead.py"),
    Mutation("pool: another policy ends what waits", [("supervisor/front/prefork/pool.c", "        p->turn = turn;\n        while (p->n_kinds > 0)\n                pool_drop_kind(p, 0);\n", "")],
             "another policy and time end them", cases="../serve/pool.py"),
    # --- the store's files
    Mutation("redo: what is in the tables is taken out of the file", [("supervisor/state/store/wal.c", "return number > 0 && of_no_use ? wal_wipe(s, 0) : 0;", "return 0 * (number > 0 && of_no_use);")],
             "an_older_data_file_alone,taken_out_soon", runner="state/store/test-store-redo-file"),
    Mutation("anchor: not written before the store was held against it", [("supervisor/state/ledger/anchor.c", "        r = anchor_compare(s, path, &late, reterr);\n",
             "        store_set_anchor(s, strdup(path));\n        r = anchor_compare(s, path, &late, reterr);\n")], "an_older_copy_with_something_left", runner="state/store/test-store-anchor"),
    Mutation("anchor: only what the ledger's key has signed", [("supervisor/state/ledger/anchor.c", "        r = note_open(note, n, store_public_key(s), &anchor, &why);\n", "        r = 0;\n")],
             "one_that_was_changed_is_not_used", runner="state/store/test-store-anchor"),
    Mutation("anchor: of this ledger's tree", [("supervisor/state/ledger/anchor.c", "if (memcmp(&root, &anchor.root, sizeof(root)) != 0) {", "if (0) {")],
             "a_store_behind_its_anchor_is_refused", runner="state/store/test-store-open"),
    # --- the one write path
    Mutation("records: references stay in their scope", [(REF, "if (scope_name && strcmp(scope, scope_name) != 0)", "if (0)")], "refuses_with_a_code",
             runner="state/engine/test-engine-record"),
    Mutation("records: references lead to something", [(MUTATE, "if (r == -ENOENT || (r == 0 && target.state == RECORD_REMOVED))",
             "if (r == -ENOENT)\n                        r = 0;\n                if (0)")], "refuses_with_a_code", runner="state/engine/test-engine-record"),
    Mutation("records: an id is one that its kind has", [(MUTATE, "if (!record_id_valid(m->kind, m->id))", "if (0)")], "refuses_with_a_code",
             runner="state/engine/test-engine-record"),
    Mutation("records: only a state that the operation accepts", [(MUTATE, "if (to == RECORD_NONE)\n", "if (0)\n")], "refuses_with_a_code",
             runner="state/engine/test-engine-record"),
    Mutation("records: what failed to be projected comes first", [(MUTATE, "        r = dead_letter_of(t, key, &seq);\n", "        r = -ENOENT;\n")],
             "an_event_survives_its_projection", runner="state/engine/test-engine-record"),
    Mutation("records: a failed projection leaves its mark", [("supervisor/state/engine/dead-letter.c", " ?: dead_letter_put(t, seq, entry, reason);\n        return r < 0 ? r : 1;",
             ";\n        reason = NULL;\n        return r < 0 || reason ? r : 1;")], "an_event_survives_its_projection", runner="state/engine/test-engine-record"),
    Mutation("records: a failed projection is undone", [("supervisor/state/engine/dead-letter.c", "        r = table_restore(t, &save) ?:", "        table_keep(t, &save);\n        r = 0 ?:")],
             "an_event_survives_its_projection", runner="state/engine/test-engine-record"),
    Mutation("records: no key of a region that lives", [(MUTATE, "for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)\n                r = parts[i]",
             "for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)\n                r = 0 && parts[i]")], "hostile_requests_write_nothing", runner="front/dispatch/test-dispatch-memory"),
    Mutation("records: what others lean on stays", [("supervisor/state/engine/delete.c", "if (holding > 0 && !d->cascade)", "if (0)")],
             "deletion says who depends and leaves a trace", cases="../../state/memory/service.py"),
    Mutation("records: a deletion erases the payloads", [("supervisor/state/engine/delete.c", "                r = engine_erase(t, k, &erased);", "                r = 0;")],
             "what was deleted is nowhere", cases="../../state/memory/service.py"),
    Mutation("compaction: a copy of what is in use alone", [("supervisor/state/store/compact.c", "?: compact_copy_tables(s, to);", "?: (0 ? compact_copy_tables(s, to) : lmdb_to_errno(mdb_env_copyfd2(s->env, fd, 0)));")],
             "what was deleted is nowhere", cases="../../state/memory/service.py"),
    Mutation("compaction: row by row", [("supervisor/state/store/compact.c", "?: compact_copy_tables(s, to);", "?: (0 ? compact_copy_tables(s, to) : lmdb_to_errno(mdb_env_copyfd2(s->env, fd, MDB_CP_COMPACT)));")],
             "words of what was deleted lead to nothing that stays", cases="../../state/memory/service.py"),
    Mutation("digest: nothing without --apply", [("supervisor/front/cli/cmd-digest.c", ".apply = c->a->o.value['Y']", ".apply = true")],
             "nothing changes without apply or approval", cases="../../state/memory/digest.py"),
    Mutation("notes: only with the grant", [(NOTE, "if (!d->grant->notes)", "if (0)")], "who did not ask has neither", cases="notes.py"),
    Mutation("shared belief: only with the grant", [(NOTE, "if (!d->grant->canon)", "if (0)")], "who did not ask has neither", cases="notes.py"),
    Mutation("notes: no key of a region that lives", [("supervisor/state/engine/note.c", "r = keyscan_text(keys, text, n);", "r = 0;")],
             "floods and bad notes are bounded", cases="notes.py"),
    Mutation("notes: no longer than is allowed", [("supervisor/state/engine/note.c", "if (n > NOTE_TEXT_MAX)", "if (0)"), (NOTE, "if (n > NOTE_TEXT_MAX)", "if (0)")],
             "floods and bad notes are bounded", cases="notes.py"),
    Mutation("notes: no longer than is allowed, whoever adds them", [("supervisor/state/engine/note.c", "if (n > NOTE_TEXT_MAX)", "if (0)")], "notes",
             runner="governed/test-governed-bounds"),
    Mutation("notes: so many of a run", [("supervisor/state/engine/note.c", "if (run.notes >= NOTES_MAX)", "if (0)")], "notes", runner="governed/test-governed-bounds"),
    Mutation("records: no more than a body may be", [(MUTATE, "if (r == 0 && *ret_n > MUTATION_BODY_MAX)", "if (0)")], "the_body_of_a_record",
             runner="governed/test-governed-bounds"),
    Mutation("pending: what is stuck is not lost", [(WAIT, "                        r = wait_index_del(t, &w);\n                }\n", "                        r = table_del(t, TABLE_WAIT, "
             "BYTES(&(uint64_t){__builtin_bswap64(w.id)}, 8));\n                        continue;\n                }\n")], "none_is_ever_lost", runner="governed/test-governed-pending"),
    Mutation("pending: what was decided is not lost", [(WAIT, "        w.last = seq;\n        return wait_index_del(t, &w) ?: wait_put(t, &w);",
             "        return wait_index_del(t, &w) ?: table_del(t, TABLE_WAIT, BYTES(&(uint64_t){__builtin_bswap64(w.id)}, 8));")], "none_is_ever_lost",
             runner="governed/test-governed-pending"),
    Mutation("pending: a key that came later stays there", [("supervisor/state/belief/settle.c", ".bucket = b, .by = by}", ".bucket = b, .by = &(Trying){.policy = by->policy, .who = by->who, .region = by->region}}")],
             "holds_the_key_of_a_region_that_came_later", runner="governed/test-governed-pending"),
    Mutation("canon: no row of another scope by its id", [("supervisor/state/belief/note-to-row.c", "if (c.outcome.reason == RESOLVE_NO_CANDIDATE && q->target && !a->pending)", "if (0)")],
             "rows_of_other_scopes", runner="governed/test-governed-outcomes"),
    Mutation("evidence is not lent with a key", [("supervisor/isolation/region/region-handle.c", "if (!s->read_only || p->by == v)", "if (true)")], "evidence is not lent",
             cases="keys.py", before="a sub skill writes into its parents section"),
    Mutation("evidence has a greatest age", [("supervisor/state/engine/start-gate.c", "if (age > most)", "if (false)")], "gates", cases="keys.py",
             before="a sub skill writes into its parents section"),
    Mutation("sub-skill: no slot that is not above", [(ATTENUATE, "keep = above || strv_has(given, names[i]);", "keep = true;")], LESS_BELOW, cases="memory.py", before=SAVED),
    Mutation("sub-skill: no memory that is not above", [(ATTENUATE, "kept = asked & (above | (given ? given->may[a] : 0));", "kept = asked;")], LESS_BELOW, cases="memory.py",
             before=SAVED),
    Mutation("sub-skill: no notes and no belief that are not above", [(ATTENUATE, "if (!*scope || (had && strcmp(had, *scope) == 0))", "if (true)")], LESS_BELOW,
             cases="memory.py", before=SAVED),
    Mutation("sub-skill: no gate on what it may not read", [(ATTENUATE, "if (slot && !strv_has(g->reads, slot))", "if (0)")], "gates_below_another_region",
             runner="isolation/policy/test-policy-grant-below"),
    Mutation("breach: nothing below the region is kept (I-98)", [("supervisor/state/engine/end.c", "if (r == 0 && keep && *broke) {", "if (0) {")],
             "what a callback proposes after a breach is discarded,a sub skill that a breach takes with it keeps nothing,a callback that a later start runs keeps nothing either",
             cases="breached.py"),
    Mutation("commit: after exit code 0 alone (I-78)", [("supervisor/front/invoke/record.c", "return !outcome_is_breach(r->outcome) &&\n               (r->owner_failed ||", "return 0 && (r->owner_failed ||")],
             "success keeps for exit code 0 alone,a cancel is no success,callbacks keep what their region keeps", cases="commits.py"),
    Mutation("commit: not when nobody saw the exit code (I-78)", [("supervisor/state/engine/end.c", ".keep = !broke && !success,", ".keep = !broke,")], "nobody saw how it ended",
             cases="commits.py"),
    Mutation("kill --discard: whoever records the end (I-78)", [("supervisor/state/engine/region-row.c", 'if (json_object_get(row, "discard_asked")) {', "if (0) {")],
             "kill keeps and kill discard does not,kill discard of an orphan,discard over the socket", cases="commits.py"),
    Mutation("callbacks: equal parts of the bound (I-74)", [("supervisor/front/invoke/callbacks.c", "return until > now ? now + (until - now) / n : until;", "return n ? until : now;")],
             "callbacks share the cancel bound", cases="callbacks.py"),
    Mutation("callbacks: a second try (I-74)", [("supervisor/front/invoke/end.c", "return run_release_again(run) ? RUN_RETRY", "return 0 ? RUN_RETRY")],
             "a callback that did not run is tried again once", cases="callbacks.py"),
    Mutation("admission: a declared bound is held to (I-72)", [("supervisor/isolation/policy/admit.c", "if (need <= g->cancel_bound_usec)", "if (1)")],
             "admission: a declared bound that is too short,admission: a bound below another region", cases="ranges.py"),
    Mutation("admission: more threads than a region must need are not counted on (I-72)", [("supervisor/isolation/policy/admit.c", "processes * ADMIT_LARGE)", "UINT64_C(0))")],
             "more_threads_are_not_counted_on", runner="isolation/policy/test-policy-admit"),
    Mutation("admission: one process gives all of it back by itself (I-72)", [("supervisor/isolation/policy/admit.c", "return MAX(pages * large, apart * small + (pages - apart) * large);",
                                                                              "return apart * small + (pages - apart) * large;")],
             "what_a_teardown_is_made_of", runner="isolation/policy/test-policy-admit"),
    Mutation("admission: nothing of the prediction is a time (I-72)", [("supervisor/isolation/policy/admit.c", "uint64_t nsec = ADMIT_FIXED_ENDS * end +", "uint64_t nsec = 2000000 +")],
             "a_machine_twice_as_fast", runner="isolation/policy/test-policy-admit"),
    Mutation("admission: without frames processes of a family end one by one (I-72)", [("supervisor/isolation/policy/admit.c", "rate->one_by_one && processes > 1", "0")],
             "what_a_teardown_is_made_of", runner="isolation/policy/test-policy-admit"),
    Mutation("teardown: the recorded peak is the region's", [("supervisor/isolation/region/region-budget-tick.c", "b->peak_known = b->peak_known || budget_take_peak(b);", "b->peak_known = false;")],
             "the_peak_is_that_of_the_region_alone", runner="isolation/region/test-region-cgroup"),
    Mutation("admission: pages mapped by many processes are counted (I-72)", [("supervisor/isolation/region/region-budget-tick.c", "if (processes < 2 || g->mapping_nsec == 0)", "if (processes < 2 || g->mapping_nsec > 0)")],
             "admission: pages that fork has in common", cases="ranges.py"),
    Mutation("admission: the numbers of a run are those of validate (I-72)", [("supervisor/front/request/resolve-request.c", "(a->skill || rate_is_needed(g))", "rate_is_needed(g)")],
             "admission: the same in both", cases="ranges.py"),
    Mutation("admission: regions side by side below another (I-72)", [("supervisor/front/invoke/sub-skill.c", "e = e ?: fits_above(parent, g, &rate, &d);", "(void)fits_above;")],
             "admission: regions side by side below another", cases="ranges.py"),
    Mutation("admission: who measures for lethe ends with it (I-72)", [("supervisor/front/request/rate.c", "prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||", "")],
             "admission: a measurement that is cut short", cases="ranges.py"),
    Mutation("heap: a page in a larger block is forgotten", [("supervisor/base/pages.c", "if (usable < PAGES_BYTES + PAGES_TAIL)", "if (usable < PAGES_BYTES + PAGES_TAIL || usable > PAGES_BYTES + 2 * PAGES_TAIL)")],
             "a_page_in_a_larger_block_is_forgotten_when_it_is_freed", runner="base/test-base-heap"),
    Mutation("heap: a page that realloc cuts is no page", [("supervisor/base/heap.c", "                pages_forget(p, had);\n", "")],
             "a_page_that_realloc_keeps_in_place_is_no_page", runner="base/test-base-heap"),
    Mutation("programs: a copy of what regions may write as root", [("supervisor/isolation/policy/program.c", "        return path_is_shared(host) && path_only_root_writes(host);",
                                                                     "        return path_only_root_writes(host);"),
                                                                    ("supervisor/isolation/policy/program.c", "if (p->granted || !program_stays(p->host))", "if (!program_stays(p->host))")],
             "nor can one in a folder of roots that a region may write", cases="typed.py"),
    Mutation("guard: its session goes before others (I-72)", [("supervisor/isolation/scrub/tracer/main.c", "                main_raise_session();", "                ;")],
             "a guard goes before other sessions", cases="teardown.py"),
    Mutation("policy: floors raise (I-73)", [("supervisor/isolation/policy/merge-bounds.c", "if (!b.has_floor || v >= b.floor)", "if (1)")],
             "discipline: a floor above the default,lineage: stats is raised,commit: success is wanted", cases="ranges.py"),
    Mutation("policy: ceilings refuse (I-73)", [("supervisor/isolation/policy/merge-bounds.c", "if (b.has_ceiling && v > b.ceiling) {", "if (0) {")],
             "discipline: a ceiling below what is asked,callbacks: callbacks are refused,cancel bound: a bound that is too long", cases="ranges.py"),
    Mutation("memory: who ends a record may save it (I-98)", [("supervisor/front/dispatch/memory.c", "if (json_text_is(role, REF_ROLE_SUPERSEDES) &&", "if (0 &&")],
             "a reference that ends a record needs its family", cases="breached.py"),
    Mutation("places: nothing below a system folder", [("supervisor/isolation/manifest/names.c", "if (path_is_under(target, system_folders[i]) && !own)", "if (0)"),
             ("supervisor/isolation/policy/place.c", "int r = !f->mask && path_is_system(f->target) ? place_check_system(f, reterr) : 0;", "int r = 0;")],
             "a place below a system folder is refused", cases="places.py"),
    Mutation("places: there only what root alone can write", [("supervisor/isolation/policy/place.c", "r = owner_check(f->target, OWNER_ROOT_ALONE, &d);", "r = 0;")],
             "only what root alone can write has its own place there", cases="places.py"),
    Mutation("places: the program is mounted last", [("supervisor/isolation/spawn/plan.c", "        if (g->program && (in->tier == TIER_NAMESPACES", "        if (0 && (in->tier == TIER_NAMESPACES")],
             "what ran is what was hashed or the record says that it may differ", cases="typed.py"),
    Mutation("links that others can change are told in the record", [("supervisor/isolation/policy/path-resolution.c", "w->settled = path_walk_only_root(host, path_is_shared(host), &st);", ";"),
                                                                     ("supervisor/isolation/policy/path-resolution.c", "w->settled = w->settled && !f->write && path_only_root_writes(f->source);", ";")],
             "what ran is what was hashed or the record says that it may differ", cases="typed.py"),
    Mutation("places: what is Lethe's own is hidden", [("supervisor/isolation/policy/hide.c", "        mask.target = place;\n        return place_add(g, &mask);", "        return 0;")],
             "no volume shows what is lethes own,registered skills are hidden", cases="places.py"),
    Mutation("places: by whatever mount", [("supervisor/front/request/secrets.c", "        if (l->aliases)\n", "        if (0)\n")], "nor by another mount of the same folder", cases="places.py"),
    Mutation("places: folders above what is hidden stay", [("supervisor/isolation/policy/place.c", "if (above && above->write) {", "if (0) {")],
             "what hides it cannot be moved aside,nor by renaming what is above it", cases="places.py"),
    Mutation("places: what appears later", [("supervisor/isolation/policy/hide.c", "if (h->absent && !f->write && !h->secret)", "if (h->absent)")],
             "what appears later is not shown either", cases="places.py"),
    Mutation("store: its files have one name", [("supervisor/state/store/open.c", "else if (S_ISREG(st.st_mode) && st.st_nlink > 1)", "else if (0)")],
             "a key that has another name is refused,what has another name is not shown by it", cases="places.py"),
    Mutation("policy and anchor: shown by no other name", [("supervisor/front/request/secrets.c", "!S_ISREG(st.st_mode) || st.st_nlink < 2)", "1)")],
             "what has another name is not shown by it", cases="places.py"),
    Mutation("region: no better standing than usual", [first_line("worker/identity.c", "int step_priority(Worker *w)", "        return 0;")],
             "a region has no better standing than usual,addresses are random whatever the caller has,nor does a daemon pass its own on", cases="callers.py"),
    Mutation("region: the first that the kernel takes when memory is short", [first_line("worker/identity.c", "int step_oom(Worker *w)", "        return 0;")],
             "a region is the first that the kernel takes when memory is short", cases="callers.py"),
    Mutation("connect to a daemon: within two seconds", [("supervisor/front/request/paths.c", "{.tv_sec = CONNECT_SEC}", "{0}")], "a socket that takes nobody holds nobody",
             cases="callers.py"),
    Mutation("output: no more than a terminal takes", [("supervisor/isolation/region/region-io.c", "isatty(r->to) ? 1 : MIN", "MIN")],
             "a terminal that is stopped keeps no region past its budget", "--as user", cases="callers.py"),
    Mutation("messages: nothing that a terminal obeys", [("supervisor/front/cli/cli.c", 'diag_print(stderr, text ?: strerror(ENOMEM));', 'fputs(text ?: "", stderr);')],
             "messages hold nothing that a terminal obeys", cases="callers.py"),
    Mutation("daemon: the stack of its loop", [("supervisor/front/serve/main.c", "        job_wipe_near();", "        ;")], "nor of what was refused", cases="../serve/heap.py"),
    Mutation("owner: not as a user's server says", [first_line("supervisor/base/owner.c", "uid_t owner_server(const char *path, const struct stat *st)", "        return 0;")],
             "what a users server says of owners is not believed", cases="waits.py", program="front/cli/holder"),
    Mutation("tier landlock: what only a mount takes away", [("supervisor/isolation/spawn/plan.c", "return plan_check_landlock(g, reterr);", "return 0;")],
             "where nothing can be hidden the run is refused", cases="places.py"),
    Mutation("sub-skill: no more at any path", [("supervisor/isolation/policy/place.c", "if (f->mask || length < longest ||", "if (f->mask || (length < longest && right == 2) ||"),
             ("supervisor/isolation/policy/attenuate.c", "                r = attenuate_parts(g, &g->files[i], above, own);", "                r = 0;")],
             "a sub skill has no more at any path,what the region does not see its sub skills do not,nor do those further below", cases="places.py"),
    Mutation("owner: nobody else writes a policy", [("supervisor/isolation/policy/policy.c", "r = owner_check(path, geteuid(), &other);", "r = 0;")],
             "a policy that others can write is refused", cases="owners.py"),
    Mutation("owner: nobody else writes a store", [("supervisor/state/store/open.c", "int r = owner_check(s->dir, geteuid(), &other);", "int r = 1 ? 0 : owner_check(s->dir, geteuid(), &other);"),
             ("supervisor/state/store/open.c", "if (!owner_alone(&st, geteuid()))", "if (0)")], "a store that others can write is refused", cases="owners.py"),
    Mutation("owner: nobody else writes a skill", [("supervisor/isolation/manifest/skill.c", "if (r > 0 || s->bundle.others)", "if (0)")],
             "a skill that others can write is refused", cases="owners.py"),
    Mutation("owner: folders above count", [("supervisor/base/owner.c", "                r = owner_judge(w, &st, last);", "                r = last ? owner_judge(w, &st, last) : 0;")],
             "a policy that others can write is refused,a sticky folder above is no others", cases="owners.py"),
    Mutation("owner: nobody else writes an anchor", [("supervisor/state/ledger/anchor.c", "r = store_mode(s) == STORE_READ ? 0 : owner_check(path, geteuid(), &other);",
             "r = 0 ? owner_check(path, geteuid(), &other) : 0;")], "an anchor that others can write is refused", cases="owners.py"),
    Mutation("verify: runs and their notes", [("supervisor/state/audit/state.c", "return r > 0 ? state_note(", "return r > 0 ? 0 : 0 ? state_note(")], "runs_and_their_notes",
             runner="governed/test-governed-verify"),
    Mutation("canon: a tool's output ends nothing", [(INTERPRET, "if (role == CUE_TOOL_RESULT && ", "if (0 && ")], "from_a_tool", runner="state/belief/test-interpret"),
    Mutation("canon: no cue is rejected", [("supervisor/state/belief/cues.c", '"reject", "rationale", CUE_NO_CUE', '"accept", "rationale", CUE_NO_CUE')], "no_cue",
             runner="state/belief/test-cues"),
    Mutation("canon: what does not answer is not asked again", [(INTERPRET, "                if (!interpret_can_repair(r))\n                        break;\n", "")],
             "repair_and_fallback", runner="state/belief/test-interpret"),
    Mutation("canon: a failed advisor is told", [(INTERPRET, "        i->degraded = true;\n", "")], "repair_and_fallback", runner="state/belief/test-interpret"),
    Mutation("canon: no cue is no answer of a failed advisor", [(INTERPRET, "if (r == 0 && i->degraded && !i->request.accept)", "if (0)")], "no_cue_when_degraded",
             runner="state/belief/test-interpret"),
    Mutation("canon: tau", [("supervisor/state/engine/resolve.c", "return best + EXACTNESS >= tau && ", "return ")], "the_best_one_is_bound_only_when_it_is_clear", runner="state/engine/test-engine-resolve"),
    Mutation("canon: delta", [("supervisor/state/engine/resolve.c", " && best - second + EXACTNESS >= delta;", ";")], "the_best_one_is_bound_only_when_it_is_clear", runner="state/engine/test-engine-resolve"),
    Mutation("canon: no key is queued", [("supervisor/state/belief/interpret.c", "        if (r > 0) /* the answer is neither stored nor quoted */", "        if (0)")], "key", runner="state/belief/test-interpret"),
    Mutation("canon: no control characters", [("supervisor/state/belief/request.c", "return clean_check(field, text, n, one_line, reterr) ? BELIEF_E_CONTROL : 0;", "return 0;")],
             "refused", runner="state/belief/test-request"),
    Mutation("canon: an id is one of this scope", [("supervisor/state/belief/request.c", "if (!record_id_valid(kind, s)) {", "if (0) {")], "refused", runner="state/belief/test-request"),
    Mutation("canon: nothing is tried without end", [("supervisor/state/engine/wait.c", "if (++w.attempts >= WAIT_ATTEMPTS_MAX && w.state == WAIT_OPEN)", "if (0)")],
             "stuck_after_20_attempts", runner="governed/test-governed-pending"),
    Mutation("verify: each table beside the fold of the ledger", [("supervisor/state/audit/state.c", "if (r == 0 && f.how)", "if (0)")], "projections",
             runner="governed/test-governed-verify"),
    Mutation("rebuild: what differs is put in order", [("supervisor/state/engine/fold.c", 'fold_note_difference(ret, table, c < 0 ? a.k : b.k', 'if (0) fold_note_difference(ret, table, c < 0 ? a.k : b.k')],
             "finds_and_mends_each_damage", runner="state/engine/test-engine-fold"),
    Mutation("serve: whom the policy does not name", [("supervisor/front/serve/server.c", "else if (peer_is_foreign(&cred) && !policy_client(s->policy->policy, cred.uid, NULL))",
             "else if (0)"), (FOREIGN, "if (!policy_client(c->server->policy->policy, c->peer->uid, NULL))", "if (0)")],
             "without policy nobody else is served", cases="../serve/clients.py"),
    Mutation("serve: what the policy does not name", [(FOREIGN, "if (policy_client(policy, uid, skill))", "if (1)")],
             "who is named may have what is named run", cases="../serve/clients.py", before="skills are there"),
    Mutation("serve: only what is a client's own", [(FOREIGN, "return !c->peer->foreign || c->peer == j->peer;", "return true;")], "nobody reaches anothers region",
             cases="../serve/clients.py", before="skills are there"),
    Mutation("serve: a client's uid", [(FOREIGN, "return p->uid == cred->uid && ", "return ")], "nobody reaches anothers region", cases="../serve/clients.py", before="skills are there"),
    Mutation("serve: descriptors of another user", [("supervisor/front/serve/client.c", "n = c->peer->foreign ? client_receive_foreign(c, &m) : recvmsg(", "n = recvmsg(")],
             "the daemon speaks on no socket of theirs", cases="../serve/rights.py", before="skills are there"),
    Mutation("serve: what another user sent is closed by nobody who has work", [("supervisor/front/serve/discard.c", "if (!discard_has_fds(fd)) {", "if (1) {")],
             "what they send is released by nobody who has work", cases="../serve/rights.py", before="skills are there"),
    Mutation("serve: store, anchor and policy are not another user's to name", [(FOREIGN, "if (json_object_get(params, looked_up[i]))", "if (0)")],
             "nothing that they name is looked up", cases="../serve/rights.py", before="skills are there"),
    Mutation("serve: each descriptor counts", [("supervisor/front/serve/client.c", "fits &= i < SERVE_STREAMS;", "")], "three descriptors come with a request",
             cases="../serve/rights.py", before="skills are there"),
    Mutation("serve: what waits is judged when its turn comes", [("supervisor/front/serve/job-new.c", "        j->peer->users++;\n",
             "        j->peer->users++;\n        j->policy = shared_policy_use(c->server->policy);\n"),
             ("supervisor/front/serve/job-new.c", "if (on && j->policy != s->policy)", "if (on && !j->policy)")],
             "what waits is judged when its turn comes", cases="../serve/revoke.py", before="skills are there"),
    Mutation("serve: what waits of whom the policy does not name any more is refused at once", [("supervisor/front/serve/reload.c", "        jobs_judge_queued(s);\n        return 0;", "        return 0;")],
             "a client that is not named any more waits for nothing", cases="../serve/revoke.py", before="skills are there"),
    Mutation("serve: a reload waits for what was prepared", [("supervisor/front/serve/reload.c", "pool_is_settled(s->pool) &&\n", "1 &&\n"),
             ("supervisor/front/prefork/pool.c", "        while (p->n_kinds > 0)\n                pool_drop_kind(p, 0);\n        if (pool_wishes_take", "        if (pool_wishes_take")],
             "nothing that was prepared is left", cases="../serve/revoke.py", before="skills are there"),
    Mutation("serve: a reload waits for what is being started", [("supervisor/front/serve/reload.c", "*ret_judged += j->judging", "*ret_judged += 0 && j->judging")],
             "who is being started is waited for", cases="../serve/revoke.py", before="skills are there"),
    Mutation("serve: what a region starts is judged anew", [("supervisor/front/serve/job-run.c", "                .judging = job_judging,\n", "")],
             "what a region starts is judged anew", cases="../serve/revoke.py", before="skills are there"),
    Mutation("serve: what is captured is bounded", [("schema/serve.h", "#define SERVE_CAPTURE_MAX (1024 * 1024)", "#define SERVE_CAPTURE_MAX (256 * 1024 * 1024)")],
             "what is captured is bounded", cases="../serve/rights.py", before="skills are there"),
    Mutation("serve: a share for whoever comes", [("supervisor/front/serve/job.c", "return !p->foreign || has <", "return true || has <")],
             "whoever comes finds a place", cases="../serve/rights.py", before="skills are there"),
    Mutation("pool: a client's kinds are its own", [("supervisor/front/prefork/pool.c", "if (client ? k->client != client ||", "if (client ? 0 &&"),
             ("supervisor/front/prefork/pool.c", "(!client || n < FOREIGN_KINDS_MAX)", "1")],
             "nobody pushes the owners pool out", cases="../serve/rights.py", before="skills are there"),
    # --- what is not kept, and what the records say of themselves
    Mutation("unkept: a value that a breach discards (I-71)", [("supervisor/state/engine/end.c", "return r < 0 || keep ? r : body_del(t, h->seq);", "return r;")],
             "what_a_breach_discarded_is_gone", runner="state/engine/test-engine-region"),
    Mutation("unkept: values that a verdict did not take (I-71)", [("supervisor/state/engine/quorum.c", "if (i != winner)\n", "if (0)\n")],
             "what_was_not_taken_is_gone", runner="state/engine/test-engine-gather"),
    Mutation("unkept: a value that its region replaced (I-71)", [("supervisor/state/engine/quorum.c", "return r < 0 ? r : body_del(t, h->seq); /* I-71 */", "return r;")],
             "what_its_region_replaced_is_gone", runner="state/engine/test-engine-gather"),
    Mutation("audit derived: what a region read before it was reached is asked for (I-77)", [("supervisor/state/audit/flow-unknown.c", "(u->by && u->since <= u->born)", "u->by")],
             "reached_late_and_not_recorded", runner="state/audit/test-audit-flow"),
    Mutation("records: what a floor raised is of each invocation's record (I-73)", [("supervisor/front/invoke/pool-region.c", "json_array_size(g->raised) == 0 &&\n", "1 &&\n")],
             "what a floor raised is recorded of each", cases="../serve/pool.py"),
    Mutation("records: a verdict's hashes are those of its values (I-71)", [("supervisor/state/audit/arbitration.c", "if (hashes && memcmp(own,", "if (0 && memcmp(own,")],
             "names_what_does_not_hold", runner="state/audit/test-audit-arbitration"),
    Mutation("records: what a verdict did not take is gone (I-71)", [("supervisor/state/audit/erased.c", "r = erased_check_gone(a, map_get(&a->payloads, key), json_object_get(o, \"body\"));",
             "r = erased_check_gone(a, map_get(&a->payloads, key), false);")], "names_what_does_not_hold", runner="state/audit/test-audit-arbitration"),
    Mutation("memory: who ends a record might save it, when the digest acts (I-98)", [("supervisor/state/refs/graph.c", "return r < 0 ? r : !json_object_get(entry,",
             "return r < 0 ? r : 1 || !json_object_get(entry,")], "a_reference_without_the_right_ends_nothing", runner="state/memory/test-memory-digest"),
    Mutation("skills: no name that looks like another one or like a path", [("supervisor/isolation/manifest/skill-md.c", "if (!skill_md_name_runs(s))", "if (0)")],
             "rows", runner="isolation/manifest/test-manifest-skill-md"),
    Mutation("memory: a list's text is one line", [("supervisor/state/memory/records.c", "if ((unsigned char)(*ret)[i] < ' ' ||", "if ((*ret)[i] == '\\n' ||")],
             "a list has no control characters", cases="../../state/memory/service.py"),
    Mutation("records: a certificate of less has another code (I-80)", [("supervisor/front/cli/cmd-certificate.c", "proof == PROOF_CLEARED ? EXIT_OK : EXIT_LESS", "EXIT_OK")],
             "a certificate of less than cleared ends 3", cases="../../state/audit/report.py", before="it needs nothing but itself", program="audit/fill-regions"),
    Mutation("records: no text ends before its end (I-81)", [("supervisor/base/json-text.c", "return s && strlen(s) == json_string_length(v) ? s : NULL;", "return s;")],
             "a_string_with_nul_is_not_the_one_that_ends_there", runner="base/test-base-json"),
    Mutation("pipe: no name ends before its end (I-81)", [("supervisor/base/json-text.c", "return s && strlen(s) == json_string_length(v) ? s : NULL;", "return s;")],
             "no_name_ends_before_its_end", runner="front/dispatch/test-dispatch-hostile"),
    Mutation("records: powers of two (I-83)", [("supervisor/base/decimal.c", "bool is_power = frexp(d, &exponent) == 0.5;", "bool is_power = frexp(d, &exponent) == 2;")],
             "canonical_numbers", runner="base/test-base-json"),
    Mutation("store: pages are looked at before a process writes (I-99)", [("supervisor/state/store/page-check.c", "if (r < 0 || s->checked)\n", "if (r < 0 || s)\n")],
             "a_writer_looks_first", runner="state/store/test-store-pages"),
    Mutation("store: whose pages somebody else wrote (I-99)", [("supervisor/state/store/page-check.c", "if (r == 0 && !(s->large && page_check_is_as_left(s)))", "if (r == 0 && !s->large)")],
             "a_large_store_that_somebody_else_wrote_to", runner="state/store/test-store-pages"),
    Mutation("store: each bit that LMDB believes (I-99)", [("supervisor/state/store/page-walk.c", "if (r == 0 && room != w->size - h.upper)", "if (0)")], "each_bit_that_lmdb_believes", runner="state/store/test-store-pages"),
    Mutation("store: a named anchor that says nothing (I-99)", [("supervisor/state/ledger/anchor.c", "        if (anchor_said())\n", "        if (0)\n")],
             "a_named_one_that_says_nothing_is_refused", runner="state/store/test-store-anchor"),
    # --- faults, and processes that stop (I-79)
    Mutation("gate: the holder is named (I-79)", [("supervisor/state/store/write-lock.c", '                log_warning("store %s: waiting for %s", dir, who);\n', "")],
             "a store that is slow is no late teardown", cases="stopped.py", before="slots of the test"),
    Mutation("gate: a wait ends on SIGTERM (I-79)", [("supervisor/state/store/write-lock.c", "        if (gate_is_signalled())\n                r = -ECANCELED;", "        if (0)\n                r = -ECANCELED;")],
             "a writer that is stopped is named and outlived", cases="stopped.py", before="slots of the test"),
    Mutation("gate: taken over from a dead one (I-79)", [("supervisor/state/store/write-lock.c", "                e = pthread_mutex_consistent(&g->page->mutex);", "                e = EBUSY;")],
             "a writer that is stopped is named and outlived", cases="stopped.py", before="slots of the test"),
    Mutation("gate: not another boot's (I-79)", [("supervisor/state/store/write-lock.c", "memcmp(bytes, &want, offsetof(GatePage, mutex)) == 0)", "memcmp(bytes, &want, 8) == 0)")],
             "a gate of another boot or another folder is made anew", cases="stopped.py", before="slots of the test"),
    Mutation("a guard that is stopped is killed (I-79)", [("supervisor/front/invoke/watch.c", "if (*looks > STOPPED_LOOKS_MAX)", "if (0)")],
             "a guard that is stopped is named and killed", cases="stopped.py", before="slots of the test"),
    Mutation("a full disk is no damage (I-79)", [("supervisor/front/cli/with-store.c", "r == -ENOSPC || r == -EDQUOT ? EXIT_FULL : EXIT_NOT", "r == -EDQUOT ? EXIT_NOT : EXIT_NOT")],
             "a full disk is no damage", cases="full.py"),
    Mutation("teardown: a slow store is not its lateness (I-79)", [("supervisor/front/invoke/end.c", "        end_leave_out_waits(run, &run->evidence);\n", "        if (0)\n                leave_out_waits(run, &run->evidence);\n")],
             "a store that is slow is no late teardown", cases="stopped.py", before="slots of the test"),
    Mutation("guard: what cannot be let go is killed (I-79)", [("supervisor/isolation/scrub/tracer/pause.c", "                kill(t->pid, SIGKILL);\n}\n\n/* A killed task leaves", "                ;\n}\n\n/* A killed task leaves")],
             "faults of lethe-guard", cases="../system/parts.py", program="system/inject"),
    Mutation("guard: what cannot be said is not waited for (I-79)", [("supervisor/isolation/scrub/tracer/guard.c", "        if (n < 0 && errno != EPIPE && errno != ECONNRESET)", "        if (0)")],
             "faults of lethe-guard", cases="../system/parts.py", program="system/inject"),
    Mutation("redo: a damaged header is told of (I-79)", [("supervisor/state/store/wal-head.c", "return be64_get(h->version) == 1 || be64_get(h->sum) == wal_head_sum(h);", "return wal_head_sum(h) != 1;")],
             "a record of a dead writer that was damaged is told of", cases="stopped.py", before="slots of the test"),
    Mutation("redo: torn is not damaged (I-79)", [("supervisor/state/store/wal-head.c", "if (memcmp(is[i].now, h->sums[i].before, sizeof(is[i].now)) == 0)", "if (0)")],
             "a record of a dead writer that was damaged is told of", cases="stopped.py", before="slots of the test"),
    Mutation("store: an opener keeps its file (M-56)", [("supervisor/state/store/compact.c", " ?: store_replaces(s, reterr);", ";")],
             "a process that just opens the store keeps its file", cases="stopped.py", before="slots of the test"),
    # --- the operator's side
    Mutation("connect by the supervisor, with Landlock's TCP rule", [("supervisor/isolation/region/region-notify.c",
             "        e = region_connect_start(", "        region_notify_answer(n, q->id, 0, true);\n        if (1)\n                return;\n        e = region_connect_start("),
             NO_TCP_RULE], "net-connect-race"),
    Mutation("connect: never waited for", [("supervisor/isolation/region/region-connect.c", "SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);",
             "SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);")], "a connect that nobody takes holds nobody", cases="waits.py", program="front/cli/connector"),
    Mutation("denials: no name reaches who serves a file system", [("supervisor/isolation/region/region-host-lookup.c", "        if (!l->mounts && io_read_file(",
             "        if (l)\n                return true;\n        if (!l->mounts && io_read_file(")], "what nobody looked at is said", cases="waits.py", program="front/cli/holder"),
    Mutation("denials: the host is not looked at before the end", [("supervisor/isolation/region/region-denied-open.c", "                region_outside_add(&n->outside,",
             "                (void)!access(full, F_OK);\n                region_outside_add(&n->outside,")], "names outside of a region reach nobody", cases="waits.py",
             program="front/cli/holder"),
    Mutation("denials: on_denial is kept at the end", [first_line("supervisor/isolation/region/region.c", "void region_explain_denials(Region *r)", "        if (r) return;")],
             "a denied path ends the region by its own end", cases="waits.py", program="front/cli/holder"),
    Mutation("a region that cannot be killed is left behind", [first_line("supervisor/isolation/scrub/teardown.c", "static bool teardown_must_leave(Region *r)", "        if (r) return false;")],
             "a granted file system that never answers holds nobody", cases="waits.py", program="front/cli/holder"),
    Mutation("a region that was left behind holds no start", [first_line("supervisor/front/recover/recover.c",
             "static bool recover_waits(const RegionRow *row, const ProcBlocked *b, ProcWait *w, unsigned *ret_tasks)", "        return false;")],
             "what was left behind holds no later start", cases="waits.py", before="a granted file system that never answers holds nobody", program="front/cli/holder"),
    Mutation("shared memory of a call that is over is given back at once", [first_line("supervisor/isolation/region/region-shared.c", "void region_shared_called(RegionShared *s, pid_t tid)", "        return;")],
             "shared memory is given back when it is gone", "--as user", cases="objects.py"),
    Mutation("an output takes no place of a store's file", [first_line("supervisor/state/store/output.c", "int store_check_output(const char *path, Diag *reterr)", "        return 0;")],
             "no output takes the place of a file of a store", cases="places.py"),
    Mutation("words of a region whose page never comes are read aside", [first_line("supervisor/isolation/region/region-notify-task.c", "bool region_notify_any_served(void)", "        return false;")],
             "words in a page that never comes hold nobody", cases="waits.py", program="front/cli/holder"),
    Mutation("a region's descriptor is judged before it is copied", [first_line("supervisor/isolation/region/region-notify-task.c", "int region_notify_copy_fd(pid_t pid, int fd)", "        return task_copy(pid, fd);")],
             "a granted file system that never answers holds nobody", cases="waits.py", program="front/cli/holder"),
    Mutation("multipass: names are looked for in the kernel's cache", [("supervisor/isolation/scrub/release_hook/file.c", "(region_notify_any_served() ? RESOLVE_CACHED : 0)}", "0}")],
             "a granted file system that never answers holds nobody", cases="waits.py", program="front/cli/holder"),
    Mutation("a task that exits takes no signal", [("supervisor/isolation/region/region-proc-blocked.c", " || (f[0] == 'S' && f[TASK_FLAGS] & TASK_EXITING)", "")],
             "a granted file system that never answers holds nobody", cases="waits.py", program="front/cli/holder"),
    Mutation("connect: only granted addresses", [first_line("supervisor/isolation/region/region-notify.c",
             "static bool notify_address_is_granted(const Grant *g, const struct sockaddr_storage *a)", "        return true;")], "net-connect-other"),
    Mutation("the receipt takes a link's place", [("supervisor/base/io.c", 'snprintf(tmp, sizeof(tmp), "%s.%08x.tmp", path, r)', 'snprintf(tmp, sizeof(tmp), "%s", path)'),
             ("supervisor/base/io.c", "O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW", "O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC")],
             "receipt-link"),
    Mutation("links out of a skill's folder", [("supervisor/isolation/manifest/bundle-walk.c", "        if (fd == -EXDEV)\n", "        if (0)\n"),
             ("supervisor/isolation/manifest/bundle-walk.c", "fd < 0 && fd != -ENOENT", "fd < 0 && fd != -EXDEV && fd != -ENOENT")], "fs-link-out"),
    Mutation("root asks no daemon of another user (I-82)", [first_line("supervisor/front/request/paths.c", "int path_ask(const char *path)", "        if (*path) return path_connect(path);")],
             "root asks no daemon of another user", cases="../serve/clients.py", before="skills are there"),
    Mutation("a socket's folder is the daemon's own (I-82)", [first_line("supervisor/front/serve/listen.c", "static int listen_check_folder(const char *path, Diag *reterr)", "        if (*path) return 0;")],
             "a socket in a folder of another user is none", cases="../serve/clients.py", before="skills are there"),
    Mutation("users whom a namespace does not map (I-3)", [("supervisor/front/serve/server.c", " || !peer_is_known(&cred))", ")")],
             "users whom a namespace does not map are nobody", cases="../serve/clients.py", before="skills are there"),
    Mutation("the gate's name is a file's (I-79)", [("supervisor/state/store/write-lock.c", "errno == ELOOP || errno == ENXIO || errno == EISDIR ? gate_clear(dir_fd)", "0 ? gate_clear(dir_fd)")],
             "what stands in the place of the gate is put away", cases="stopped.py", before="slots of the test"),
    Mutation("the gate's block is used again on a full disk (I-79)", [("supervisor/state/store/write-lock.c", "return r == -ENOSPC || r == -EDQUOT ? gate_fill(fd) : r;", "return r;")],
             "a gate of another boot is had on a full disk", cases="full.py"),
    Mutation("an older copy under an open store is not continued (I-79)", [("supervisor/state/ledger/ledger.c", "                        if (r == 0)\n                                r = ledger_is_behind(t, &s->tree);\n", "")],
             "an_older_copy_under_an_open_store", runner="state/store/test-store-anchor"),
    Mutation("another file in the place of data.mdb (I-79)", [first_line("supervisor/state/store/page-check.c", "static int page_check_is_found(Store *s)", "        if (s->env) return 0;")],
             "an older copy that is renamed over it", cases="../serve/replaced.py"),
    Mutation("connections of others are waited for until they can be closed (I-3)", [("supervisor/front/serve/discard.c", "return !s->discard_is_full && poll(", "return 0 && poll(")],
             "a burst of connections with descriptors shuts nobody out", cases="../serve/clients.py", before="skills are there"),
    Mutation("nobody else connects when nothing can be closed (I-3)", [("supervisor/front/serve/listen.c", " && !s->discard_is_full ? 0666", " ? 0666")],
             "when nothing can be closed any more nobody else connects", cases="../serve/clients.py", before="skills are there"),
    Mutation("owners whom a namespace does not map (I-82)", [("supervisor/base/owner.c", "owner_is_anybody(st->st_uid) &&\n            !owner_is_ours(path, st)", "0")],
             "users whom a namespace does not map are nobody", cases="../serve/clients.py", before="skills are there"),
    # --- sessions: what a turn leaves to the next one
    Mutation("sessions: a turn that did not end with 0 carries nothing (I-86)", [("supervisor/front/invoke/record.c", "end->keep && success && !*discards", "end->keep && !*discards")],
             "a turn without success leaves the session as before", cases="session.py"),
    Mutation("sessions: one turn after the other (I-84)", [("supervisor/front/serve/session.c", "x->free_fd = eventfd(1, EFD_SEMAPHORE", "x->free_fd = eventfd(9, EFD_SEMAPHORE")],
             "clients come one after the other and may go", cases="session.py"),
    Mutation("sessions: a second turn is refused by the record, too (I-84)", [("supervisor/state/engine/session.c", "        living = json_text(json_object_get(o, \"turn\"));\n        if (living)\n                return diag(reterr, ENGINE_E_CONFLICT, \"turn",
             "        living = json_text(json_object_get(o, \"turn\"));\n        if (0 && living)\n                return diag(reterr, ENGINE_E_CONFLICT, \"turn")],
             "turns_are_numbered_and_one_at_a_time", runner="state/engine/test-engine-session"),
    Mutation("sessions: a held write is checked against the section's schema (I-84)", [("supervisor/front/dispatch/carry.c", "r = carry_check(d->turn->sections, section, value, &n, reterr);",
             "n = 1024;\n        r = 0;")], "carried alone reaches the next turn", cases="session.py"),
    Mutation("sessions: the rest of a longer value is overwritten (I-47)", [("supervisor/isolation/region/region-carry.c", "sodium_memzero(s->memory.p + n, s->memory.n - n);", ";")],
             "longer_and_shorter_values_leave_nothing", runner="isolation/region/test-region-carry"),
    Mutation("sessions: memory that a longer value left is overwritten and counted (I-28)", [("supervisor/isolation/region/region-carry.c", "carry_wipe_memory(&s->memory, 1, &c->left);", "locked_free(&s->memory);")],
             "moved_memory_is_counted", runner="isolation/region/test-region-carry"),
    Mutation("sessions: memory that cannot be locked is none (I-84)", [("supervisor/isolation/region/region-carry.c", "if (e == 0 && !more.resident) {", "if (0) {")],
             "memory_that_cannot_be_locked", runner="isolation/region/test-region-carry"),
    Mutation("sessions: carried values leave the store with the session (I-85)", [("supervisor/state/engine/session.c", "int r = session_erase(t, session);", "int r = 0;")],
             "a_session_that_resumes_has_the_newest_values", runner="state/engine/test-engine-session"),
    Mutation("sessions: each has its user (I-85)", [("supervisor/front/serve/session-adopt.c", "(uid == j->peer->uid && policy_client(j->policy->policy, j->peer->uid, skill ?: \"\"))", "true")],
             "to other users there is no session", cases="../serve/sessions.py", before="skills are there"),
    Mutation("sessions: each has its user, also after a crash (I-85)", [("supervisor/front/serve/session-adopt.c", "(e == 0 && (!session_of_row(ret) ||\n                        !session_adopt_may(j, (uid_t)uid,\n                                           json_text(json_object_get(json_object_get(ret->detail, \"skill\"), \"name\"))))))",
             "(e == 0 && !session_of_row(ret)))")], "after a crash it is still its user s", cases="../serve/sessions.py", before="skills are there"),
    Mutation("sessions: a right that was taken away ends the turns (I-3)", [("supervisor/front/serve/session-adopt.c", "(uid == j->peer->uid && policy_client(j->policy->policy, j->peer->uid, skill ?: \"\"))", "uid == j->peer->uid")],
             "a right that was taken away ends the turns", cases="../serve/sessions.py", before="skills are there"),
    Mutation("sessions: a key that is presented is checked (I-85)", [("supervisor/front/serve/session-adopt.c", "else if (key && !carry_key_is(x->carry, key))", "else if (0)")],
             "to other users there is no session", cases="../serve/sessions.py", before="skills are there"),
    Mutation("sessions: so many of each user (I-85)", [("supervisor/state/engine/session.c", "return r == 0 && of_user >= s->max_sessions", "return r == 0 && 0")],
             "each user has so many", cases="../serve/sessions.py", before="skills are there"),
    Mutation("sessions: a changed skill gets no further turn (I-84)", [("supervisor/front/serve/session.c", "return strcmp(x->digest, digest ?: \"\") == 0;", "return true;")],
             "a skill that has changed gets no further turn", cases="session.py"),
    Mutation("sessions: one host after a crash (I-85)", [("supervisor/state/engine/session.c", "if (r == 0 && session_u64(row, \"lock\") != lock)", "if (0)")],
             "a_session_that_resumes_has_the_newest_values", runner="state/engine/test-engine-session"),
    Mutation("sessions: a close is not held up by turns that wait (I-85)", [("supervisor/front/serve/session.c", "(x->over || (x->closing > 0 && !closes))", "x->over")],
             "a close is not held up by turns that wait", cases="session.py"),
    Mutation("sessions: a close needs no place among those that wait (I-85)", [("supervisor/front/serve/session.c", "if (x->waiting >= SESSION_WAITING_MAX && !closes)", "if (x->waiting >= SESSION_WAITING_MAX)")],
             "a close is not held up by turns that wait", cases="session.py"),
    Mutation("sessions: the scope of an open session stays (M-24)", [("supervisor/state/engine/scope.c", "return scope_check_driven(t, name, reterr)\n                       ?: engine_scope_erase", "return engine_scope_erase")],
             "the loop goes with its session when somebody wants that", cases="session.py"),

    # --- the cognitive loop, and a skill as compressor
    Mutation("loop: goals and constraints of an advisor are those of the built-in compressor (C-24)", [("supervisor/state/cognition/advised.c",
             "r = advised_missing(f, &c->next.field[f], p, e) ?: advised_extra(f, &p->field[f], c, e);", "r = 0;")], "the advisor weakens a rule", cases="ccs-advised.py"),
    Mutation("loop: an advisor has no right to write (C-28)", [("supervisor/front/invoke/advise.c", "        if (a->reads_only)\n", "        if (0)\n")],
             "the advisor writes nowhere", cases="ccs-advised.py", before="a good advisor is asked and its state is committed"),
    Mutation("loop: a turn that came between refuses the proposal (C-37)", [("supervisor/state/cognition/cognition.c",
             "if (of->proposal && of->proposal->before != c->s.turn)", "if (0)")], "the turn that lost the race is refused", cases="ccs-advised.py"),
    Mutation("loop: the session alone drives its turns (C-36)", [("supervisor/state/cognition/cognition.c", "if (strcmp(s->of, of->of ?: \"\") == 0)", "if (1)")],
             "nobody else drives the turns", cases="loop.py"),
    Mutation("loop: output with a key is no decision (I-11)", [("supervisor/front/invoke/end.c", "if (run->pipe.dispatch && run->region.io.out.kept)", "if (run->parent && run->pipe.dispatch)")],
             "a key in the output is no decision", cases="session.py"),
    Mutation("loop: a turn that did not end with 0 has no decision (C-35)", [("supervisor/front/invoke/record.c",
             "if (!r->io.out.kept || !end->keep || r->outcome != OUTCOME_EXITED || r->status != 0 || *discards)", "if (!r->io.out.kept)")],
             "a turn that fails has no decision and the session goes on", cases="loop.py"),
    # --- objects: what an entry, a skill's proposal, a child and an input cannot do
    Mutation("objects: an entry that does not follow is refused", [("supervisor/state/object/memory.c", "        if (!legal)\n", "        if (0)\n")], "moves", runner=OBJECT_MEMORY),
    Mutation("objects: an entry follows the entry before by its hash", [("supervisor/state/object/memory.c", "if (memcmp(e->prev, m->head, ENTRY_HASH_BYTES) != 0)", "if (0)")],
             "chain", runner=OBJECT_MEMORY),
    Mutation("objects: an intent stays in its scope from the first entry on", [(OBJECT_APPLY, "                r = intent_within(complete, json_object_get(context, \"scope\"), reterr);\n", "")],
             "bad_beginnings", runner=OBJECT_MEMORY),
    Mutation("objects: a mutation only refines", [(OBJECT_APPLY, "r = intent_refine_check(m->intent, after, json_str(data, \"how\"), json_object_get(m->context, \"scope\"), reterr);", "r = 0;")],
             "mutations", runner=OBJECT_MEMORY),
    Mutation("objects: a delegation has no more children than the scope", [(OBJECT_CHILDREN, "if (json_number(scope, \"depth\") < 1 || n > json_number(scope, \"fanout\"))", "if (0)")],
             "bad_delegations", runner=OBJECT_MEMORY),
    Mutation("objects: a late answer is marked late", [(OBJECT_CHILDREN, "json_is_true(late_said) != late", "0")], "late_answers", runner=OBJECT_MEMORY),
    Mutation("objects: a child answers once", [(OBJECT_CHILDREN, "                json_object_del(ever, id);\n                r = memory_put", "                r = memory_put")],
             "late_answers", runner=OBJECT_MEMORY),
    Mutation("objects: a checkpoint is the fold of the entries before", [("supervisor/state/object/memory.c", "                r = outcome_same(now, json_object_get(memory_data(e), \"fold\"));", "                r = 1;")],
             "checkpoints", runner=OBJECT_MEMORY),
    Mutation("objects: a fold has bounds", [(OBJECT_APPLY, "i + MEMORY_COUNTS_MAX > n", "n < SIZE_MAX")], "bounds", runner=OBJECT_MEMORY),
    Mutation("objects: an input is no proposal", [("supervisor/state/object/memory.c", "        case ENTRY_INPUT: /*", "        case ENTRY_INPUT:\n"
             "                memory_put(m, \"next\", json_incref(json_object_get(memory_data(e), \"input\"))); /*")], "rules", runner=OBJECT_SELECT),
    Mutation("objects: a skill proposes what with.may names", [(OBJECT_NEXT, "if (!select_may(s->m, p->member))", "if (0)")], "rules", runner=OBJECT_SELECT),
    Mutation("objects: a proposal cannot ask for slots beyond the scope", [(OBJECT_NEXT, "        if (!may)\n", "        if (0)\n")], "rules", runner=OBJECT_SELECT),
    Mutation("objects: a proposed child stays in the scope", [(OBJECT_NEXT, "        r = intent_within(complete, scope, why) ?:", "        r ="),
             (OBJECT_NEXT, "                r = intent_scope_of_child(scope, child, &inner);", "                r = 0;")], "rules", runner=OBJECT_SELECT),
    Mutation("objects: an unknown verdict is no permission", [("supervisor/state/object/select.c", "return strcmp(json_str(s->policy, \"verdict\"), \"allowed\") == 0 ?", "return strcmp(json_str(s->policy, \"verdict\"), \"denied\") != 0 ?")],
             "rules", runner=OBJECT_SELECT),
    Mutation("objects: the policy's list of actions counts", [("supervisor/state/object/select.c", "                r = select_judge(&s) ?: r;", "                r = r;")], "rules", runner=OBJECT_SELECT),
    Mutation("objects: what another node cannot do is no matter here", [("supervisor/state/object/select.c", "strcmp(json_str(negative, \"node\"), s->node) == 0 &&", "")], "rules", runner=OBJECT_SELECT),
    Mutation("objects: a trigger that is always true does not spin", [("supervisor/state/object/select.c", "        if (r > 0)\n                not_before", "        if (0)\n                not_before")],
             "rules", runner=OBJECT_SELECT),
    # --- persistent objects: intents, scopes, triggers
    Mutation("intent: a refinement drops no constraint (O-23)", [("supervisor/state/object/refine.c", "                if (k == json_array_size(rest))\n                        return form_bad(",
             "                if (k == json_array_size(rest))\n                        continue;\n                if (0)\n                        return form_bad(")],
             "what_each_kind_may_change,narrow_is_an_order_and_nothing_drops_a_constraint", runner=REFINE),
    Mutation("intent: a refinement stays in the trust scope (O-23)", [("supervisor/state/object/refine.c", "        e = intent_within(after, scope, reterr);", "        e = 0;")],
             "what_each_kind_may_change", runner=REFINE),
    Mutation("intent: narrow goes one way (O-22)", [("supervisor/state/object/refine.c", "        return kind == 0   ? refine_narrow_intent(&f, root, before, after)", "        return kind == 0   ? 0")],
             "what_each_kind_may_change,narrow_is_an_order_and_nothing_drops_a_constraint", runner=REFINE),
    Mutation("intent: a skill beyond the scope is refused (O-25)", [("supervisor/state/object/intent-scope.c", "        return !skill || scope_has(w->allowed, skill)", "        return 1")],
             "an_intent_within_its_scope", runner=INTENT),
    Mutation("intent: delegations are as deep as the scope allows (O-25)", [("supervisor/state/object/intent-scope.c", "if (depth + 1 > deep)", "if (0)")],
             "an_intent_within_its_scope,the_scope_of_a_child", runner=INTENT),
    Mutation("intent: a child's scope is less deep than its parent's (O-25)", [("supervisor/state/object/intent-scope.c", "json_u64(depth - 1)", "json_u64(depth)")],
             "the_scope_of_a_child", runner=INTENT),
    Mutation("intent: a scope is within another name by name (O-25)", [("supervisor/state/object/intent-scope.c", "                if (!scope_has(outer, item))", "                if (0)")],
             "a_scope_within_another", runner=INTENT),
    Mutation("intent: all is not within a list (O-25)", [("supervisor/state/object/intent-scope.c", '        if (json_text_is(v, "*"))\n                return form_bad(f, at, v, "all,', '        if (0)\n                return form_bad(f, at, v, "all,')],
             "a_scope_within_another", runner=INTENT),
    Mutation("intent: what is no scope is within none (O-25)", [("supervisor/state/object/intent-scope.c", 'if (!json_is_array(v) && !json_text_is(v, "*"))', "if (0)")],
             "a_scope_within_another", runner=INTENT),
    Mutation("intent: the constraint skills holds for children (O-2)", [("supervisor/state/object/intent.c", "        e = e ?: intent_check_skills(f, at, to);\n", "")], "refused", runner=INTENT),
    Mutation("intent: nesting is bounded (O-2)", [("supervisor/state/object/intent-form.c", "        if (depth > INTENT_JSON_DEPTH)", "        if (0)")], "bounds", runner=INTENT),
    Mutation("trigger: no object waits for its own end (O-31)", [("supervisor/state/object/trigger.c", 'if (e == 0 && f->self && json_text_is(id, f->self))', "if (0)")], "refused", runner=TRIGGER),
    Mutation("trigger: events of objects wake no object (O-31)", [("supervisor/state/object/trigger.c", 'if (e == 0 && s && strncmp(s, "object.", 7) == 0)', "if (0)")], "refused", runner=TRIGGER),
    Mutation("trigger: an event that nothing records wakes nobody (O-31)", [("supervisor/state/object/trigger.c", "if (e == 0 && (!s || !event_type_known(s)))", "if (0)")], "refused", runner=TRIGGER),
    Mutation("trigger: so many parts (O-31)", [("supervisor/state/object/trigger.c", "if (++f->nodes > TRIGGER_NODES_MAX)", "if (0)")], "bounds_of_nodes_and_depth", runner=TRIGGER),
    Mutation("trigger: so deep (O-31)", [("supervisor/state/object/trigger.c", "        if (depth > TRIGGER_DEPTH_MAX)", "        if (0)")], "bounds_of_nodes_and_depth", runner=TRIGGER),
    Mutation("trigger: a policy that denies allows nothing (O-15)", [("supervisor/state/object/trigger-holds.c", 'json_text_is(json_object_get(view->policy, "verdict"), "denied") ||', "0 ||")],
             "a_denied_policy_allows_nothing", runner=TRIGGER),
    Mutation("trigger: times do not wrap (O-30)", [("supervisor/state/object/trigger-needs.c", 'json_number(elapsed, "for_usec"), &t) ? UINT64_MAX : t;', 'json_number(elapsed, "for_usec"), &t) ? t : t;')],
             "times_do_not_wrap", runner=TRIGGER),

    # --- persistent objects: entries and files
    Mutation("object: the signature of each entry is checked (O-7)", [("supervisor/state/object/bundle.c", "        return entry_verify(e, key, reterr);\n", "        return 0;\n")],
             "forged_entries,each_bit", runner="state/object/test-object-bundle"),
    Mutation("object: a signature is over this text and for nothing else (O-7)", [("supervisor/state/object/entry.c", "crypto_sign_verify_detached(e->sig,", "0 * crypto_sign_verify_detached(e->sig,")],
             "signatures,each_bit", runner="state/object/test-object-entry"),
    Mutation("object: each entry has the hash of the entry before (O-7)", [("supervisor/state/object/memory.c", "if (memcmp(e->prev, m->head, ENTRY_HASH_BYTES) != 0)", "if (0)")],
             "forged_entries", runner="state/object/test-object-bundle"),
    Mutation("object: entries are numbered without a gap (O-7)", [("supervisor/state/object/memory.c", "if (e->n != m->n)", "if (0)")],
             "forged_entries", runner="state/object/test-object-bundle"),
    Mutation("object: an entry is of its object alone (O-7)", [("supervisor/state/object/memory.c", "if (m->n > 0 && strcmp(object, m->object) != 0)", "if (0)")],
             "forged_entries", runner="state/object/test-object-bundle"),
    Mutation("object: a key signs for its own node alone (O-9)", [("supervisor/state/object/bundle.c", "if (strcmp(name, node) != 0)", "if (0)")],
             "forged_entries", runner="state/object/test-object-bundle"),
    Mutation("object: a key is under its own id (O-9)", [("supervisor/state/object/bundle.c", "if (strcmp(note_keyid(name, key, keyid), id) != 0)", "if (0)")],
             "lines", runner="state/object/test-object-bundle"),
    Mutation("object: an entry of a newer version is refused as such (O-41)", [("supervisor/state/object/entry.c", "if (json_is_integer(v) && json_integer_value(v) > ENTRY_VERSION)", "if (0)")],
             "newer_version,members", runner="state/object/test-object-entry"),
    Mutation("object: a file of a newer version is refused as such (O-41)", [("supervisor/state/object/bundle.c", "if (version > OBJECT_BUNDLE_VERSION)", "if (0)")],
             "newer_version,lines", runner="state/object/test-object-bundle"),
    Mutation("object: an entry has one text (O-7)", [("supervisor/state/object/entry.c", "if (n == n_again && memcmp(text, again, n) == 0)", "if (1)")],
             "forms", runner="state/object/test-object-entry"),
    Mutation("object: the head of a file is that of the first entry (O-40)", [("supervisor/state/object/bundle.c",
             "        return r == -ERANGE ? 0 : r < 0 ? r : n == n_again && memcmp(text, again, n) == 0;\n", "        return r < 0 ? r : 1;\n")],
             "lines,each_bit", runner="state/object/test-object-bundle"),
    Mutation("object: a file has its end (O-7)", [("supervisor/state/object/bundle.c", "if (strlen(bundle_end_line(b, end)) != t->n_line || memcmp(end, t->line, t->n_line) != 0)",
             "bundle_end_line(b, end);\n        if (0)")], "each_bit,removed_lines", runner="state/object/test-object-bundle"),
    Mutation("object: a large file is refused unread (O-40)", [("supervisor/state/object/bundle.c", "if (n > OBJECT_BUNDLE_MAX)", "if (0)")],
             "too_large", runner="state/object/test-object-bundle"),
    Mutation("json: what jansson could not allocate is told (O-40)", [("supervisor/base/json.c", "                json_failed = true;\n", "                ;\n")],
             "bundle", runner="state/object/test-object-no-memory"),
    # --- objects: rows and wakes are settled with the event, and come from the ledger alone
    Mutation("objects: a wake is settled in the commit of its cause", [("supervisor/state/record/event.c", " ?: wake_on_event(t, seq, e->type, whole ?: o);", ";")],
             "a_thousand_in_the_commit_of_the_write", runner=OBJECT_WAKE),
    Mutation("objects: a wake matches the members of the event", [("supervisor/state/record/wake.c", "if (!json_is_null(match) && !wake_matches(match, w->entry))", "if (0)")],
             "by_what_it_waits_for", runner=OBJECT_WAKE),
    Mutation("objects: other events are not lost by a wake", [(OBJECT_ROW, "if (object_row_is_event_key(pair) && !object_row_has_fired(c, pair, seen) &&", "if (0 &&")],
             "by_what_it_waits_for", runner=OBJECT_WAKE),
    Mutation("objects: keys and matches of rows have bounds", [("supervisor/state/record/wake.c", "if (r == -ERANGE || n > WAKE_MATCH_MAX)", "if (r == -ERANGE)")],
             "beyond_the_bounds", runner=OBJECT_WAKE),
    Mutation("objects: rows are compared with the fold of the ledger", [("supervisor/state/engine/project.c", "TABLE_OBJECT, TABLE_DUE,\n        TABLE_WAKE, ", "\n        ")],
             "each_damage_is_found", runner=OBJECT_WAKE),
    Mutation("objects: an event that contradicts the row is refused", [(OBJECT_ROW, "json_equal(json_object_get(c->entry, \"n\"), json_object_get(c->row, \"n\")) ? 0 : -EUCLEAN", "0")],
             "events_that_contradict_the_rows", runner=OBJECT_WAKE),
    Mutation("objects: the entries end at the head of the row (O-8)", [("supervisor/state/object/object-read.c", "memcmp(m.head, row->head, sizeof(m.head)) != 0 || ", "")],
             "the_head_is_kept", runner=OBJECT_STORE),
    Mutation("objects: no entry takes the place of another (O-6, O-43)", [(OBJECT_ROW, "n != (c->is_new ? 0 : had) ||", ""),
             (OBJECT_ROW, "r = table_add(c->t, TABLE_OBJECT, BYTES(key, object_entry_key(c->id, n, key))", "r = table_put(c->t, TABLE_OBJECT, BYTES(key, object_entry_key(c->id, n, key))")],
             "two_evaluators_of_one_head", runner=OBJECT_STORE),
    Mutation("objects: polling appends nothing (O-33)", [("supervisor/state/object/append.c", "if (a->memory.state != OBJECT_DORMANT || a->row.due_usec > a->now_usec)", "if (a->memory.state != OBJECT_DORMANT)")],
             "polling_grows_nothing", runner=OBJECT_STORE),
    Mutation("objects: the audit checks the chain of entries (O-7)", [("supervisor/state/audit/entries.c", "(f->n > 0 && strcmp(prev, f->head) != 0)", "0")],
             "the_audit_of_entries", runner=OBJECT_STORE),
    Mutation("objects: the audit checks signatures of entries (O-7)", [("supervisor/state/audit/entries.c", "entry_verify(e, store_public_key(s), &d) : 0;", "0 : 0;")],
             "the_audit_of_entries", runner=OBJECT_STORE),
    Mutation("objects: a child's scope is within its parent's (O-25)", [("supervisor/state/object/object.c", "r = intent_scope_within(scope, n->outer, reterr);", "r = 0;")],
             "refused_creations", runner=OBJECT_STORE),
    # --- persistent objects: executions, cycles, stores
    Mutation("objects: a region begins for an open execution alone (O-38)", [("supervisor/state/engine/region.c", "        r = s->object ? execution_may_start(t, s, reterr) : 0;\n", "        r = 0;\n")],
             "one_region_for_each_started_entry", runner=EXECUTION_TEST),
    Mutation("objects: an execution has one region (O-38)", [("supervisor/state/engine/execution.c", "        if (r == 0 && *row.region)\n", "        if (0)\n")],
             "one_region_for_each_started_entry", runner=EXECUTION_TEST),
    Mutation("objects: an execution commits after exit code 0 only (O-38)", [("supervisor/state/engine/region.c", "        if (s->object && !success)\n", "        if (0)\n")],
             "one_region_for_each_started_entry", runner=EXECUTION_TEST),
    Mutation("objects: the engine keeps the changes of an execution after success alone (O-38)", [("supervisor/state/engine/end.c",
             'if (r == 0 && keep && json_object_get(row, "object") && !end_is_success(e->ended))', "if (0)")], "changes_are_kept_after_success_alone", runner=EXECUTION_TEST),
    Mutation("objects: an execution that is over changes nothing (O-38)", [("supervisor/state/engine/region-row.c", "                if (r == -ENOENT)\n                        snprintf",
             "                if (0)\n                        snprintf")], "changes_are_kept_after_success_alone", runner=EXECUTION_TEST),
    Mutation("objects: below an execution nothing is kept (O-38)", [("supervisor/state/engine/region.c", "        if (!*broke)\n                snprintf(broke", "        if (0)\n                snprintf(broke")],
             "below_an_execution_nothing_is_kept", runner=EXECUTION_TEST),
    Mutation("objects: below an execution nobody writes slots (O-38)", [("supervisor/state/engine/region.c", "        if (!s->callback && s->writes && *s->writes)\n", "        if (0)\n")],
             "below_an_execution_nothing_is_kept", runner=EXECUTION_TEST),
    Mutation("objects: a large event names its execution (O-38)", [("supervisor/state/record/event.c", "?: JSON_ROW_KEEP(small, fields, execution)", "?: 0 * JSON_ROW_KEEP(json_null(), fields, execution)")],
             "a_large_event_names_its_execution", runner=EXECUTION_TEST),
    Mutation("objects: kept effects are never tried again (O-38)", [("supervisor/state/object/settle.c", 'if (!json_is_true(json_object_get(ended, "kept")))\n', "if (1)\n")],
             "executions_without_outcome_are_settled", runner=OBJECT_CYCLE),
    Mutation("objects: an execution with a living region is not interrupted (O-38)", [("supervisor/state/object/settle.c", "if (r == 0 && x.ended == 0 && *x.region)", "if (0)")],
             "executions_without_outcome_are_settled", runner=OBJECT_CYCLE),
    Mutation("objects: an outcome is of the open execution (O-43)", [("supervisor/state/object/settle.c",
             'if (a.memory.state != OBJECT_EXECUTION || !json_text_is(json_object_get(settle_started(&a), "trace"), trace))', "if (0)"),
             ("supervisor/state/object/settle.c", "if (r == -ENOENT || (r == 0 && region && strcmp(x.region, region) != 0))", "if (0)")],
             "outcomes_that_come_too_late", runner=OBJECT_CYCLE),
    Mutation("objects: no outcome claims an effect that was not kept (O-46)", [("supervisor/state/object/settle.c", '        if (!ended || json_is_true(json_object_get(ended, "kept")) ||\n', "        if (1 || !ended ||\n")],
             "outcomes_are_true_and_fit", runner=OBJECT_CYCLE),
    Mutation("objects: an outcome without its value, before none at all (O-14)", [("supervisor/state/object/settle.c", "        if (r != OBJECT_E_SIZE)\n", "        if (1)\n")],
             "outcomes_are_true_and_fit", runner=OBJECT_CYCLE),
    Mutation("objects: only an eligible object is evaluated (O-8, O-9, O-42)", [("supervisor/state/object/cycle.c", "                r = object_eligible(&y->a.row, reterr);\n", "                r = 0;\n")],
             "imports,an_older_copy_is_behind,whose_signatures_count", runner=OBJECT_TRANSFER),
    Mutation("objects: an execution is settled on its own node (O-38)", [("supervisor/state/object/settle.c",
             'if (!json_text_is(json_object_get(started, "node"), store_origin(txn_store(a->t))))', "if (0)")], "executions_stay", runner=OBJECT_TRANSFER),
    Mutation("objects: an execution does not move (O-38)", [("supervisor/state/object/transfer.c", "if (r == 0 && row->state == OBJECT_EXECUTION)", "if (0)")],
             "executions_stay", runner=OBJECT_TRANSFER),
    Mutation("objects: an id is of one object (O-40)", [("supervisor/state/object/transfer.c", "        if (i->common == 0)\n", "        if (0)\n")],
             "another_object_with_the_same_id", runner=OBJECT_TRANSFER),
    Mutation("objects: whole keys are compared, not their ids (O-9)", [("supervisor/state/object/transfer.c",
             'return r == 0 ? import_forged(keyid, vkey, json_str(known, "vkey"), reterr) : r == -ENOENT ? 0 : r;', "return r == -ENOENT ? 0 : r;")],
             "keys_that_look_alike", runner=OBJECT_TRANSFER),
    Mutation("objects: entries of unknown keys are not evaluated (O-9)", [("supervisor/state/object/transfer.c", "i->unknown |= state == SIGNER_UNKNOWN || state == SIGNER_REVOKED;",
             "i->unknown |= false;")], "whose_signatures_count", runner=OBJECT_TRANSFER),
    Mutation("objects: entries of a revoked key are not evaluated (O-9)", [("supervisor/state/object/trust.c", "*ret_unknown |= state == SIGNER_UNKNOWN || state == SIGNER_REVOKED;",
             "*ret_unknown |= state == SIGNER_UNKNOWN;")], "whose_signatures_count", runner=OBJECT_TRANSFER),
    Mutation("objects: a child ends in its parent's memory (O-26)", [("supervisor/state/object/cycle.c", "?: report_to_parent(&y->a, reterr);", "?: 0;")],
             "late_double_and_missing_answers", runner="state/object/test-object-children"),
    Mutation("objects: verify checks each signature (O-7)", [("supervisor/state/object/verify.c", "                r = entry_verify(e, key, &why);\n", "                r = 0;\n")],
             "attacks_on_the_chain", runner=OBJECT_VERIFY),
    Mutation("objects: verify compares the row's head (O-8)", [("supervisor/state/object/verify.c", "if (memcmp(row->head, m->head, ENTRY_HASH_BYTES) != 0)", "if (0)")],
             "attacks_on_the_chain", runner=OBJECT_VERIFY),
    Mutation("objects: verify compares the row's state (O-17)", [("supervisor/state/object/verify.c", "if (row->state != m->state)", "if (0)")],
             "attacks_on_the_chain", runner=OBJECT_VERIFY),
    Mutation("objects: verify finds a region without an entry (O-46)", [("supervisor/state/object/verify-ledger.c",
             'if (json_equal(json_object_get(s->open, object), json_object_get(o, "trace")))', "if (1)")], "effects_without_an_entry", runner=OBJECT_VERIFY),
    Mutation("objects: verify finds changes that came too late (O-46)", [("supervisor/state/object/verify-ledger.c", 'if (known || !json_is_true(json_object_get(o, "kept")) ||', "if (1 ||")],
             "effects_without_an_entry", runner=OBJECT_VERIFY),
]


class Copy:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="lethe-mutations-", dir="/var/tmp")
        os.chmod(self.top, 0o755)
        self.source = os.path.join(self.top, "source")
        self.build = os.path.join(self.top, "build")
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout.split(b"\0")
        for name in filter(None, map(os.fsdecode, names)):
            if os.path.exists(os.path.join(ROOT, name)):
                os.makedirs(os.path.dirname(os.path.join(self.source, name)), exist_ok=True)
                shutil.copy2(os.path.join(ROOT, name), os.path.join(self.source, name))
        subprocess.run(["meson", "setup", self.build, self.source], stdout=subprocess.DEVNULL, check=True)
        self.ninja("all")

    def ninja(self, *targets):
        p = subprocess.run(["nice", "ninja", "-C", self.build, *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if p.returncode != 0:
            raise SystemExit(p.stdout.decode()[-3000:])

    @contextlib.contextmanager
    def changed(self, edits, *more):
        """Lethe without a defence, built, and `more`, as long as the context lasts."""
        changed = {}
        try:
            for name, old, new in edits:
                path = os.path.join(self.source, name)
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                changed.setdefault(path, text)
                if old not in text:
                    raise SystemExit(f"{name} does not hold: {old}")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text.replace(old, new))
            self.ninja("all" if any("scrub/" in name for name, _, _ in edits) else "lethe", "lethe-serve", "lethe-worker", "lethe-guard", "shim-root.stamp", *more)
            yield
        finally:
            for path, text in changed.items():
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def cases(self, m):
        """Each case's name and why it failed: '' when it passed all the same."""
        given = os.path.join(self.build, "tests", m.program) if m.program else m.options.split()[1]
        with self.changed(m.edits, *([f"tests/{m.program}"] if m.program else [])):
            p = subprocess.run([os.path.join(self.source, "tests", "front", "cli", m.cases), os.path.join(self.build, "lethe"), given],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, env=dict(os.environ, LETHE_CASES=",".join(filter(None, (m.before, m.attacks)))))
        rows = re.findall(r"^(not )?ok \d+ - (.*)\n(?:# (.*))?", p.stdout.decode(errors="replace"), re.M)
        rows = [row for row in rows if row[0] or row[1] not in m.before.split(",")]
        if {name for _, name, _ in rows} != set(m.attacks.split(",")):
            raise SystemExit(f"{m.defence}: not all cases ran\n{p.stdout.decode()[-2000:]}")
        return {name: re.sub(r"\b01[0-9a-z]{24}\b|/tmp/[^/ ]*", "…", why).replace("|", "/")[:100] if failed else "" for failed, name, why in rows}

    def tried(self, m):
        """Each attack's name and what was said about it: '' when it was contained all the same."""
        scrub = os.path.join(self.build, "tests", "isolation", "scrub")
        command = [sys.executable, os.path.join(self.source, "tests", m.runner), "--build", self.build, "--only", m.attacks, *m.options.split()]
        if not m.runner.endswith(".py"):
            command = [os.path.join(self.build, "tests", m.runner), "--tap", "-j1"]
        if m.cases:
            return self.cases(m)
        with self.changed(m.edits, *([] if m.runner.endswith(".py") else [f"tests/{m.runner}"])):
            if m.attacks.startswith("early:"):
                return self.given_back(m.attacks[6:].split(","))
            p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                               env=dict(os.environ, LETHE_GUARD=os.path.join(self.build, "lethe-guard"), LETHE_PREY=os.path.join(scrub, "prey")))
        said, name = {}, None
        for line in p.stdout.decode(errors="replace").splitlines():
            row = re.match(r"(not )?ok (?:\d+ )?- (?:\w+::)?(\S+)", line)
            if row:
                name = row.group(2)
                said[name] = ["failed"] if row.group(1) and not m.runner.endswith(".py") else []
            elif name and m.runner.endswith(".py"):
                said[name].append(line.lstrip("# "))
        missing = set(m.attacks.split(",")) - set(said)
        if missing:
            raise SystemExit(f"{m.defence}: {missing} did not run\n{p.stdout.decode()[-2000:]}")
        return {n: self.verdict(lines) for n, lines in said.items() if n in m.attacks.split(",")}

    def given_back(self, ways):
        """The same of ways to give memory back, from the test of these."""
        self.ninja("tests/isolation/scrub/test-early", "tests/isolation/scrub/freer")
        env = dict(os.environ, LETHE_GUARD=os.path.join(self.build, "lethe-guard"), LETHE_FREER=os.path.join(self.build, "tests", "isolation", "scrub", "freer"))
        p = subprocess.run([os.path.join(self.build, "tests", "isolation", "scrub", "test-early"), "--filter", "early/with_the_hook", "--tap", "-j1"], env=env,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        failed = re.findall(r"Assertion failed: ([a-z-]+)[^:]*: (.*)", p.stdout.decode(errors="replace"))
        said = {}
        for way, text in failed:
            if way in ways and "secrets are left" in text or way not in said:
                said[way] = text
        return {w: said.get(w, "") for w in ways}

    @staticmethod
    def verdict(lines):
        if not lines:
            return ""
        text = re.sub(r"^Bad\([\"'](.*?)(\\n.*)?[\"']\)$", r"\1", lines[0])
        if re.match("outcome|the program ended|the attack says", text):  # the program's own words say more
            text = next((x for x in lines if x.startswith("ESCAPED")), text)
        text = re.sub(r"; \{.*", "", re.sub(r"b'\\x00.*", "zeros", re.sub(r" (in|is) \[.*", "", text)))
        return re.sub(r"/var/tmp/lethe-[^/ ]*", "…", text).replace("|", "/")[:100]


def check():
    lost = []
    for m in MUTATIONS:
        for name, old, _ in m.edits:
            with open(os.path.join(ROOT, name), encoding="utf-8") as f:
                if old not in f.read():
                    lost.append(f"{m.defence}: {name} does not hold: {old!r}")
    print("\n".join(lost) or f"{len(MUTATIONS)} defences are where they are said to be")
    return 1 if lost else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="defences whose name holds this text")
    p.add_argument("--table", help="write the table there")
    p.add_argument("--check", action="store_true")
    o = p.parse_args()
    if o.check:
        return check()
    copy = Copy()
    rows, quiet = [], 0
    try:
        for m in MUTATIONS:
            if o.only not in m.defence:
                continue
            for name, said in copy.tried(m).items():
                quiet += not said
                where = m.options.replace("--as ", "").replace(" --tier", ",")
                rows.append(f"| {m.defence} | {name} | {where} | {said or '**contained all the same**'} |")
                print(rows[-1], flush=True)
    finally:
        copy.remove()
    if o.table:
        with open(o.table, "w", encoding="utf-8") as f:
            f.write("# Each defence, taken away once\n\nMade by tests/hostile/mutations.py: the defence is removed from a copy of the source, and the attack that "
                    "it is for is run\nagainst what that builds. Where two layers stand for the same thing, both were removed, and the first column says so. What\nhas spaces in its "
                    "name is a case of tests/front/cli.\n\n"
                    "| defence removed | attack | as | what happened then |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return 1 if quiet else 0


if __name__ == "__main__":
    sys.exit(main())
