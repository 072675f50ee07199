"""Runs in a warm interpreter: imports what the manifest names, then goes on in each region that is forked from it as the program that the skill's
entry names. Until then the interpreter is isolated (-I -S), and its path has only the shims and folders that root alone can write. .pth files and
site customisation of these folders are taken once, of others in each region. Random numbers are seeded anew by those who make them: Python's
module and OpenSSL see that they were forked. What an interpreter cannot do once it has started, other options or another environment of its own, is
done by executing it.

Each page that a region's part of this touches is copied for it, and overwritten in the end: so it does little, and some of it beforehand. Modules that do
something after each fork, as threading does, are left to those who import them."""
import atexit
import gc
import importlib
import importlib.machinery
import io
import os
import site
import sys
import types

sys_flags = sys.flags

WORDS_FD = 5
LIFELINE, SPEC = 6, 7  # of one that is there before its words are (schema/launch.h)
OWN = (b"LANG", b"LANGUAGE", b"PYTHON", b"LC_", b"LD_")
USUAL = {b"LANG": b"C.UTF-8", b"PYTHONPATH": b"/lethe/python", b"PYTHONDONTWRITEBYTECODE": b"1"}  # of these, what a skill has by default
AHEAD = {b"HOME": b"/work"}
WORDS = b"LL0W\5\0\0\0/bin:\0" + 2 * (b"\1\0\0\0" + b"\11\0\0\0PATH=/bin\0")
REHEARSALS = 20  # by then the interpreter has made of each function here what it makes of one that is called often


def own(environment):
    """What an interpreter looks at when it starts."""
    return {k: v for k, v in environment.items() if k.startswith(OWN)}


class Flags(tuple):
    """As sys.flags of an interpreter that was executed, which this one is to be from its fork on: without isolation."""

    __slots__ = ()

    def __repr__(self):
        return "sys.flags(%s)" % ", ".join("%s=%r" % pair for pair in zip(type(sys_flags).__match_args__, self))


def flags_of_executed():
    names = type(sys_flags).__match_args__
    other = {"no_user_site": 0, "no_site": 0, "ignore_environment": 0, "isolated": 0, "safe_path": False}
    for i, name in enumerate(names):
        setattr(Flags, name, property(lambda flags, i=i: flags[i]))
    return Flags(other.get(name, getattr(sys_flags, name)) for name in names)


def folders_of_modules(named):
    """Of those named, the ones of this version."""
    mine = "/python%d.%d/" % sys.version_info[:2]
    return [f for f in named.split(":") if f and ("/python3/" in f or mine in f)]


def identity(path):
    try:
        st = os.stat(path)
    except OSError:
        return None
    return st.st_dev, st.st_ino, st.st_mtime_ns


def files_of(folders):
    """The .pth files that an interpreter takes when it starts."""
    found = []
    for folder in folders:
        try:
            found += [os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".pth")]
        except OSError:
            pass
    return found


def has_paths(name):
    """Whether a .pth file names folders, besides lines that are executed."""
    try:
        with open(name, encoding="utf-8") as f:
            return any(line.strip() and not line.startswith(("#", "import ", "import\t")) for line in f)
    except (OSError, ValueError):
        return True


def is_customised(folders):
    """Whether something besides their being there is to be taken from these folders when an interpreter starts."""
    return bool(files_of(folders)) or any(importlib.machinery.PathFinder.find_spec(n) for n in ("sitecustomize", "usercustomize"))


class Asked(dict):
    """An environment that knows for which of its names somebody has asked."""

    def __init__(self, values):
        super().__init__(values)
        self.names, self.all = set(), False

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)

    def __iter__(self):
        self.all = True
        return super().__iter__()


