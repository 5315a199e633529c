import base64
import gzip
import hashlib
import io
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib

raw = base64.b64decode("aGVsbG8=")
print(hashlib.sha256(raw).hexdigest(), zlib.crc32(raw), struct.pack("<I", 1))
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as archive:
    archive.writestr("a.txt", raw)
with gzip.open("out.gz", "wt") as file:
    file.write("text")
with tempfile.TemporaryDirectory() as folder:
    with tarfile.open(folder + "/a.tar", "w") as archive:
        archive.add("out.gz")
pattern = re.compile(r"(?P<name>\w+)=(?P<value>\d+)")
print([m.groupdict() for m in pattern.finditer("a=1 b=2")], io.StringIO("x").read())
