"""A build backend (PEP 517) that needs nothing but Python, so that pip installs this folder without an index and without a network."""
import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def _field(name):
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as f:
        return re.search(r'^%s = "(.*)"$' % name, f.read(), re.M).group(1)


def _metadata():
    version = _field("version")
    folder = "lethe_client-%s.dist-info" % version
    text = "Metadata-Version: 2.1\nName: lethe-client\nVersion: %s\nSummary: %s\nRequires-Python: %s\nLicense: Apache-2.0\n"
    return folder, [("METADATA", text % (version, _field("description"), _field("requires-python"))),
                    ("WHEEL", "Wheel-Version: 1.0\nGenerator: lethe\nRoot-Is-Purelib: true\nTag: py3-none-any\n")]


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder, metadata = _metadata()
    files = []
    for name in sorted(os.listdir(os.path.join(HERE, "lethe"))):
        if name.endswith(".py") or name == "py.typed":
            with open(os.path.join(HERE, "lethe", name), "rb") as f:
                files.append(("lethe/" + name, f.read()))
    files += [(folder + "/" + name, text.encode()) for name, text in metadata]
    record = ""
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(data))
    files.append((folder + "/RECORD", (record + folder + "/RECORD,,\n").encode()))
    wheel = "lethe_client-%s-py3-none-any.whl" % _field("version")
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same bytes from each build
            info.external_attr = 0o100644 << 16
            z.writestr(info, data, zipfile.ZIP_DEFLATED)
    return wheel
