"""Wheels made byte by byte, right or wrong in whatever way is asked for.

Nothing here goes through a zip library, because no library writes what most cases need. wheel_cases.py has them.
"""
import base64
import dataclasses
import hashlib
import struct
import zlib

INFO = "toy-1.0.dist-info/"
NAME = "toy-1.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
MAX32 = 0xFFFFFFFF
DESCRIPTOR, UTF8 = 0x08, 0x800


@dataclasses.dataclass
class Member:
    """One member; what is None follows from the content. `local_…` is in the local header alone."""
    name: bytes
    content: bytes = b""
    method: int = 0
    flags: int = 0
    central_flags: int | None = None
    version: int = 20
    mode: int = 0o100644
    packed: bytes | None = None
    crc: int | None = None
    size: int | None = None
    packed_size: int | None = None
    local_name: bytes | None = None
    local_crc: int | None = None
    local_size: int | None = None
    local_packed_size: int | None = None
    local_extra: bytes = b""
    extra: bytes = b""
    comment: bytes = b""
    offset: int | None = None
    after: bytes = b""
    in_central: bool = True
    in_local: bool = True


@dataclasses.dataclass
class Zip:
    """What surrounds the members."""
    prefix: bytes = b""
    before_directory: bytes = b""
    before_end: bytes = b""
    suffix: bytes = b""
    comment: bytes = b""
    count: int | None = None
    disk: int = 0
    directory_size_more: int = 0
    directory_offset_more: int = 0
    zip64: bytes | None = None  # extensible data of a ZIP64 end record; None: there is none
    zip64_locator: bool = True
    plain_end_is_full: bool = False


def first(value, other):
    return other if value is None else value


def packed(member):
    if member.packed is not None:
        return member.packed
    if member.method == 8:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        return deflate.compress(member.content) + deflate.flush()
    return member.content


def zip_bytes(members, shape=None):
    """The archive, as the fields say."""
    shape = shape or Zip()
    body, central, count = shape.prefix, b"", 0
    for member in members:
        data = packed(member)
        crc = first(member.crc, zlib.crc32(member.content))
        size, stored = first(member.size, len(member.content)), first(member.packed_size, len(data))
        offset = first(member.offset, len(body))
        name = first(member.local_name, member.name)
        blank = bool(member.flags & DESCRIPTOR)
        if member.in_local:
            body += struct.pack("<IHHHIIIIHH", 0x04034B50, member.version, member.flags, member.method, 0x210000,
                                first(member.local_crc, 0 if blank else crc),
                                first(member.local_packed_size, 0 if blank else stored),
                                first(member.local_size, 0 if blank else size), len(name), len(member.local_extra))
            body += name + member.local_extra + data + member.after
        if member.in_central:
            count += 1
            central += struct.pack("<IHHHHIIIIHHHHHII", 0x02014B50, 0x0314, member.version,
                                   first(member.central_flags, member.flags), member.method, 0x210000, crc, stored, size, len(member.name), len(member.extra),
                                   len(member.comment), 0, 0, member.mode << 16, offset)
            central += member.name + member.extra + member.comment
    body += shape.before_directory
    start = len(body) + shape.directory_offset_more
    size = len(central) + shape.directory_size_more
    body += central + shape.before_end
    count = first(shape.count, count)
    if shape.zip64 is not None:
        at = len(body)
        body += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44 + len(shape.zip64), 45, 45, 0, 0, count, count, size,
                            start) + shape.zip64
        if shape.zip64_locator:
            body += struct.pack("<IIQI", 0x07064B50, 0, at, 1)
    if shape.plain_end_is_full:
        count, size, start = 0xFFFF, MAX32, MAX32
    body += struct.pack("<IHHHHIIH", 0x06054B50, shape.disk, shape.disk, count, count, size, start,
                        len(shape.comment))
    return body + shape.comment + shape.suffix


def row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def field(identity, data):
    """An extra field."""
    return struct.pack("<HH", identity, len(data)) + data


def zip64_sizes(*values):
    return field(1, b"".join(struct.pack("<Q", value) for value in values))


def wheel(extra=(), shape=None, record=None, info=INFO, **documents):
    """A small right wheel with `extra` members before its documents. METADATA=…, WHEEL=…, entry_points=…: other
    texts or bytes, None leaves one out; record: a function of the right RECORD."""
    texts = {"METADATA": METADATA, "WHEEL": WHEEL, **{key.replace("_txt", ".txt"): value
                                                      for key, value in documents.items()}}
    members = [Member(b"toy/__init__.py", b"x = 1\n"), *extra]
    for name, text in texts.items():
        if text is not None:
            members.append(Member((info + name).encode(), text if isinstance(text, bytes) else text.encode()))
    listed = {}
    for member in members:
        if not member.name.endswith(b"/"):
            listed[member.name.decode("utf-8", "surrogateescape")] = member.content
    text = "".join(row(name, data) for name, data in listed.items()) + info + "RECORD,,\n"
    if record is not None:
        text = record(text)
    if text is not None:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        members.append(Member((info + "RECORD").encode(), data))
    return zip_bytes(members, shape)


def with_first(**changes):
    """The right wheel with one more member, toy/data, changed."""
    changes.setdefault("content", b"some data, some data, some data\n")
    return wheel([Member(**{"name": b"toy/data", **changes})])


def descriptor(data, stored, signature=True, size=None, long=False):
    """`long`: sizes of 8 bytes, as a ZIP64 field in the local header announces them."""
    text = struct.pack("<IQQ" if long else "<III", zlib.crc32(data), stored, first(size, len(data)))
    return (b"PK\x07\x08" if signature else b"") + text
