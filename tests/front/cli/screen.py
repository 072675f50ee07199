"""A real terminal for tests: tmux, with a shell in it."""
import os
import subprocess

from tap import DIR, ENV, same, wait_for


class Tmux:
    def __init__(self, rows=25, columns=90):
        self.at = os.path.join(DIR, "tmux")
        self("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "/bin/sh")

    def __call__(self, *argv):
        p = subprocess.run(["tmux", "-S", self.at, *argv], env=dict(ENV, TERM="xterm", PS1="$ ", SHELL="/bin/sh"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        same((p.returncode, p.stderr), (0, ""), argv)
        return p.stdout

    def keys(self, *keys):
        self("send-keys", *keys)

    def until(self, text):
        wait_for(lambda: text in self("capture-pane", "-p"), "%r on the screen: %r" % (text, self("capture-pane", "-p")))
        return self("capture-pane", "-p")
