"""Shared libraries with GPU code as nvcc leaves it, made without CUDA: containers, and the wrappers that point to them."""

import hashlib
import pathlib
import struct
import subprocess

import harness

PTX, CUBIN = 1, 2
MAGIC = 0xBA55ED50
WRAPPER = 0x466243B1
SUFFIXES = {"": 0, "a": 0x100000, "f": 0x200000}
HEADER = "<HHIQIIHHIQQQQ"


def element(kind: int, architecture: str, size: int = 20_000) -> bytes:
    """'90', '90a': the payload does not compress, and tells elements apart."""
    number, suffix = int(architecture.rstrip("af")), architecture.lstrip("0123456789")
    seed = f"{kind} {architecture} ".encode()
    payload = b"".join(hashlib.sha256(seed + bytes([i & 255, i >> 8])).digest() for i in range(size // 32))
    return struct.pack(HEADER, kind, 0x101, 64, len(payload), 0, 0, 8, 1, number, 0, 0x11 | SUFFIXES[suffix], 0, 0) + payload


def container(elements: list[tuple[int, str]], size: int = 20_000) -> bytes:
    body = b"".join(element(*one, size) for one in elements)
    return struct.pack("<IHHQ", MAGIC, 1, 16, len(body)) + body


def elements(data: bytes) -> list[tuple[int, str, bytes]]:
    """Kind, architecture and bytes of each element of the container that begins `data`."""
    magic, version, header, size = struct.unpack_from("<IHHQ", data)
    assert (magic, version, header) == (MAGIC, 1, 16), data[:16]
    found, at = [], header
    while at < header + size:
        kind, _, own, payload, *_, number, _, flags, _, _ = struct.unpack_from(HEADER, data, at)
        suffix = "a" if flags & SUFFIXES["a"] else "f" if flags & SUFFIXES["f"] else ""
        found.append((kind, f"{number}{suffix}", data[at:at + own + payload]))
        at += own + payload
    assert at == header + size
    return found


SOURCE = """
extern const void *const wrappers[];
int value(void) { return 42; }
const void *container(int index) { return wrappers[3 * index + 1]; }
"""


def make(path: pathlib.Path, containers: list[list[tuple[int, str]]], options=(), size: int = 20_000) -> pathlib.Path:
    """Links a library at `path`: value() is 42, container(i) the address of the i-th container as the wrapper has it."""
    folder = path.with_name(path.name + ".made")
    folder.mkdir(parents=True)
    (folder / "code.c").write_text(SOURCE)
    text = '.section .nv_fatbin,"a"\n.balign 8\n'
    for i, one in enumerate(containers):
        (folder / f"{i}.bin").write_bytes(container(one, size))
        text += f'.balign 8\nfat{i}: .incbin "{folder / f"{i}.bin"}"\n'
    text += '.section .nvFatBinSegment,"aw"\n.balign 8\n.globl wrappers\n.hidden wrappers\nwrappers:\n'
    text += "".join(f".long {WRAPPER}, 1\n.quad fat{i}\n.quad 0\n" for i in range(len(containers)))
    text += '.section .note.GNU-stack,"",%progbits\n'
    (folder / "fat.s").write_text(text)
    subprocess.run([harness.tool("gcc"), "-shared", "-fPIC", "-O1", f"-Wl,-soname,{path.name}", *options, "-o", path,
                    folder / "code.c", folder / "fat.s"], check=True)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    return path


RUN = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.container.restype = ctypes.c_void_p
assert library.value() == 42
for index in range(int(sys.argv[2])):
    at = library.container(index)
    size = int.from_bytes(ctypes.string_at(at + 8, 8), "little")
    sys.stdout.buffer.write(ctypes.string_at(at, 16 + size))
"""


def loaded(path: pathlib.Path, count: int) -> list[list[tuple[int, str, bytes]]]:
    """What the containers hold when the loader has mapped the library, through its wrappers."""
    data = subprocess.run(["python3", "-c", RUN, path, str(count)], check=True, stdout=subprocess.PIPE).stdout
    found = []
    for _ in range(count):
        found.append(elements(data))
        data = data[16 + struct.unpack_from("<Q", data, 8)[0]:]
    return found


def names(path: pathlib.Path, count: int = 1) -> list[list[tuple[int, str]]]:
    return [[(kind, architecture) for kind, architecture, _ in one] for one in loaded(path, count)]
