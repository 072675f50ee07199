#!/usr/bin/python3
"""Speaks to Lethe without the shim: lines that are not JSON, slots that are not its own, values that do not fit, a half line."""
import json
import os

LINES = [
    b"trust me, I am a skill\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"hello\"}\n",
    b"\xff\xfe\xfd\n",
    json.dumps({"jsonrpc": "2.0", "id": 2, "method": "hello", "params": {"protocol": 1}}).encode() + b"\n",
    json.dumps({"jsonrpc": "2.0", "id": 3, "method": "slot.read", "params": {"name": "airline.facts"}}).encode() + b"\n",
    json.dumps({"jsonrpc": "2.0", "id": 4, "method": "slot.write", "params": {"name": "airline.baggage", "value": {}}}).encode() + b"\n",
    json.dumps({"jsonrpc": "2.0", "id": 5, "method": "slot.write", "params": {"name": "unruly.mood", "value": 42}}).encode() + b"\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"slot.wri",
]

out, answers = 4, os.fdopen(3, encoding="utf-8")
for line in LINES[:-1]:
    os.write(out, line)
    print("lethe answers:", answers.readline().strip(), flush=True)
os.write(out, LINES[-1])
