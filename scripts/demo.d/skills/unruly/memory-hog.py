#!/usr/bin/python3
"""First writes a slot, as if all were well; then takes memory, a mebibyte at a time, and touches every page of it."""
import lethe

lethe.write("unruly.mood", "wild")
hoard = []
while True:
    hoard.append(bytes([1]) * 2**20)
