"""What the scripts of this skill share: LibreOffice, and the smallest documents of Office Open XML."""
import pathlib
import subprocess
import tempfile
import xml.sax.saxutils
import zipfile

TYPES = '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>%s</Types>'
RELS = '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/></Relationships>'
PART = '<Override PartName="/%s" ContentType="application/vnd.openxmlformats-officedocument.%s.main+xml"/>'
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def convert(path, to, folder):
    """The file `path` as a `to` in `folder`, by LibreOffice with a profile of its own."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(["soffice", "-env:UserInstallation=file://" + profile, "--headless", "--convert-to", to, "--outdir", str(folder), str(path)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pathlib.Path(folder) / (pathlib.Path(path).stem + "." + to)


def _write(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in files.items():
            z.writestr(name, text)


def document(path, paragraphs):
    text = "".join("<w:p><w:r><w:t>%s</w:t></w:r></w:p>" % xml.sax.saxutils.escape(p) for p in paragraphs)
    _write(path, {"[Content_Types].xml": TYPES % (PART % ("word/document.xml", "wordprocessingml.document")), "_rels/.rels": RELS % ("officeDocument", "word/document.xml"),
                  "word/document.xml": '<?xml version="1.0"?><w:document xmlns:w="%s"><w:body>%s</w:body></w:document>' % (WORD, text)})


def _cell(value):
    if isinstance(value, str) and value.startswith("="):
        return "<c><f>%s</f></c>" % xml.sax.saxutils.escape(value[1:])
    if isinstance(value, str):
        return '<c t="inlineStr"><is><t>%s</t></is></c>' % xml.sax.saxutils.escape(value)
    return "<c><v>%r</v></c>" % value


def sheet(path, rows):
    text = "".join("<row>%s</row>" % "".join(map(_cell, row)) for row in rows)
    kind = '<Override PartName="/xl/s.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
    _write(path, {"[Content_Types].xml": TYPES % (PART % ("xl/workbook.xml", "spreadsheetml.sheet") + kind), "_rels/.rels": RELS % ("officeDocument", "xl/workbook.xml"),
                  "xl/_rels/workbook.xml.rels": RELS % ("worksheet", "s.xml"), "xl/s.xml": '<?xml version="1.0"?><worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (SHEET, text),
                  "xl/workbook.xml": '<?xml version="1.0"?><workbook xmlns="%s" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="costs" sheetId="1" r:id="r1"/></sheets></workbook>' % SHEET})
