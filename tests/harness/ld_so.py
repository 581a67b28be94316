"""ld.so as the judge: which file each NEEDED of a process gets, as the loader of this machine says it.

LD_TRACE_LOADED_OBJECTS=1 lets it map everything and start nothing; LD_DEBUG=files,libs tells who asked for what. Also here:
a writer of small ELF files that ld.so maps, and a reader of what real ones say by name.
"""

import dataclasses
import os
import pathlib
import platform
import re
import struct
import subprocess

UNREACHABLE, SHADOWED, CONDITIONAL, UNRESOLVED = (
    "elf-unreachable-needed", "elf-shadowed-needed", "elf-conditional-needed", "elf-unresolved-needed")

LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
X86_64, I386, AARCH64 = 62, 3, 183
TYPE_RELOCATABLE, TYPE_EXECUTABLE, TYPE_SHARED = 1, 2, 3


def available() -> bool:
    return platform.machine() == "x86_64" and LOADER.exists()


def levels() -> list[str]:
    """Masks for the processor levels that this machine can play, the lowest first: "none" searches no glibc-hwcaps."""
    text = subprocess.run([LOADER, "--help"], capture_output=True, text=True, check=True).stdout
    known = re.findall(r"^  (x86-64-v\d) \(supported", text, re.MULTILINE)[::-1]
    return ["none"] + [":".join(known[:count]) for count in range(1, len(known) + 1)]


def can_play(root: pathlib.Path) -> bool:
    """Whether this machine has every processor level for which the tree has files. ptpkg answers for levels that this
    processor lacks (x86-64-v4 needs AVX-512), and there ld.so cannot be asked."""
    known = set(levels()[-1].split(":"))
    return all(folder.name in known for place in root.rglob("glibc-hwcaps") for folder in place.iterdir())


@dataclasses.dataclass
class Request:
    needed_by: pathlib.Path  # as ld.so opened it
    name: str
    found: pathlib.Path | None = None
    tried: pathlib.Path | None = None


@dataclasses.dataclass
class Trace:
    requests: list[Request]
    fatal: tuple[str, str] | None  # file, words


LINE = re.compile(r"^\s*\d+:\t(.*)$")
NEEDED = re.compile(r"^file=(.*) \[\d+\];  needed by (.*) \[\d+\]$")
MAPPED = re.compile(r"^file=(.*) \[\d+\];  generating link map$")
TRYING = re.compile(r"^\s*trying file=(.*)$")
FATAL = re.compile(r"error while loading shared libraries: ([^:]*): (.*)$")


