"""Bundles as make-bundle.c writes them, and changes of their lines: for the tests of damaged files."""
import subprocess

HEAD, INTENT, CONTEXT, KEYS, SCHEMAS, EMPTY, FIRST = range(7)


def bundle(make, seed, steps):
    return subprocess.run([make, str(seed), str(steps)], check=True, stdout=subprocess.PIPE).stdout


def set_line(i, old, new):
    def change(lines):
        assert old in lines[i], (i, old)
        lines[i] = lines[i].replace(old, new, 1)
    return change


def swap(i, k):
    def change(lines):
        lines[i], lines[k] = lines[k], lines[i]
    return change


def foreign(make):
    """An entry of another object, before the end."""
    return lambda lines: lines.insert(-2, bundle(make, 6, 9).split(b"\n")[FIRST + 1])
