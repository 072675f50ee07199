"""Whose tests these are. To be imported, and asked, before tap.py, which makes a folder for them."""
import os


def use(who):
    """user: an ordinary one, where we are root; anything else leaves us who we are."""
    if who == "user" and os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        os.environ.pop("TMPDIR", None)
