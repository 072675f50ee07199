"""Listens on a free port of 127.0.0.1. Writes the port, then a line for each connection, to the file that it is given."""
import socket
import sys

with socket.socket() as s, open(sys.argv[1], "w", buffering=1, encoding="utf-8") as log:
    s.bind(("127.0.0.1", 0))
    s.listen(8)
    print(s.getsockname()[1], file=log)
    while True:
        peer, _ = s.accept()
        with peer:
            peer.settimeout(5)
            print("heard: " + peer.recv(200).decode(errors="replace").strip(), file=log)
