"""Runs in a region (tests/front/serve/between.py): leaves bytes wherever Python can, or says what it finds there."""
import builtins
import ctypes
import fcntl
import json
import locale
import os
import resource
import signal
import socket
import subprocess
import sys
import time

PLACES = json.loads(sys.argv[2])
C = ctypes.CDLL(None, use_errno=True)
AT = 0x6A0000000000  # where nothing is mapped by itself, in every process
HELD = []


def bytes_at():
    """What stands at AT; the kernel looks, so that nothing dies of it."""
    r, w = os.pipe()
    try:
        return os.read(r, 8).decode() if C.write(w, ctypes.c_void_p(AT), 8) == 8 else ""
    finally:
        os.close(r)
        os.close(w)


def descriptors():
    found = []
    for fd in range(600):
        try:
            found.append((fd, fcntl.fcntl(fd, fcntl.F_GETFL), os.fstat(fd).st_mode, os.fstat(fd).st_size if fd > 4 else 0))
        except OSError:
            pass
    return found


def place(path):
    try:
        st = os.stat(path)
    except OSError:
        return None
    return [st.st_size, st.st_mode]


def umask():
    old = os.umask(0)
    os.umask(old)
    return old


def hears():
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex("\0planted")


def locked():
    with open("/usr/bin/env", "rb") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return 0
        except OSError as e:
            return e.errno


def converts():
    C.iconv_open.restype = ctypes.c_void_p
    return C.iconv_open(b"PLANTED", b"UTF-8") != ctypes.c_void_p(-1).value


LOOKS = {
    "module": lambda: getattr(json, "planted", None), "builtins": lambda: getattr(builtins, "planted", None), "customisation": lambda: "planted" in sys.modules,
    "search path": lambda: "/tmp/lib" in sys.path, "environment": lambda: sorted(k for k in os.environ if k.startswith(("LD_", "PYTHON", "GCONV", "LOC", "PLANTED"))),
    "environment of the C library": lambda: (C.getenv(b"PLANTED") or 0) != 0, "descriptors": descriptors, "shared memory": bytes_at, "segment": lambda: C.shmget(0x706C616E, 8, 0) >= 0,
    "timer": lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0, "signals": lambda: [str(signal.getsignal(s)) for s in (signal.SIGUSR1, signal.SIGALRM)],
    "signal mask": lambda: sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "waiting signals": lambda: sorted(signal.sigpending()), "umask": umask, "cwd": os.getcwd,
    "priority": lambda: os.getpriority(os.PRIO_PROCESS, 0), "limits": lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0], "locale": lambda: locale.setlocale(locale.LC_ALL),
    "socket": hears, "lock": locked, "gconv": converts, "time of a file": lambda: int(os.stat("/skill/main.py").st_mtime),
}


def put(path):
    """What is there goes on, with a few bytes more."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    before = b""
    if os.path.exists(path):
        with open(path, "rb") as f:
            before = f.read()
    with open(path + ".new", "wb") as f:
        f.write(before + b"# planted\n")
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def plant_memory():
    C.mmap.restype = ctypes.c_void_p
    C.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    if C.mmap(AT, 4096, 3, 0x100021, -1, 0) == AT:  # shared, without a file, at that address
        ctypes.memmove(AT, b"planted!", 8)


def plant_socket():
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0planted")
    s.listen()
    HELD.append(s)


def plant_lock():
    HELD.append(open("/usr/bin/env", "rb"))  # pylint: disable=consider-using-with
    fcntl.flock(HELD[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)


def plant_descriptors():
    r, w = os.pipe()
    for fd in (r, w):
        os.set_inheritable(os.dup2(fd, 400 + fd), True)
    for fd in range(5):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK | os.O_APPEND)


def plant_environment():
    for name, value in (("PYTHONPATH", "/tmp/lib"), ("PYTHONSTARTUP", "/tmp/lib/planted.py"), ("GCONV_PATH", "/tmp/lib"), ("LOCPATH", "/tmp/lib"), ("LD_LIBRARY_PATH", "/tmp/lib"),
                        ("PLANTED", "x")):
        os.environ[name] = value
    write("/tmp/lib/gconv-modules", "alias PLANTED// ISO-10646/UTF8/\n")


def plant_customisation():
    folder = "/work/.local/lib/python3.%d/site-packages" % sys.version_info[1]
    for path, text in ((folder + "/planted.pth", "import planted\n"), (folder + "/usercustomize.py", "import planted\n"), (folder + "/planted.py", ""),
                       ("/tmp/lib/sitecustomize.py", "import planted\n"), ("/tmp/lib/planted.py", "")):
        write(path, text)


PLANTS = [
    lambda: setattr(json, "planted", 1), lambda: setattr(builtins, "planted", 1), plant_customisation, plant_environment, plant_descriptors, plant_memory,
    lambda: C.shmget(0x706C616E, 8, 0o1666), lambda: signal.setitimer(signal.ITIMER_REAL, 1000), lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN),
    lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]), lambda: os.kill(os.getpid(), signal.SIGUSR2), lambda: os.umask(0o31), lambda: os.chdir("/tmp"), lambda: os.nice(1),
    lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1])), lambda: locale.setlocale(locale.LC_CTYPE, "C"), plant_socket, plant_lock,
    lambda: os.utime("/skill/main.py", (5, 5)), lambda: sys.path.append("/tmp/lib"),
]


def tried(fn, *args):
    try:
        return fn(*args)
    except (OSError, ValueError) as e:
        return getattr(e, "errno", str(e))


def look():
    return {**{k: tried(fn) for k, fn in LOOKS.items()}, **{p: place(p) for p in PLACES}}


way = sys.argv[1]
if way in ("plant", "both"):
    for fn in PLANTS:
        tried(fn)
    for path in PLACES:
        tried(put, path)
if way == "look":
    print(json.dumps([look()]))
elif way != "plant":
    print(json.dumps([look(), json.loads(subprocess.run([sys.executable, __file__, "look", sys.argv[2]], stdout=subprocess.PIPE, close_fds=False, check=True).stdout)[0]]))
else:
    sys.stdout.write("planted\n")
    sys.stdout.flush()
    time.sleep(600)