class Site:
    """What an interpreter that is executed does when it imports site. Most of it is the same for all; the rest is done in each region."""

    def __init__(self, paths, trusted):
        """trusted: the folders that root alone can write. With others on the path nothing of it is taken ahead."""
        folders = site.getsitepackages([sys.prefix, sys.exec_prefix])
        there = [f for f in folders if os.path.isdir(f)]
        site.setquit(), site.setcopyright(), site.sethelper(), site.enablerlcompleter()
        self.paths = ["/lethe/python"] + paths
        sys.path[:] = self.paths + there
        self.looked = [os.path.dirname(os.__file__), "/lethe/python"] + folders
        self.looked = {f: identity(f) for f in self.looked}
        self.customised = is_customised(folders)
        self.asked, self.same = None, True  # asked: of what was taken ahead
        site.ENABLE_USER_SITE = True
        if self.customised and set(there) <= set(trusted) and not any(map(has_paths, files_of(there))):
            self.take(os.environ._data[b"PATH"])

    def take(self, path):
        """What is asked for in the environment has to be the same in a region, and nothing may be said: then this counts as done there."""
        kept, streams, said = os.environ._data, (sys.stdout, sys.stderr), io.StringIO()
        self.asked = Asked({b"PATH": path, **USUAL, **AHEAD})
        os.environ._data = os.environb._data = self.asked
        sys.stdout = sys.stderr = said
        try:
            site.addsitepackages(set(sys.path))
            site.execsitecustomize()
            site.execusercustomize()
        finally:
            os.environ._data = os.environb._data = kept
            sys.stdout, sys.stderr = streams
        self.same = not self.asked.all and not said.getvalue()
        self.looked = {f: identity(f) for f in self.looked}

    def enter(self, environment):
        """In a region, before anything of the skill's: what it sees there is looked at."""
        user = os.fsdecode(environment.get(b"HOME", b"/work")) + "/.local"
        differs = identity(user) is not None or any(identity(f) != was for f, was in self.looked.items())
        if self.asked is not None:
            self.same = self.same and not differs
        elif self.customised or differs:
            sys.path[:] = self.paths
            site.main()

    def fits(self, environment):
        """False: only an interpreter that is executed takes what there is to be taken."""
        return self.asked is None or self.same and all(environment.get(n) == self.asked.get(n) for n in self.asked.names)


def take_words():
    """The file that arguments and environment came in is overwritten."""
    words = b""
    while part := os.pread(WORDS_FD, 1 << 20, len(words)):
        words += part
    os.pwrite(WORDS_FD, bytes(len(words)), 0)
    os.close(WORDS_FD)
    return words


def parse(words):
    """Arguments as text, the environment as bytes."""
    count, *words = words.split(b"\0")[:-1]
    count = int(count)
    return [os.fsdecode(w) for w in words[:count]], dict(w.split(b"=", 1) for w in words[count:] if b"=" in w)


def decode(words):
    """The same from what a launch spec has (schema/launch.h): search, argv, env."""
    at, lists = 4 + 4 + int.from_bytes(words[4:8], "little") + 1, []
    for _ in range(2):
        count, at, texts = int.from_bytes(words[at:at + 4], "little"), at + 4, []
        for _ in range(count):
            n = int.from_bytes(words[at:at + 4], "little")
            texts.append(words[at + 4:at + 4 + n])
            at += n + 5
        lists.append(texts)
    return [os.fsdecode(w) for w in lists[0]], dict(w.split(b"=", 1) for w in lists[1] if b"=" in w)


def is_ahead():
    """Whether its words are still to come."""
    try:
        os.fstat(SPEC)
    except OSError:
        return False
    return True


def wait_for_words():
    """Returns as parse(). The C library has no environment yet."""
    os.write(LIFELINE, b"w")
    take = os.read(LIFELINE, 8)
    if len(take) != 8:
        os._exit(127)
    argv, environment = decode(os.pread(SPEC, int.from_bytes(take[4:], "little"), int.from_bytes(take[:4], "little")))
    os.close(LIFELINE)
    os.close(SPEC)
    put_all(environment)
    return argv, environment


def put_all(environment):
    for name, value in environment.items():
        os.putenv(name, value)


def look_up(program, path):
    for place in [program] if "/" in program else [d + "/" + program for d in os.fsdecode(path).split(":")]:
        if os.access(place, os.X_OK):
            return os.path.samefile(place, sys.executable)
    return False


