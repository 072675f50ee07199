"""For a test that is the subreaper of its commands."""
import ctypes
import os
import time

PR_SET_CHILD_SUBREAPER = 36


def adopt():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below():
    """The processes that became children of the test because their parents died: workers, and whatever escaped from a region. The dead are reaped first."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    with open("/proc/self/task/%d/children" % os.getpid()) as f:
        return f.read().split()


def comm(pid):
    try:
        with open("/proc/%s/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return "gone"


def none_left(what, deadline):
    """deadline: of time.monotonic(), which ends a hang. A worker that was not recorded yet ends by itself, and the kernel takes its time."""
    while below() and time.monotonic() < deadline:
        time.sleep(0.005)
    left = below()
    assert not left, "%s: processes are left: %s" % (what, ["%s %s" % (pid, comm(pid)) for pid in left])


def faults_of(words, one):
    """A case for each word, in TAP. one(word) fails by an AssertionError, and returns why it is left out, or None. Returns the exit code."""
    failed = 0
    for i, word in enumerate(words, 1):
        try:
            why = one(word)
            print("ok %d - faults of %s%s" % (i, word, " # SKIP " + why if why else ""), flush=True)
        except AssertionError as e:
            failed += 1
            print("not ok %d - faults of %s\n# %s" % (i, word, str(e).replace("\n", "\n# ")), flush=True)
    return 1 if failed else 0
