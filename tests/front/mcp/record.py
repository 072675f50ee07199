#!/usr/bin/python3
"""Stands between a client and a server of the Model Context Protocol and writes what both say, a line each: {"from": "client" | "server", "message"}.

usage: record.py FILE COMMAND [ARGS...]
"""
import json
import subprocess
import sys
import threading

with open(sys.argv[1], "a", encoding="utf-8") as log:
    lock = threading.Lock()
    p = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def note(who, line):
        with lock:
            log.write(json.dumps({"from": who, "message": json.loads(line)}, sort_keys=True) + "\n")
            log.flush()

    def answers():
        for line in p.stdout:
            note("server", line)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    t = threading.Thread(target=answers)
    t.start()
    for asked in sys.stdin.buffer:
        note("client", asked)
        p.stdin.write(asked)
        p.stdin.flush()
    p.stdin.close()
    t.join()
    sys.exit(p.wait())
