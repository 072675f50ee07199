#!/usr/bin/python3
"""Programs from Debian's packages, unchanged, in regions: as they are called, with the options that a user would give. TAP.

A row of PROGRAMS is a case: a program that is not installed is none. The large ones (an office program, a browser, compilers of Go, Rust and Java) are asked
for by the environment: LETHE_TEST_PROGRAMS=1, and then have to be installed (scripts/setup programs).

usage: programs.py LETHE root|user
"""
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, ENV, add, case, check, main, run, same  # noqa: E402

LARGE = os.environ.get("LETHE_TEST_PROGRAMS") == "1"
IN, OUT = os.path.join(DIR, "in"), os.path.join(DIR, "out")
VOLUME = "-v %s:/in" % IN
OFFICE = "--proc --network loopback --memory 1g --scratch 200m --pids-limit 200 --timeout 100s"
BROWSER = "--proc --network loopback --memory 2g --scratch 400m --pids-limit 400 --nofile 1024 --timeout 100s"
COMPILER = "--memory 1g --scratch 600m --pids-limit 200 --timeout 120s"
SHEET = """<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" office:mimetype="application/vnd.oasis.opendocument.spreadsheet" office:version="1.2"><office:body><office:spreadsheet>
<table:table table:name="s"><table:table-row><table:table-cell office:value-type="float" office:value="40"/><table:table-cell office:value-type="float" office:value="2"/>
<table:table-cell table:formula="of:=[.A1]+[.B1]"/></table:table-row></table:table></office:spreadsheet></office:body></office:document>"""
SLIDES = """<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 office:mimetype="application/vnd.oasis.opendocument.presentation" office:version="1.2"><office:body><office:presentation><draw:page draw:name="p"/></office:presentation>
</office:body></office:document>"""
FILES = {
    "text.txt": "A text.\n", "sheet.fods": SHEET, "slides.fodp": SLIDES, "page.html": "<!doctype html><title>t</title><h1 id=h>A page</h1><script>h.textContent = 6 * 7</script>",
    "hello.c": "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n", "hello.go": "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\") }\n",
    "hello.rs": "fn main() { println!(\"hello\"); }\n", "Hello.java": "public class Hello { public static void main(String[] a) { System.out.println(\"hello\"); } }\n",
    "sum.py": "import multiprocessing, sys\nif __name__ == '__main__':\n    with multiprocessing.Pool(2) as p:\n        print(sum(p.map(abs, range(-3, 4))))\n",
}
OS = "const o = require('os'); console.log(o.cpus().length > 0, o.totalmem() === 1 << 30, o.freemem() > 0, o.uptime() > 0, o.hostname(), o.userInfo().username, o.loadavg().length)"
SERVED = """python3 -m http.server --bind 127.0.0.1 --directory /in 8000 2>/dev/null & server=$!
until python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8000))' 2>/dev/null; do :; done
chromium --headless --no-sandbox --disable-gpu --dump-dom http://127.0.0.1:8000/page.html
chromium --headless --no-sandbox --disable-gpu --screenshot=/out/served.png http://127.0.0.1:8000/page.html; kill $server"""


@dataclass
class Program:
    """What `lethe run OPTIONS --exec /bin/sh -c SCRIPT` prints."""
    name: str
    needs: str
    options: str
    script: str
    out: str  # what has to be in standard output
    large: bool = False
    after: object = None  # a check of the files in OUT


def is_picture(name):
    def look():
        with open(os.path.join(OUT, name), "rb") as f:
            head = f.read(24)
        width, height = struct.unpack(">II", head[16:24])
        check(head.startswith(b"\x89PNG") and width > 100 and height > 100, head)
    return look


def are_pdf(*names):
    def look():
        for name in names:
            with open(os.path.join(OUT, name), "rb") as f:
                check(f.read(5) == b"%PDF-", name)
    return look


