#!/usr/bin/env python3
"""A document as a PDF beside it. usage: to_pdf.py DOCUMENT.docx"""
import pathlib
import sys

import office

if __name__ == "__main__":
    source = pathlib.Path(sys.argv[1])
    print(office.convert(source, "pdf", source.parent))
