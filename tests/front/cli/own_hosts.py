"""Names that only the test knows: an /etc/hosts in a mount namespace of the test's own. To be used first of all, before account.py makes the test an ordinary user's."""
import ctypes
import os
import sys
import tempfile


def own_hosts(text):
    """The test starts once more in namespaces of its own, and has `text` as its /etc/hosts there."""
    if os.environ.get("LETHE_OWN_NAMESPACES") != "1":
        os.environ["LETHE_OWN_NAMESPACES"] = "1"
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.execvp("unshare", ["unshare", *user, "--mount", "--", sys.executable, *sys.argv])
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write(text)
        hosts.flush()
        os.chmod(hosts.name, 0o644)
        if ctypes.CDLL(None).mount(hosts.name.encode(), b"/etc/hosts", None, 4096, None) != 0:
            raise OSError("no /etc/hosts of the test's own")
