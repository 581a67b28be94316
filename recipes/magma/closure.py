"""Prints which of MAGMA's source files a set of functions needs.

    closure.py LIST.cmake FUNCTIONS.txt     in the source folder

LIST.cmake is CMake.src.cuda or CMake.src.hip; its list libmagma_all has the files of the library. FUNCTIONS.txt names
functions as callers write them, macros included, one a line; '#' begins a comment. The result keeps LIST's order. With
CMake.src.hip, names with cuda and cublas stand for those with hip and hipblas, as in callers that were converted to HIP.

A library of these files has no undefined symbol of MAGMA: build.sh makes sure of it with nm. The files are found by
reading, because compiling all of them is what a closure is to save. A file needs those that define a name which
stands in the body of one of its functions, or of a macro or an inline function that it uses from a header. Branches of the
preprocessor that are surely dead here are not read; of the others both sides count. So the result may be larger than
that of a linker, never smaller.
"""

import pathlib
import re
import sys

NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w+)[ \t]*(.*)")
DEFINED = re.compile(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?$")
WORD = re.compile(r"[A-Za-z_]\w*")
CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")
VARIABLE = re.compile(r"^[^=(]*?([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*=")
POINTERS = re.compile(r"\(\s*\*\s*([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*\)[^=]*=")
# A name that no other file can mean: a template is instantiated where its text is.
LOCAL = re.compile(r"\b(?:static|__device__|inline|template|typedef)\b")
NO_NAMES = {"__launch_bounds__", "__attribute__", "if", "for", "while", "switch", "defined"}
# Of the library that is built here; a precision's own names are known from the file that defines them.
KNOWN = {"MAGMA_WITH_MKL": False, "MAGMA_WITH_ACML": False, "_OPENMP": False, "MAGMA_WITH_OPENMP": False,
         "_WIN32": False, "_WIN64": False, "_MSC_VER": False, "__APPLE__": False,
         "REAL": False, "COMPLEX": False, "PRECISION_s": False, "PRECISION_d": False, "PRECISION_c": False,
         "PRECISION_z": False}


class Text:
    """A file: what its functions and macros name, and which files it includes."""

    def __init__(self, path: pathlib.Path, known: dict[str, bool]) -> None:
        raw = path.read_text(encoding="utf-8", errors="replace")
        self.includes = INCLUDE.findall(raw)
        self.bodies: dict[str, set[str]] = {}   # by name of the function or macro; "" is code without a name
        self.exported: set[str] = set()
        self.kernels: set[str] = set()   # of one name in many files; a few are launched from another file
        code = NOISE.sub(lambda match: " " + "\n" * match.group(0).count("\n"), raw).replace("\\\n", " ")
        self._read(self._alive(code, dict(known)))

    def _alive(self, code: str, known: dict[str, bool]) -> str:
        """The lines that may be compiled; macros go into `bodies`."""
        # branches: [this one may be taken, one up to it surely is, this one surely is, none up to it is]
        kept, branches, first = [], [], True
        for line in code.split("\n"):
            found = DIRECTIVE.match(line)
            if not found:
                if all(branch[0] for branch in branches):
                    kept.append(line)
                continue
            word, rest = found.groups()
            if word in ("if", "ifdef", "ifndef"):
                value = _condition(word, rest, known)
                # Where the guard of a header is defined already, nothing of the file counts.
                guard = first and word == "ifndef"
                branches.append([value is not False, value is True, value is True or guard, value is False])
            elif word in ("elif", "else") and branches:
                value = _condition(word, rest, known) if word == "elif" else True
                _, decided, _, none = branches[-1]
                branches[-1] = [not decided and value is not False, decided or value is True,
                                none and value is True, none and value is False]
            elif word == "endif" and branches:
                branches.pop()
            elif word == "define" and all(branch[0] for branch in branches):
                name = WORD.match(rest)
                if name:
                    self._learn(known, branches, name.group(0), True)
                    self.bodies.setdefault(name.group(0), set()).update(WORD.findall(rest[name.end():]))
            elif word == "undef" and all(branch[0] for branch in branches):
                self._learn(known, branches, rest.strip(), False)
            first = False
        return "\n".join(kept)

    @staticmethod
    def _learn(known: dict[str, bool], branches: list[list[bool]], name: str, value: bool) -> None:
        """What a directive says of a name; below a branch that may be dead, it is not known any more."""
        if all(branch[2] for branch in branches):
            known[name] = value
        else:
            known.pop(name, None)

    def _read(self, code: str) -> None:
        code = re.sub(r"\bextern\s*\{|\bnamespace\s*\w*\s*\{", " ", code)
        depth, start, head = 0, 0, ""
        for match in re.finditer(r"[{};]", code):
            char, end = match.group(0), match.start()
            if char == "{":
                if depth == 0:
                    head, start = code[start:end], end + 1
                depth += 1
            elif char == "}" and depth > 0:
                depth -= 1
                if depth == 0:
                    self._define(head, code[start:end])
                    start = end + 1
            elif depth == 0:
                statement = code[start:end]
                if re.match(r"\s*template\b(?!\s*<)", statement):  # an explicit instantiation
                    self._add("", statement)
                elif VARIABLE.match(statement):
                    self._define(statement, "")
                start = end + 1

    def _define(self, head: str, body: str) -> None:
        names = [name for name in CALLED.findall(head) if name not in NO_NAMES and not name.isupper()]
        variable = VARIABLE.search(head) or POINTERS.search(head)
        name = variable.group(1) if variable else (names[0] if names else "")
        self._add(name, head + " " + body)
        if name and not LOCAL.search(head):
            self.exported.add(name)
            if "__global__" in head:
                self.kernels.add(name)

    def _add(self, name: str, code: str) -> None:
        self.bodies.setdefault(name, set()).update(WORD.findall(code))


def _condition(word: str, rest: str, known: dict[str, bool]) -> bool | None:
    """Whether a branch is taken; None if that is not known."""
    rest = rest.strip()
    if word in ("ifdef", "ifndef"):
        value = known.get(rest)
        return value if word == "ifdef" or value is None else not value
    if rest in ("0", "1"):
        return rest == "1"
    if re.search(r"!\s*\(|&&", rest):
        return None
    parts = [part.strip(" ()") for part in rest.split("||")]
    values = []
    for part in parts:
        found = DEFINED.match(part + ")" if part.count("(") > part.count(")") else part)
        value = known.get(found.group(2)) if found else None
        values.append(value if value is None or not found.group(1) else not value)
    if any(value is True for value in values):
        return True
    return False if all(value is False for value in values) else None


class Library:
    def __init__(self, sources: list[str], is_hip: bool) -> None:
        self.known = {**KNOWN, "MAGMA_HAVE_CUDA": not is_hip, "HAVE_CUDA": not is_hip, "MAGMA_HAVE_HIP": is_hip,
                      "HAVE_HIP": is_hip}
        blas = "magmablas_hip" if is_hip else "magmablas"
        self.folders = [pathlib.Path(name) for name in ("include", "control", blas)]
        self.texts: dict[pathlib.Path, Text] = {}
        self.sources = [pathlib.Path(name) for name in sources]
        self.definers: dict[str, list[pathlib.Path]] = {}
        for source in self.sources:
            for name in self.text(source).exported:
                self.definers.setdefault(name, []).append(source)

    def text(self, path: pathlib.Path) -> Text:
        if path not in self.texts:
            self.texts[path] = Text(path, self.known)
        return self.texts[path]

    def headers(self, source: pathlib.Path) -> list[Text]:
        """All that `source` includes, directly or not."""
        found: dict[pathlib.Path, Text] = {}
        waiting = [(source, name) for name in self.text(source).includes]
        while waiting:
            by, name = waiting.pop()
            for folder in (by.parent, *self.folders):
                path = folder / name
                if path.is_file():
                    if path not in found:
                        found[path] = self.text(path)
                        waiting += [(path, inner) for inner in found[path].includes]
                    break
        return list(found.values())

    def needs(self, source: pathlib.Path) -> set[str]:
        """Every name that the object of `source` may refer to."""
        headers = self.headers(source)
        names = set().union(*self.text(source).bodies.values())
        return self.expanded(names, headers) - self.text(source).kernels

    @staticmethod
    def expanded(names: set[str], headers: list[Text]) -> set[str]:
        """`names`, with those that macros and inline functions of `headers` put in their place."""
        seen, waiting = set(), set(names)
        while waiting:
            seen |= waiting
            more = set()
            for header in headers:
                for name in waiting & header.bodies.keys():
                    more |= header.bodies[name]
            waiting = more - seen
        return seen

    def closure(self, functions: list[str]) -> set[pathlib.Path]:
        headers = [self.text(path) for path in sorted(pathlib.Path("include").glob("*.h"))]
        wanted = set()
        for function in functions:
            # A macro such as magma_queue_sync stands for the function behind it.
            files = [file for name in self.expanded({function}, headers) for file in self.definers.get(name, [])]
            if not files:
                raise SystemExit(f"closure.py: no file defines '{function}'")
            wanted.update(files)
        found: set[pathlib.Path] = set()
        while wanted:
            source = wanted.pop()
            found.add(source)
            for name in self.needs(source):
                wanted.update(file for file in self.definers.get(name, []) if file not in found)
        return found


def read_list(path: pathlib.Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    names = text.split("set( libmagma_all", 1)[1].split(")", 1)[0].split()
    return [name for name in names if name.endswith((".cpp", ".cu"))]


def main() -> None:
    listed, wanted = map(pathlib.Path, sys.argv[1:])
    lines = (line.split("#")[0].strip() for line in wanted.read_text(encoding="utf-8").splitlines())
    is_hip = listed.suffix == ".hip"
    library = Library(read_list(listed), is_hip)
    names = [line.replace("cuda", "hip").replace("cublas", "hipblas") if is_hip else line for line in lines if line]
    found = library.closure(names)
    print("\n".join(str(source) for source in library.sources if source in found))


if __name__ == "__main__":
    main()
