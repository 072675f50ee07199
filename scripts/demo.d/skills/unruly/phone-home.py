#!/usr/bin/python3
"""usage: phone-home.py HOST PORT"""
import socket
import sys

try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as s:
        s.sendall(b"all that I have seen\n")
    print("sent")
except OSError as e:
    sys.exit("could not phone home: %s" % e)
