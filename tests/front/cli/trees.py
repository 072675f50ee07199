"""Trees of files, for tests of layers above them."""
import os
import shutil
import stat


def tree(top):
    """Each path below a folder: type and mode, and content, or the text of a link."""
    found = {}
    for base, dirs, files in os.walk(os.fsencode(top)):
        for name in dirs + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            what = None
            if stat.S_ISLNK(st.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(st.st_mode) and os.access(path, os.R_OK):
                with open(path, "rb") as f:
                    what = f.read()
            found[os.path.relpath(path, os.fsencode(top))] = (oct(st.st_mode), what)
    return found


def make(top, files):
    """The folder anew, with these files. Returns its tree."""
    for base, dirs, _ in os.walk(top):
        for d in dirs:
            if not os.path.islink(os.path.join(base, d)):
                os.chmod(os.path.join(base, d), 0o700)
    shutil.rmtree(top, ignore_errors=True)
    os.makedirs(top)
    for name, text in files.items():
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return tree(top)
