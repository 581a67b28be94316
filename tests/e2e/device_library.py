"""Libraries with GPU code, made without CUDA: fixtures/elf/device.S and device.cpp, or containers of one's own behind
wrappers whose pointers the linker relocates.
"""

import pathlib
import struct
import subprocess
import typing

PTX, CUBIN = 1, 2
CHIP = 0x100000  # sm_90a
FAMILY = 0x200000  # sm_100f
FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "elf"


class Element(typing.NamedTuple):
    kind: int
    number: int
    payload_bytes: int = 8
    flags: int = 0

    def build(self) -> bytes:
        """As fatbinary writes it; the payload repeats the low byte of the number."""
        header = struct.pack("<HHIQIIIIQQQQ", self.kind, 0x101, 64, self.payload_bytes, 0, 0, 0, self.number, 0,
                             0x11 | self.flags, 0, 0)
        return header + bytes([self.number & 0xFF]) * self.payload_bytes


def container(elements: list[Element]) -> bytes:
    body = b"".join(element.build() for element in elements)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def library(path: pathlib.Path, containers: list[list[Element]], linker: str = "bfd", arguments: tuple[str, ...] = ()) -> pathlib.Path:
    """A shared library with these containers in .nv_fatbin; containers_of says what its wrappers lead to. It exports
    `<stem>_wrappers` and is linked without libc, so that any Python can load it."""
    name = path.name.split(".")[0].replace("-", "_")
    parts = ['.section .nv_fatbin,"a"\n']
    for i, elements in enumerate(containers):
        data = path.with_suffix(f".{i}.bin")
        data.write_bytes(container(elements))
        parts.append(f'.balign 8\nfatbin_{i}:\n.incbin "{data}"\n')
    parts.append(f'.section .nvFatBinSegment,"aw"\n.balign 8\n.globl {name}_wrappers\n{name}_wrappers:\n')
    parts += [f".long 0x466243b1, 1\n.quad fatbin_{i}, 0\n" for i in range(len(containers))]
    parts.append(f'.quad 0\n.text\n.globl {name}\n{name}: mov $42, %eax\nret\n.section .note.GNU-stack,"",%progbits\n')
    source = path.with_suffix(".s")
    source.write_text("".join(parts))
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-fuse-ld={linker}", f"-Wl,-soname,{path.name}", "-Wl,--build-id=sha1",
                    *arguments, "-o", path, source], check=True)
    for left in [source, *path.parent.glob(f"{path.stem}.*.bin")]:
        left.unlink()
    return path


# Runs apart: a library that is loaded stays loaded. Prints kind:number:payload bytes of each element.
_READER = """
import ctypes, struct, sys
library = ctypes.CDLL(sys.argv[1])
assert getattr(library, sys.argv[2])() == 42
at = ctypes.addressof(ctypes.c_char.in_dll(library, sys.argv[2] + "_wrappers"))
while True:
    magic, _, container = struct.unpack("<IIQ", ctypes.string_at(at, 16))
    if magic != 0x466243B1:
        break
    head = ctypes.string_at(container, 16)
    magic, _, header, size = struct.unpack("<IHHQ", head)
    assert magic == 0xBA55ED50, hex(magic)
    body, elements = ctypes.string_at(container + header, size), []
    while body:
        kind, _, header, payload = struct.unpack_from("<HHIQ", body)
        number, = struct.unpack_from("<I", body, 28)
        assert set(body[header:header + payload]) <= {number & 0xFF}, "another payload"
        elements.append(f"{kind}:{number}:{payload}")
        body = body[header + payload:]
    print(" ".join(elements))
    at += 24
"""


def containers_of(path: pathlib.Path, name: str = "") -> list[list[str]]:
    """What the wrappers of a loaded library() lead to: "2:90:8" for each element. `name`: the stem that it was made
    with, where the file was renamed."""
    name = name or path.name.split(".")[0].replace("-", "_")
    said = subprocess.run(["python3", "-c", _READER, path, name], check=True, capture_output=True, text=True).stdout
    return [line.split() for line in said.splitlines()]


def linked_by(path: pathlib.Path, linker: str, arguments: tuple[str, ...] = ()) -> pathlib.Path:
    """The folder `path` with libdevice.so, which unwinds and has thread-local data, and device_loader, which prints
    what is in such a library (fixtures/elf/link_devices)."""
    subprocess.run([FIXTURES / "link_devices", linker, path, *arguments], check=True)
    return path