def trace(entry: pathlib.Path, level: str, cwd: pathlib.Path) -> Trace:
    """Everything that a process beginning with `entry` asks for and has not loaded yet."""
    done = subprocess.run([LOADER, "--inhibit-cache", "--glibc-hwcaps-mask", level, entry], cwd=cwd, check=False,
                          env={"LD_TRACE_LOADED_OBJECTS": "1", "LD_DEBUG": "files,libs"}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    result = Trace([], None)
    for line in done.stderr.decode(errors="replace").splitlines():
        if failed := FATAL.search(line):
            result.fatal = (failed[1], failed[2])
            continue
        said = LINE.match(line)
        if not said:
            continue
        if asked := NEEDED.match(said[1]):
            close(result)
            result.requests.append(Request(pathlib.Path(asked[2]), asked[1]))
        elif result.requests and (tried := TRYING.match(said[1])):
            result.requests[-1].tried = pathlib.Path(tried[1])
        elif result.requests and MAPPED.match(said[1]):
            last = result.requests[-1]
            last.found = last.tried or pathlib.Path(last.name)
    if result.fatal and result.requests:
        last = result.requests.pop()
        if "/" not in result.fatal[0] and last.tried:  # said of a program: by name only
            result.fatal = (str(last.tried), result.fatal[1])
    close(result)
    if done.returncode != 0 and not result.fatal:
        raise AssertionError(f"ld.so failed on {entry}: {done.stderr.decode(errors='replace')[-2000:]}")
    return result


def close(result: Trace) -> None:
    """A file that is loaded already under another path is found without a word; on a miss the last path tried, in the
    system's folders, is not there."""
    if not result.requests or result.requests[-1].found:
        return
    last = result.requests[-1]
    path = last.tried or (pathlib.Path(last.name) if "/" in last.name else None)
    if path and path.is_file():
        with open(path, "rb") as file:
            if file.read(20)[:5] == b"\x7fELF\x02" and struct.unpack_from("<H", path.read_bytes()[:20], 18)[0] == X86_64:
                last.found = path


@dataclasses.dataclass
class Facts:
    machine: int
    program: bool
    needed: list[str]
    soname: str | None
    paths: list[str]


def read_facts(path: pathlib.Path) -> Facts | None:
    """Of a dynamic 64-bit little-endian file; None for anything else."""
    with open(path, "rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return None
        kind, machine = struct.unpack_from("<HH", head, 16)
        (offset,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        if kind not in (TYPE_EXECUTABLE, TYPE_SHARED) or size != 56:
            return None
        file.seek(offset)
        table = file.read(size * count)
        segments = [struct.unpack_from("<IIQQQQQQ", table, i * size) for i in range(count)]
        dynamic = next((segment for segment in segments if segment[0] == 2), None)
        if dynamic is None:
            return None
        file.seek(dynamic[2])
        entries = []
        raw = file.read(dynamic[5])
        for at in range(0, len(raw) - 15, 16):
            tag, value = struct.unpack_from("<QQ", raw, at)
            if tag == 0:
                break
            entries.append((tag, value))
        values = dict(reversed(entries))
        if 5 not in values:
            return None
        load = next(s for s in segments if s[0] == 1 and s[3] <= values[5] < s[3] + s[5])
        file.seek(values[5] - load[3] + load[2])
        strings = file.read(values[10])
    text = [(tag, strings[value:strings.index(b"\0", value)].decode(errors="surrogateescape"))
            for tag, value in entries if tag in (1, 14, 15, 29)]
    interpreter = any(segment[0] == 3 for segment in segments)
    pie = values.get(0x6ffffffb, 0) & 0x08000000
    return Facts(machine, kind == TYPE_EXECUTABLE or interpreter or bool(pie), [t for tag, t in text if tag == 1],
                 next((t for tag, t in text if tag == 14), None), [t for tag, t in text if tag in (15, 29)])


@dataclasses.dataclass
class Elf:
    """A file that ld.so maps: headers, dynamic section and names, no code."""
    needed: tuple[str, ...] = ()
    rpath: str | None = None
    runpath: str | None = None
    soname: str | None = None
    interpreter: bool = False
    machine: int = X86_64
    type: int = TYPE_SHARED
    wide: bool = True
    little: bool = True
    flags_1: int = 0

    def build(self) -> bytes:
        order = "<" if self.little else ">"
        strings = b"\0"
        entries: list[tuple[int, int]] = []
        for tag, text in ([(1, name) for name in self.needed] + [(14, self.soname), (15, self.rpath), (29, self.runpath)]):
            if text is not None:
                entries.append((tag, len(strings)))
                strings += text.encode() + b"\0"
        header, segment, word = (64, 56, "Q") if self.wide else (52, 32, "I")
        segments = 3 if self.interpreter else 2
        names = header + segments * segment
        interpreter = names + len(strings)
        tail = strings + (str(LOADER).encode() + b"\0" if self.interpreter else b"")
        tail += b"\0" * (-(names + len(tail)) % 8)
        symbols = names + len(tail)
        tail += b"\0" * 24
        hashes = names + len(tail)
        tail += struct.pack(order + "6I", 1, 1, 0, 0, 0, 0)
        dynamic = names + len(tail)
        entries += [(5, names), (6, symbols), (10, len(strings)), (11, 24 if self.wide else 16), (4, hashes)]
        if self.flags_1:
            entries.append((0x6ffffffb, self.flags_1))
        table = b"".join(struct.pack(order + "2" + word, *entry) for entry in [*entries, (0, 0)])
        size = dynamic + len(table)

        def program_header(kind: int, flags: int, offset: int, length: int, align: int) -> bytes:
            if self.wide:
                return struct.pack(order + "2I6Q", kind, flags, offset, offset, offset, length, length, align)
            return struct.pack(order + "8I", kind, offset, offset, offset, length, length, flags, align)

        headers = program_header(1, 6, 0, size, 4096)
        if self.interpreter:
            headers = program_header(3, 4, interpreter, len(str(LOADER)) + 1, 1) + headers
        headers += program_header(2, 6, dynamic, len(table), 8)
        ident = b"\x7fELF" + bytes([2 if self.wide else 1, 1 if self.little else 2, 1]) + b"\0" * 9
        elf = struct.pack(order + "2HI3" + word + "I6H", self.type, self.machine, 1, 0, header, 0, 0, header, segment,
                          segments, 0, 0, 0)
        return ident + elf + headers + tail + table


class Judge:
    """ld.so's verdict on every x86-64 file of a tree, over all entry points and processor levels."""

    def __init__(self, root: pathlib.Path, cwd: pathlib.Path) -> None:
        self.root, self.cwd = root.resolve(), cwd
        self.files: dict[str, Facts] = {}
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix not in (".py", ".pyi", ".h", ".txt"):
                facts = read_facts(path)
                if facts and facts.machine == X86_64:
                    self.files[str(path.relative_to(self.root))] = facts
        hwcaps = any(path.name == "glibc-hwcaps" for path in self.root.rglob("*"))
        self.levels = levels() if hwcaps else ["none"]
        self.loaded: set[str] = set()
        # By file and name: what ld.so took, and at which levels some process found nothing.
        self.found: dict[tuple[str, str], set[pathlib.Path]] = {}
        self.missing: dict[tuple[str, str], set[str]] = {}
        self.fatal: set[str] = set()
        self.entries: list[str] = []
        self.twins: dict[tuple[int, int], str] = {}
        for file in self.files:
            stat = (self.root / file).stat()
            self.twins.setdefault((stat.st_dev, stat.st_ino), file)
        self.judge()

    def place(self, path: pathlib.Path) -> str:
        """Below the root, or the absolute path of a file elsewhere; of hard links the first."""
        real = pathlib.Path(os.path.realpath(path))
        if not real.is_relative_to(self.root):
            return str(real)
        stat = real.stat()
        return self.twins.get((stat.st_dev, stat.st_ino), str(real.relative_to(self.root)))

    def as_written(self, file: str, name: str) -> str:
        """The NEEDED that ld.so shows as `name`, with $ORIGIN replaced."""
        return next((written for written in self.files[file].needed
                     if written.startswith("$ORIGIN") and name.endswith(written.removeprefix("$ORIGIN"))), name)

    def begin(self, entry: str) -> None:
        self.entries.append(entry)
        self.loaded.add(self.place(self.root / entry))
        for level in self.levels:
            said = trace(self.root / entry, level, self.cwd)
            if said.fatal:
                self.fatal.add(self.place(pathlib.Path(said.fatal[0])))
            for request in said.requests:
                if request.found is not None:
                    self.loaded.add(self.place(request.found))
                file = self.place(request.needed_by)
                if file not in self.files:
                    continue  # one of the system's
                key = (file, self.as_written(file, request.name))
                if request.found is None:
                    self.missing.setdefault(key, set()).add(level)
                else:
                    self.found.setdefault(key, set()).add(self.place(request.found))

    def judge(self) -> None:
        def module(name: str) -> bool:
            return name.endswith(".so") and not name.startswith("lib")

        for file, facts in self.files.items():
            if facts.program or module(file.rsplit("/", 1)[-1]):
                self.begin(file)
        names: dict[str, set[str]] = {}
        for path in self.root.rglob("*"):
            if (path.is_symlink() or path.is_file()) and path.exists() and self.place(path) in self.files:
                names.setdefault(path.name, set()).add(self.place(path))
        for file, facts in self.files.items():
            if facts.soname is not None:
                names.setdefault(facts.soname, set()).add(file)
        wanted = {other for file, facts in self.files.items() for name in facts.needed
                  for other in names.get(name, ()) if other != file}
        for rest in ([file for file in self.files if file not in wanted], list(self.files)):
            for file in rest:
                if self.place(self.root / file) not in self.loaded:
                    self.begin(file)


NAMED = re.compile(r"(?:needs|cannot find) '([^']*)'")
SHADOW = re.compile(r"finds '([^']*)' first")


NOT_LOADED = (UNREACHABLE, SHADOWED, CONDITIONAL, UNRESOLVED)


def verdicts(outcome: dict) -> dict[tuple[str, str], str]:
    """(file, needed name) → id of the finding, of one object of `ptpkg check --json`."""
    return {(finding["file"], NAMED.search(finding["message"])[1]): finding["id"] for finding in outcome["findings"]
            if finding["id"] in NOT_LOADED}


@dataclasses.dataclass(frozen=True)
class Disagreement:
    file: str
    name: str  # "" for the tree as a whole
    words: str


def disagreements(outcome: dict, judge: Judge, tokens: bool) -> list[Disagreement]:
    """Where `ptpkg check` and ld.so differ. `tokens`: a search path says $LIB or $PLATFORM, of which ld.so knows one value each."""
    found: list[Disagreement] = []
    ours = verdicts(outcome)
    shadows = {SHADOW.search(finding["message"])[1] for finding in outcome["findings"] if finding["id"] == SHADOWED}
    fatal = {"." if not path else path for path in judge.fatal}
    if bool(shadows) != bool(fatal) or (fatal and not shadows & fatal):
        found.append(Disagreement("", "", f"ptpkg ends at {sorted(shadows)}, ld.so at {sorted(fatal)}"))
    if fatal:
        return found  # ld.so says nothing about what comes behind
    needed = {entry["file"]: entry["needed"] for entry in outcome["files"]}
    for file, facts in judge.files.items():
        for name in facts.needed:
            key = (file, name)
            levels = judge.missing.get(key, set())
            if levels == set(judge.levels):
                right = ours.get(key) in (UNREACHABLE, UNRESOLVED) or (tokens and ours.get(key) == CONDITIONAL)
            elif levels:
                right = key in ours  # at the levels that miss it another process may find it
            else:
                right = key not in ours or (tokens and ours[key] == CONDITIONAL)
            if not right:
                words = f"is missing for ld.so at {sorted(levels)}" if levels else "is there for ld.so"
                found.append(Disagreement(file, name, f"{ours.get(key, 'no finding')}, but {words}"))
            gets = {judge.place(judge.root / path) for path in needed[file][name]}
            others = {path for path in judge.found.get(key, set()) if not path.startswith("/")} - gets
            unseen = gets - judge.loaded
            if (others or unseen) and not tokens:
                found.append(Disagreement(file, name, f"ptpkg takes {sorted(gets)}, ld.so {sorted(others) or 'none of these'}"))
    return found
