"""Conda packages byte for byte: members of their tars with any header, and the JSON documents below info/.

base(kind, extension) is a valid package; conda_mutations.py spoils one.
"""
import bz2
import copy
import dataclasses
import hashlib
import io
import json
import struct
import zipfile

try:
    from compression import zstd
except ImportError:
    from backports import zstd

BLOCK = 512
PLACEHOLDER = "/opt/" + "placehold_" * 25
PYTHON_TIME = 1_600_000_000


@dataclasses.dataclass
class Member:
    """One member of a tar. `kind` is the type flag; `pax` goes into an extended header before it."""
    name: bytes
    data: bytes = b""
    kind: bytes = b"0"
    link: bytes = b""
    mode: int = 0o644
    pax: dict = dataclasses.field(default_factory=dict)
    size: int | None = None
    gnu: bytes = b""   # the last 167 bytes of an old GNU header
    after: bytes = b""  # follows the content, in blocks

    def header(self):
        size = len(self.data) if self.size is None else self.size
        name, prefix = self.name, b""
        if len(name) > 100:
            cut = name.rfind(b"/", 0, 156)
            prefix, name = name[:cut], name[cut + 1:]
        magic = b"ustar  \0" if self.gnu else b"ustar\x0000"
        tail = self.gnu or prefix
        block = struct.pack("100s8s8s8s12s12s8s1s100s8s32s32s8s8s155s12s", name, b"%07o\0" % self.mode, b"0000000\0",
                            b"0000000\0", b"%011o\0" % size, b"%011o\0" % PYTHON_TIME, b" " * 8, self.kind, self.link, magic,
                            b"", b"", b"", b"", tail[:155], tail[155:])
        return block[:148] + b"%06o\0 " % sum(block) + block[156:]

    def place(self):
        """The path that readers give it."""
        name = self.pax.get("GNU.sparse.name", self.pax.get("path", self.name))
        text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
        return "/".join(part for part in text.split("/") if part not in ("", "."))

    def bytes(self):
        made = b""
        if self.pax:
            records = b"".join(pax_record(key, value) for key, value in self.pax.items())
            made = Member(b"PaxHeaders/x", records, kind=b"x").bytes()
        return made + self.header() + padded(self.data) + self.after


def pax_record(key, value):
    text = b" " + key.encode() + b"=" + (value if isinstance(value, bytes) else value.encode()) + b"\n"
    size = len(text)
    while size != len(text) + len(str(size)):
        size = len(text) + len(str(size))
    return str(size).encode() + text


def padded(data):
    return data + b"\0" * (-len(data) % BLOCK)


@dataclasses.dataclass
class Package:
    """`documents`: name below info/ → object or bytes. `info`, `payload`: further members of the two parts."""
    name: str
    kind: str
    extension: str
    version: str = "1.0"
    build: str = "0"
    documents: dict = dataclasses.field(default_factory=dict)
    info: list = dataclasses.field(default_factory=list)
    payload: list = dataclasses.field(default_factory=list)
    listed: object = None  # changes the entries of paths.json
    outer: object = None   # changes the bytes of the file
    tars: dict = dataclasses.field(default_factory=dict)  # "info", "pkg" → bytes in place of that part's tar; "" → of the .tar.bz2

    @property
    def subdir(self):
        return "linux-64" if self.kind == "native" else "noarch"

    @property
    def file_name(self):
        return f"{self.name}-{self.version}-{self.build}{self.extension}"

    def find(self, name):
        return next(member for member in self.payload if member.name == name)

    def paths(self):
        """What most readers find."""
        entries = {}
        for member in self.payload:
            name = member.place()
            if member.kind in b"34569xgLK" or name.startswith("info/"):
                continue
            link = member.kind == b"2"
            source = next((other for other in self.payload if other.name == member.link), member) if member.kind == b"1" else member
            data = b"" if link else source.data
            entries[name] = {"_path": name, "path_type": "softlink" if link else "hardlink",
                             "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
            if PLACEHOLDER.encode() in data:
                entries[name] |= {"prefix_placeholder": PLACEHOLDER, "file_mode": "text"}
        entries = list(entries.values())
        if self.listed:
            entries = self.listed(entries)
        return {"paths": entries, "paths_version": 1}

    def info_members(self):
        documents = {"paths.json": self.paths(), **self.documents}
        members = [Member(b"info/" + name.encode(), value if isinstance(value, bytes) else json.dumps(value).encode())
                   for name, value in sorted(documents.items()) if value is not None]
        return members + self.info

    def bytes(self):
        return self.outer(self.packed()) if self.outer else self.packed()

    def packed(self):
        info, payload = self.info_members(), self.payload
        end = b"\0" * (2 * BLOCK)
        if self.extension == ".tar.bz2":
            return bz2.compress(self.tars.get("", b"".join(member.bytes() for member in info + payload) + end))
        packed = io.BytesIO()
        stem = self.file_name.removesuffix(".conda")
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(zipfile.ZipInfo("metadata.json"), json.dumps({"conda_pkg_format_version": 2}))
            for part, members in (("pkg", payload), ("info", info)):
                tar = self.tars.get(part, b"".join(member.bytes() for member in members) + end)
                archive.writestr(zipfile.ZipInfo(f"{part}-{stem}.tar.zst"), zstd.compress(tar))
        return packed.getvalue()


def index_of(package):
    index = {"name": package.name, "version": package.version, "build": package.build, "build_number": 0, "depends": [],
             "constrains": [], "subdir": package.subdir, "license": "MIT", "timestamp": 1_600_000_000_000}
    if package.kind == "native":
        return index | {"arch": "x86_64", "platform": "linux"}
    if package.kind == "python":
        index["depends"] = ["python"]
    return index | {"noarch": package.kind, "arch": None, "platform": None}


def base(name, kind, extension):
    """A valid package. kind: native, python, generic."""
    package = Package(name, kind, extension)
    package.documents = {"index.json": index_of(package), "about.json": {"license": "MIT", "home": "https://example.org"},
                         "licenses/LICENSE": b"free\n"}
    text = f"root={PLACEHOLDER}\n".encode()
    if kind == "python":
        package.documents["link.json"] = {"noarch": {"type": "python", "entry_points": ["toy = toy.cli:main"]},
                                          "package_metadata_version": 1}
        package.payload = [Member(b"python-scripts/tool", b"#!/bin/sh\n", mode=0o755),
                           Member(b"share/toy/root", text),
                           Member(b"site-packages/toy/__init__.py", b""),
                           Member(b"site-packages/toy/cli.py", b"def main(): pass\n")]
    else:
        package.documents["run_exports.json"] = {"weak": [f"{name} >=1.0"]}
        package.payload = [Member(b"bin/toy", b"#!/bin/sh\n", mode=0o755), Member(b"share/toy/a", b"some data\n"),
                           Member(b"share/toy/link", kind=b"2", link=b"a", mode=0o777), Member(b"share/toy/root", text)]
    return copy.deepcopy(package)