def read_all(name):
    """A file's bytes, or None."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    text = b""
    try:
        while part := os.read(fd, 1 << 16):
            text += part
    except OSError:  # a folder
        text = None
    os.close(fd)
    return text


def folder_of(name):
    """Where the interpreter looks first for what a script imports."""
    folder, _, base = name.rpartition("/")
    if folder == "/skill" and base not in ("", ".", ".."):
        try:
            os.readlink(name)
        except OSError:
            return folder
    return os.path.dirname(os.path.realpath(name))


def source(argv, this):
    """What is to run: (name, code text), or None when only an interpreter of its own can."""
    if len(argv) < 2 or not this:
        return None
    if argv[1] == "-c" and len(argv) > 2:
        sys.argv, sys.path[0] = ["-c"] + argv[3:], ""
        return "<string>", argv[2]
    if argv[1].startswith("-"):
        return None
    text = read_all(argv[1])
    if text is None or text[:2] == b"PK":
        return None
    sys.argv, sys.path[0] = argv[1:], folder_of(argv[1])
    return argv[1], text


def run(name, text):
    """As the interpreter runs its main module. Returns the exit status."""
    main = types.ModuleType("__main__")
    main.__builtins__, main.__annotations__ = sys.modules["builtins"], {}
    if name != "<string>":
        main.__file__, main.__cached__, main.__loader__ = name, None, importlib.machinery.SourceFileLoader("__main__", name)
    else:
        main.__loader__ = importlib.machinery.BuiltinImporter
    sys.modules["__main__"] = main
    code = 0
    try:
        exec(compile(text, name, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as e:
        code = e.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as e:
        e = e.with_traceback(e.__traceback__.tb_next)
        sys.excepthook(type(e), e, e.__traceback__)
        code = 1
    return code or 0


def flush(code):
    for f in (sys.stdout, sys.stderr):
        try:
            f.flush()
        except (OSError, ValueError, AttributeError):
            code = code or 120
    return code


def rehearse(names):
    """All that comes between the words and the end of what runs, with others."""
    main_module, argv, first = sys.modules["__main__"], sys.argv, sys.path[0]
    own(parse(b"2\0python3\0/skill/main.py\0PATH=/bin\0PYTHONPATH=\0")[1])
    environment = decode(WORDS)[1]
    put_all(environment)
    for name in environment:
        os.unsetenv(name)
    source(["python3", "-c", ""], True)
    source(["python3", __file__], True)
    flush(run(__file__, "import sys\n" + "".join("import %s\n" % n for n in names)))
    folder_of("/skill/none"), read_all("/skill/none")
    sys.modules["__main__"], sys.argv, sys.path[0] = main_module, argv, first


def begin(where, path, this, names):
    """The library has set the environment already, but Python keeps its own copy. this: whether the name `python3` is this interpreter in `path`."""
    ahead = is_ahead()
    if ahead:  # what is written to before the words come need not be copied after
        rehearse(names)
        where.enter(AHEAD)
    argv, environment = wait_for_words() if ahead else parse(take_words())
    os.environ._data.clear()
    os.environ._data.update(environment)
    what = None
    if own(environment) == USUAL:
        if not ahead:
            where.enter(environment)
    if own(environment) == USUAL and where.fits(environment):
        sys.path.insert(0, "")
        known = argv[0] == sys.executable or (argv[0] == "python3" and environment.get(b"PATH") == path)
        what = source(argv, argv[0] == sys.executable or this if known else look_up(argv[0], environment.get(b"PATH", b"")))
    sys.orig_argv = argv
    if what is None:
        try:
            os.execvpe(argv[0], argv, environment)
        except OSError as e:
            print("%s: %s" % (argv[0], e.strerror), file=sys.stderr)
            os._exit(127 if isinstance(e, FileNotFoundError) else 126)
    code = run(*what)
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    os._exit(flush(code) & 0xff)


def main():
    folders, *names = sys.argv[1:]
    paths, trusted = list(sys.path), folders_of_modules(folders)  # paths: of the interpreter itself
    sys.path[:] = ["/lethe/python"] + paths + trusted
    for name in names:
        importlib.import_module(name)
    path = os.environ._data[b"PATH"]
    this = look_up("python3", path)
    sys.flags = flags_of_executed()
    where = Site(paths, trusted)
    sys.path.insert(0, "")  # rehearsed with the place of a script's folder
    for _ in range(REHEARSALS):
        rehearse(names)
    del sys.path[0]
    gc.collect()
    gc.freeze()
    os.environ["LETHE_WARM"] = "1"
    if os.fork() == 0:
        begin(where, path, this, names)


main()
