#!/usr/bin/env python3
"""Calculates the formulas of a spreadsheet in place, and prints its values as CSV. usage: recalc.py SHEET.xlsx"""
import pathlib
import shutil
import sys
import tempfile

import office


def recalc(path):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(office.convert(path, "xlsx", folder), path)
        return office.convert(path, "csv", folder).read_text(encoding="utf-8")


if __name__ == "__main__":
    print(recalc(pathlib.Path(sys.argv[1])), end="")