TO = VOLUME + " -v %s:/out:rw " % OUT
PROGRAMS = [
    Program("script makes a terminal", "script", "--terminals", "script -qc 'tty; stty size' /tmp/typescript", "/dev/pts/0"),
    Program("tmux has panes", "tmux", "--terminals --network loopback --pids-limit 100 -e TERM=xterm",
            "tmux -S /tmp/tmux -f /dev/null new-session -d -x 80 -y 24 'tty; echo in a pane; tmux -S /tmp/tmux wait-for -S done; exec cat' && "
            "tmux -S /tmp/tmux wait-for done && tmux -S /tmp/tmux capture-pane -p; tmux -S /tmp/tmux kill-server", "in a pane"),  # A-4 A-7
    Program("busybox by a link", "busybox", "", "ln -s /bin/busybox /work/expr && /work/expr 6 '*' 7", "42"),
    Program("a program of /etc/alternatives", "awk", "", "awk 'BEGIN { print 6 * 7 }'", "42"),
    Program("perl", "perl", "", "perl -MPOSIX -e 'print 6 * 7, \" \", scalar getpwuid($<), \" \", (POSIX::uname())[1]'", "42 skill lethe"),
    Program("gcc", "gcc", VOLUME, "gcc -o /work/hello /in/hello.c && /work/hello", "hello"),
    Program("git", "git", "", "git init -q x && cd x && echo a >a && git add a && git -c user.name=a -c user.email=a@example.org commit -qm first && git clone -q . ../y && "
            "git -C ../y log --format=%s", "first"),
    Program("python with processes", "python3", VOLUME + " --proc", "python3 /in/sum.py", "12"),
    Program("process substitution", "bash", "", "exec bash -c 'diff <(echo a) <(echo b); paste -d, <(echo 4) <(echo 2)'", "4,2"),
    Program("ps", "ps", "--proc", "ps -e -o comm=", "ps"),
    Program("node and its module os", "node", "--proc --memory 1g", "exec node -e \"%s\"" % OS, "true true true true lethe skill 3"),
    Program("sqlite", "sqlite3", "", "sqlite3 /work/db 'create table t(a); insert into t values (6 * 7); select a from t'", "42", large=True),
    Program("ruby", "ruby", "", "ruby -e 'puts 6 * 7'", "42", large=True),
    Program("pandoc", "pandoc", VOLUME + " --memory 1g", "pandoc /in/text.txt -t html", "<p>A text.</p>", large=True),
    Program("ffmpeg", "ffmpeg", "--memory 1g --pids-limit 100", "ffmpeg -v error -f lavfi -i testsrc=d=1 x.mkv && ffprobe -v error -show_entries format=duration x.mkv", "duration=1", large=True),
    Program("imagemagick", "convert", "--memory 1g", "convert -size 60x50 xc:red x.png && identify x.png", "60x50", large=True),
    Program("java", "javac", COMPILER + " --proc " + VOLUME, "javac -d . /in/Hello.java && java Hello", "hello", large=True),
    Program("go", "go", COMPILER + " --cpu-time 120s -e GOCACHE=/work/cache -e GO111MODULE=off " + VOLUME, "go run /in/hello.go", "hello", large=True),
    Program("rustc", "rustc", COMPILER + " --proc " + VOLUME, "/usr/bin/rustc -o hello /in/hello.rs && ./hello", "hello", large=True),
    Program("an office program makes documents", "soffice", OFFICE + " " + TO,
            "soffice --headless --convert-to docx --outdir /out /in/text.txt && soffice --headless --convert-to xlsx --outdir /out /in/sheet.fods && "
            "soffice --headless --convert-to pptx --outdir /out /in/slides.fodp", "slides.pptx", large=True),
    Program("an office program makes PDF of documents", "soffice", OFFICE + " " + TO,
            "soffice --headless --convert-to pdf --outdir /out /out/text.docx /out/sheet.xlsx /out/slides.pptx", "slides.pdf", large=True,
            after=are_pdf("text.pdf", "sheet.pdf", "slides.pdf")),
    Program("an office program calculates a sheet", "soffice", OFFICE + " " + VOLUME, "soffice --headless --convert-to csv /in/sheet.fods >/dev/null && cat sheet.csv", "40,2,42", large=True),
    Program("a browser shows a file of a volume", "chromium", BROWSER + " " + TO,
            "exec chromium --headless --no-sandbox --disable-gpu --screenshot=/out/file.png file:///in/page.html", "", large=True, after=is_picture("file.png")),
    Program("a browser shows a page of a server in its region", "chromium", BROWSER + " " + TO, SERVED, '<h1 id="h">42</h1>', large=True, after=is_picture("served.png")),
]


def prepare():
    for d in (IN, OUT):
        os.makedirs(d)
    for name, text in FILES.items():
        with open(os.path.join(IN, name), "w", encoding="utf-8") as f:
            f.write(text)


def runs(p):
    def one():
        check(shutil.which(p.needs, path=ENV["PATH"]), p.needs + " is not installed")
        r = run(*p.options.split(), "--exec", "/bin/sh", "-c", p.script, timeout=300)
        check(r.code == 0 and p.out in r.out.decode(errors="replace"), r, r.err[-3000:])
        if p.after:
            p.after()
    return one


@case
def an_environment_of_python_with_a_package_of_its_own():
    """The interpreter is a link; its prefix and its packages are the environment's, by its own path and by another."""
    venv = os.path.join(DIR, "venv")
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    packages = subprocess.run([venv + "/bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True, text=True).stdout.strip()
    with open(os.path.join(packages, "only_here.py"), "w", encoding="utf-8") as f:
        f.write("answer = 42\n")
    asks = "import sys, only_here; print(sys.prefix, only_here.answer)"
    for place, program in ((venv, venv + "/bin/python"), ("/venv", "/venv/bin/python3")):
        r = run("-v", "%s:%s" % (venv, place), "--exec", program, "-c", asks)
        same((r.code, r.out.decode()), (0, "%s 42\n" % place), r)
    with open(os.path.join(venv, "bin", "tool"), "w", encoding="utf-8") as f:
        f.write("#!/venv/bin/python3\n%s\n" % asks)
    os.chmod(os.path.join(venv, "bin", "tool"), 0o755)
    for words in (("-w", "/venv", "--exec", "bin/tool"), ("--exec", "/venv/bin/tool")):
        r = run("-v", venv + ":/venv", *words)
        same((r.code, r.out.decode()), (0, "/venv 42\n"), r)


@case
def a_program_of_any_size():
    """A file of the host's, larger than what a skill may have in its folder; a hole, which costs nothing."""
    big = os.path.join(DIR, "big", "busybox")
    os.mkdir(os.path.dirname(big))
    shutil.copy("/bin/busybox", big)
    os.truncate(big, 300 << 20)
    os.chmod(big, 0o755)
    r = run("-v", big + ":/opt/busybox", "--exec", "/opt/busybox", "echo", "here")
    same((r.code, r.out), (0, b"here\n"), r)
    r = run("--exec", big, "echo", "there")
    same((r.code, r.out), (0, b"there\n"), r)


prepare()
for row in PROGRAMS:
    if LARGE or (not row.large and shutil.which(row.needs, path=ENV["PATH"])):
        add(row.name, runs(row))
main()
