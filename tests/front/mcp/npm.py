"""Programs of npm for tests: installed once into a folder outside of the build, which later runs share. LETHE_TEST_NPM names another folder."""
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.join(HERE, "package.json")


def _trusted(folder):
    """Nobody but us and root may have written there: /var/tmp is everybody's."""
    try:
        st = os.lstat(folder)
    except OSError:
        return False
    return st.st_uid in (0, os.geteuid()) and st.st_mode & 0o170022 == 0o040000


def folder():
    """The folder with node_modules, or None with a reason: no npm, or no registry."""
    said = os.environ.get("LETHE_TEST_NPM")
    if said:
        return (said, None) if os.path.isdir(os.path.join(said, "node_modules")) else (None, "LETHE_TEST_NPM has no node_modules")
    with open(PACKAGES, "rb") as f:
        name = "lethe-test-npm-" + hashlib.sha256(f.read()).hexdigest()[:16]
    for place in (os.path.join("/var/tmp", name), os.path.join("/var/tmp", "%s-%d" % (name, os.geteuid()))):
        if _trusted(place):
            return place, None
    npm = shutil.which("npm")
    if not npm:
        return None, "no npm"
    place = os.path.join("/var/tmp", name if os.geteuid() == 0 else "%s-%d" % (name, os.geteuid()))
    lock = os.open(tempfile.gettempdir() + "/.lethe-test-npm-%d" % os.geteuid(), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _trusted(place):
            return place, None
        new = tempfile.mkdtemp(prefix=name + ".", dir="/var/tmp")
        try:
            shutil.copy(PACKAGES, new)
            r = subprocess.run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts=false", "--fetch-retries=1", "--fetch-timeout=60000", "--cache", os.path.join(new, ".cache")],
                               cwd=new, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, stdin=subprocess.DEVNULL)
            if r.returncode != 0:
                return None, "npm install: " + r.stdout.decode(errors="replace")[-300:].replace("\n", " ")
            shutil.rmtree(os.path.join(new, ".cache"), ignore_errors=True)
            os.chmod(new, 0o755)
            os.rename(new, place)
            return place, None
        finally:
            shutil.rmtree(new, ignore_errors=True)
    finally:
        os.close(lock)


def node(where):
    """The package's own Node.js, which the newest of the packages need."""
    own = os.path.join(where, "node_modules", "node", "bin", "node")
    return own if os.access(own, os.X_OK) else shutil.which("node")


def program(where, package, name):
    """The script of a package's program."""
    root = os.path.join(where, "node_modules", package)
    with open(os.path.join(root, "package.json"), encoding="utf-8") as f:
        return os.path.join(root, json.load(f)["bin"][name])
