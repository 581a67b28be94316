#!/usr/bin/env python3
"""What `ptpkg check` finds in public wheels, each finding proven by another program: the table of docs/field-report.md.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds pip and auditwheel
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/field_report.py

Fetches one wheel after the other, 5 GB in all, and removes it; --keep leaves them in a folder. Names limit it to these projects.
The judges are ld.so, readelf and the rules of the index, never ptpkg. Exit 0: each finding is true; 1: one is not proven.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import packaging.metadata

from costs import MB, PTPKG, SCRATCH

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests/harness"))

import ld_so  # noqa: E402

PYTHON = "3.11"
WHEELS = """
bitsandbytes==0.50.2 catboost==1.2.10 cryptography==50.0.2 cupy-cuda13x==14.2.0 duckdb==2.0.0 faiss-cpu==1.15.1 fiona==1.10.1
grpcio==1.85.1 h5py==3.16.0 jaxlib==0.10.2 lightgbm==4.7.0 llvmlite==0.50.0 lxml==6.1.3 matplotlib==3.11.2 numba==0.68.1 numpy==2.4.6
nvidia-cublas==13.10.0.20 nvidia-cudnn-cu13==9.28.1.4 nvidia-nccl-cu13==2.32.3 onnxruntime==1.32.0 open3d==0.20.0
opencv-python==5.0.0.93 orjson==3.13.0 pandas==3.1.1 pillow==13.0.0 polars==2.1.0 protobuf==7.36.2 psycopg2-binary==2.9.13
pyarrow==26.0.1 pydantic-core==2.50.4 pyodbc==5.5.0 pyqt6-qt6==6.11.2 pyside6-essentials==6.12.0 pyzmq==27.3.0 ray==2.60.0
safetensors==0.8.0 scikit-learn==1.9.1 scipy==1.17.1 sentencepiece==0.2.3 shapely==2.2.0 soundfile==0.14.0 spacy==3.8.18
tensorflow-cpu==2.21.0 tokenizers==0.23.3 torch==2.15.0 torchaudio==2.11.0 torchvision==0.29.2 triton==3.9.0 vllm==0.33.0 vtk==9.7.2
xformers==0.0.35 xgboost==3.2.0
""".split()

PLATFORMS = ["manylinux1", "manylinux2010", "manylinux2014", *(f"manylinux_2_{minor}" for minor in (5, 12, 17, 24, 26, 27, 28, 31, 34, 35))]


class Wheel:
    """One unpacked wheel, and what other programs say of it."""

    def __init__(self, path: pathlib.Path, root: pathlib.Path) -> None:
        self.path, self.root = path, root
        with zipfile.ZipFile(path) as archive:
            self.names = archive.namelist()
            archive.extractall(root)
        self.empty = root.parent / "empty"
        self.empty.mkdir(exist_ok=True)
        self.judged: ld_so.Judge | None = None

    def loads(self, file: str) -> dict[str, str]:
        """What ld.so finds for the file alone: path by name, "not found" where there is none."""
        done = subprocess.run([ld_so.LOADER, "--inhibit-cache", self.root / file], cwd=self.empty, capture_output=True, text=True,
                              errors="replace", env={"LD_TRACE_LOADED_OBJECTS": "1"}, check=False)
        return dict(re.findall(r"^\s*(\S+) => (not found|/.*?)(?: \(0x[0-9a-f]+\))?$", done.stdout, re.MULTILINE))

    def judge(self) -> ld_so.Judge:
        self.judged = self.judged or ld_so.Judge(self.root, self.empty)
        return self.judged

    def document(self, name: str) -> str:
        found = next(other for other in self.names if re.fullmatch(rf"[^/]+\.dist-info/{name}", other))
        return (self.root / found).read_text(errors="replace")

    def requirements(self) -> str:
        names = [line.split(":", 1)[1].strip() for line in self.document("METADATA").splitlines() if line.startswith("Requires-Dist:")]
        names = [re.split(r"[^\w.-]", name)[0] for name in names if "extra ==" not in name]
        shown = names if len(names) < 7 else [*names[:5], f"{len(names) - 5} more"]
        return ", ".join(shown) or "nothing"

    def paths(self, file: str) -> list[str]:
        facts = ld_so.read_facts(self.root / file)
        return [entry for text in facts.paths for entry in text.split(":")] if facts else []

    def soname(self, file: str) -> str | None:
        facts = ld_so.read_facts(self.root / file)
        return facts.soname if facts else None

    def readelf(self, file: str, *flags: str) -> str:
        return subprocess.run(["readelf", "-W", *flags, self.root / file], capture_output=True, text=True, errors="replace", check=True).stdout


def quoted(text: str) -> list[str]:
    return re.findall(r"'([^']*)'", text)


# A proof takes the wheel and one finding, and says what the other program said; None: it does not agree.


def prove_unresolved(wheel: Wheel, finding: dict) -> str | None:
    name = quoted(finding["message"])[0]
    found = wheel.loads(finding["file"]).get(name)
    required = f"Requires-Dist: {wheel.requirements()}"
    if found == "not found":
        return f"ld.so: `{name} => not found`; {required}"
    allowed = [line for line in (REPOSITORY / "src/verify/data/system_libraries.txt").read_text().splitlines() if not line.startswith("#")]
    if found and not pathlib.Path(found).is_relative_to(wheel.root) and not any(fnmatch.fnmatch(name, glob) for glob in allowed):
        return f"ld.so: `{name}` is not in the wheel (this machine has it), on no manylinux list; {required}"
    return None


def prove_unreachable(wheel: Wheel, finding: dict) -> str | None:
    name, place = quoted(finding["message"])[:2]
    missing = wheel.judge().missing.get((finding["file"], name))
    return f"ld.so: `{name} => not found`, and the wheel has {place}" if missing and (wheel.root / place).exists() else None


def prove_absolute(wheel: Wheel, finding: dict) -> str | None:
    entry = quoted(finding["message"])[0]
    parts = entry.split("/")
    shown = entry if len(parts) < 6 else "/".join([*parts[:2], "…", *parts[-2:]])
    return f"`readelf -d`: `{shown}`" if entry.startswith("/") and entry in wheel.paths(finding["file"]) else None


def prove_empty(wheel: Wheel, finding: dict) -> str | None:
    paths = wheel.paths(finding["file"])
    return f"`readelf -d`: {paths.count('')} of {len(paths)} entries are empty" if "" in paths else None


def led_to(finding: dict, entry: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(finding["file"]), entry.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", ".")))


def prove_dead(wheel: Wheel, finding: dict) -> str | None:
    entries = quoted(finding["message"])
    known = wheel.paths(finding["file"])
    if all(entry in known and not (wheel.root / led_to(finding, entry)).is_dir() for entry in entries):
        return f"`readelf -d` has `{entries[0]}`; the wheel has no folder there"
    return None


def prove_escapes(wheel: Wheel, finding: dict) -> str | None:
    entries = quoted(finding["message"])
    known = wheel.paths(finding["file"])
    if all(entry in known and led_to(finding, entry).startswith("..") for entry in entries):
        return f"`readelf -d` has `{entries[0]}`, from `{os.path.dirname(finding['file']) or '.'}/`"
    return None


def prove_soname(wheel: Wheel, finding: dict) -> str | None:
    needed, said = quoted(finding["message"])[:2]
    found = [file for file in wheel.judge().files if file.rsplit("/", 1)[-1] == needed]
    return f"`readelf -d {needed}`: SONAME `{said}`" if found and all(wheel.soname(file) == said != needed for file in found) else None


def prove_duplicate(wheel: Wheel, finding: dict) -> str | None:
    said, *files = quoted(finding["message"])
    files = [file for file in files if file in wheel.names]
    return f"`readelf -d`: {len(files)} files have SONAME `{said}`" if len(files) > 1 and {wheel.soname(file) for file in files} == {said} else None


def prove_floor(wheel: Wheel, finding: dict) -> str | None:
    symbol, version = next(text for text in quoted(finding["message"]) if "@" in text).split("@")
    undefined = re.search(rf"UND {re.escape(symbol)}@{re.escape(version)}\b", wheel.readelf(finding["file"], "--dyn-syms"))
    minor = max(promised(tag) for tag in re.findall(r"manylinux\w+", wheel.path.name))
    if undefined and beyond(version, minor):
        return f"`readelf --dyn-syms`: UND `{symbol}@{version}`, newer than manylinux_2_{minor} has"
    return None


def policies() -> list[dict]:
    """The manylinux policies as auditwheel has them."""
    import auditwheel.policy
    return json.loads((pathlib.Path(auditwheel.policy.__file__).parent / "manylinux-policy.json").read_text())


def promised(tag: str) -> int:
    old = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}
    return next((minor for name, minor in old.items() if tag.startswith(name + "_")), None) or int(re.match(r"manylinux_2_(\d+)", tag)[1])


def beyond(version: str, minor: int) -> bool:
    policy = next(one for one in policies() if one["name"] == f"manylinux_2_{minor}")
    kind, _, number = version.partition("_")
    return number not in policy["symbol_versions"]["x86_64"][kind]


def prove_isa(wheel: Wheel, finding: dict) -> str | None:
    level = re.search(r"x86-64-v\d", finding["message"])[0]
    notes = wheel.readelf(finding["file"], "-n")
    return f"`readelf -n`: x86 ISA needed {level}" if re.search(rf"x86 ISA needed:.*{level}", notes) else None


def prove_text_relocations(wheel: Wheel, finding: dict) -> str | None:
    return "`readelf -d`: TEXTREL" if "TEXTREL" in wheel.readelf(finding["file"], "-d") else None


def prove_tags(wheel: Wheel, finding: dict) -> str | None:
    said = set(re.findall(r"^Tag: *(\S+)", wheel.document("WHEEL"), re.MULTILINE))
    python, abi, platform = (part.split(".") for part in wheel.path.stem.split("-")[-3:])
    named = {f"{one}-{two}-{three}" for one in python for two in abi for three in platform}
    return f"WHEEL: {', '.join(f'`Tag: {tag}`' for tag in sorted(said))}" if said != named else None


def prove_name_form(wheel: Wheel, finding: dict) -> str | None:
    tags = wheel.path.stem.split("-")[-1].split(".")
    return f"PEP 425: sorted tags; `{tags[0]}` is before `{tags[1]}`" if tags != sorted(tags) else None


def prove_pure(wheel: Wheel, finding: dict) -> str | None:
    pure = re.search(r"^Root-Is-Purelib: *true", wheel.document("WHEEL"), re.MULTILINE | re.IGNORECASE)
    return f"WHEEL: `Root-Is-Purelib: true`, with {next(iter(wheel.judge().files))}" if pure and wheel.judge().files else None


def prove_byte_code(wheel: Wheel, finding: dict) -> str | None:
    return f"`unzip -l`: {finding['file']}" if finding["file"].endswith(".pyc") and finding["file"] in wheel.names else None


def prove_upload_size(wheel: Wheel, finding: dict) -> str | None:
    size = wheel.path.stat().st_size
    return f"`stat`: {size / MB:,.0f} MB; the index takes 100 MiB, more from projects that asked" if size > 100 << 20 else None


def prove_metadata_field(wheel: Wheel, finding: dict) -> str | None:
    field = quoted(finding["message"])[0].lower()
    try:
        packaging.metadata.Metadata.from_email(wheel.document("METADATA"))
    except ExceptionGroup as refused:
        reasons = [str(error) for error in refused.exceptions if isinstance(error, packaging.metadata.InvalidMetadata) and error.field == field]
        return f"packaging.metadata: {reasons[0]}" if reasons else None
    return None


PROOFS = {
    "elf-unresolved-needed": prove_unresolved, "elf-unreachable-needed": prove_unreachable, "elf-search-path-absolute": prove_absolute,
    "elf-search-path-empty": prove_empty, "elf-search-path-dead": prove_dead, "elf-search-path-escapes": prove_escapes,
    "elf-soname-mismatch": prove_soname, "elf-duplicate-soname": prove_duplicate, "elf-glibc-floor": prove_floor,
    "elf-isa-level": prove_isa, "elf-text-relocations": prove_text_relocations, "wheel-tag-mismatch": prove_tags,
    "wheel-file-name-form": prove_name_form, "wheel-pure-with-binaries": prove_pure, "wheel-byte-code": prove_byte_code,
    "wheel-upload-size": prove_upload_size, "wheel-metadata-field": prove_metadata_field,
}
REST = re.compile(r"^and (\d+) more of this kind")


def fetch(requirement: str, folder: pathlib.Path) -> pathlib.Path:
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        platforms = [word for platform in PLATFORMS for word in ("--platform", f"{platform}_x86_64")]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", PYTHON,
                        *platforms, "--dest", folder, requirement], check=True)
    return next(folder.glob(pattern))


def check(ptpkg: pathlib.Path, wheel: pathlib.Path) -> list[dict]:
    done = subprocess.run([ptpkg, "check", "--json", "--quiet", wheel], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"ptpkg check of {wheel.name}: {done.stderr}")
    return json.loads(done.stdout)[0]["findings"]


def rows(title: str, wheel: Wheel, findings: list[dict]) -> tuple[list[str], int]:
    """A line of the table per kind of finding, with the proof of its first; and how many findings are not proven."""
    kinds: dict[tuple[str, str], list[dict]] = collections.defaultdict(list)
    for finding in findings:
        kinds[(finding["severity"], finding["id"])].append(finding)
    lines, unproven = [], 0
    for (severity, kind), group in sorted(kinds.items()):
        hidden = sum(int(rest[1]) for finding in group if (rest := REST.match(finding["message"])))
        group = [finding for finding in group if not REST.match(finding["message"])]
        proofs = [PROOFS[kind](wheel, finding) if kind in PROOFS else None for finding in group]
        for finding, proof in zip(group, proofs, strict=True):
            if proof is None:
                print(f"NOT PROVEN: {wheel.path.name}: {kind}: {finding['file']}: {finding['message']}", file=sys.stderr)
        unproven += proofs.count(None)
        where = f"`{group[0]['file']}`: " if group[0]["file"] else ""
        lines.append(f"| {title} | {severity} | `{kind}` | {len(group) + hidden} | "
                     f"{where}{proofs[0] or '**none**'} |")
    return lines, unproven


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for a wheel and what it unpacks to, 3 GB")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave the wheels there, and take those that are")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    scratch, clean, unproven, table = options.scratch.resolve() / "field", [], 0, []
    chosen = [one for one in WHEELS if not options.names or one.split("==")[0] in options.names]
    for requirement in chosen:
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / "tree").mkdir(parents=True)
        title = requirement.replace("==", " ")
        path = fetch(requirement, (options.keep or scratch).resolve())
        findings = check(options.ptpkg.resolve(), path)
        if not findings:
            clean.append(title)
            continue
        lines, bad = rows(title, Wheel(path, scratch / "tree"), findings)
        table, unproven = table + lines, unproven + bad
        print("\n".join(lines), file=sys.stderr, flush=True)
        print(f"{path.name}: {len(findings)} findings, {bad} not proven", file=sys.stderr)
    shutil.rmtree(scratch, ignore_errors=True)
    print("| wheel | severity | finding | times | proof of the first |\n|---|---|---|---|---|")
    print("\n".join(table))
    print(f"\n{len(chosen)} wheels, {len(clean)} without a finding: {', '.join(clean)}.")
    return 1 if unproven else 0


if __name__ == "__main__":
    sys.exit(main())
