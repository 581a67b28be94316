"""Documents of `ptpkg inspect --json` and `ptpkg diff --json`, made up, for the tests of their pages."""

import zlib

SM = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100"]


def file(path, size, kind="data", stored=None):
    return {"path": path, "size_bytes": size, "stored_bytes": size // 3 if stored is None else stored, "mode": "0644", "kind": kind, "target": None}


def need(name, state="found", path=None, rule="RUNPATH $ORIGIN"):
    return {"name": name, "state": state, "files": [{"path": path, "rule": rule}] if path else [],
            "problem": f"no process finds '{name}'" if state == "missing" else None}


def elf(path, size, needed, floor="2.28"):
    sections = [(".text", "code", 40), (".rodata", "read-only data", 10), (".nv_fatbin", "device code", 30), (".symtab", "symbols", 15)]
    return {"file": path, "machine": "x86_64", "size_bytes": size, "build_id": "0123456789abcdef0123456789abcdef01234567",
            "soname": path.rsplit("/", 1)[-1], "interpreter": None, "stripped": False,
            "sections": [{"name": name, "size_bytes": size * share // 100, "kind": kind} for name, kind, share in sections],
            "search_path": {"tag": "RUNPATH", "entries": [{"text": "$ORIGIN", "kind": "in tree"}, {"text": "$ORIGIN/../../nvidia/lib", "kind": "outside"}]},
            "needed": needed, "isa": None, "damage": [],
            "floor": {"glibc": floor, "policy": "manylinux_2_28_x86_64", "set_by": [{"library": "libm.so.6", "version": f"GLIBC_{floor}"}],
                      "symbols": [f"exp@GLIBC_{floor}"]}}


def share(names, of):
    return {"sass": {name: {"elements": 3 + index, "bytes": of // (index + 20)} for index, name in enumerate(names) if name.startswith("sm_")},
            "ptx": {name: {"elements": 1, "bytes": of // 200} for name in names if name.startswith("compute_")}, "other_bytes": 0, "containers": 3}


def device(path, size, names, missing=(), extra=()):
    return {"file": path, "sass": [name for name in names if name.startswith("sm_")], "ptx": [name for name in names if name.startswith("compute_")],
            "embedded": share(names, size), "relocatable": share([], 0),
            "wanted": {"sass": SM, "ptx": [], "missing": list(missing), "extra": list(extra)}}


def finding(severity, identity, path, message):
    return {"subject": "toy.whl", "id": identity, "severity": severity, "file": path, "message": message, "fix": "do something about it"}


def inspection(extra_files=(), headers=40, libraries=(), subject="/out/toy-1.0-cp311-cp311-linux_x86_64.whl"):
    """An artifact of five libraries, as many headers as asked for, and what is added."""
    cuda, cpu, core = "toy/lib/libtoy_cuda.so", "toy/lib/libtoy_cpu.so", "toy/lib/libtoy_core.so"
    elves = [
        elf("toy/_C.so", 20_000, [need("libtoy_cuda.so", path=cuda, rule="RUNPATH $ORIGIN/lib"), need("libc.so.6", "system")]),
        elf(cuda, 60_000_000, [need("libtoy_cpu.so", path=cpu), need("libtoy_core.so", path=core, rule="already loaded"), need("libcudart.so.13", "dependency")]),
        elf(cpu, 30_000_000, [need("libtoy_core.so", path=core), need("libgone.so.1", "missing"), need("libm.so.6", "system")], "2.27"),
        elf(core, 2_000_000, [need("libc.so.6", "system")], "2.17"),
        elf("toy/lib/libtoy_jit.so", 900_000, [need("libtoy_cpu.so", path=cpu), need("libtoy_jit.so", path="toy/lib/libtoy_jit.so")]),
        *libraries]
    files = [file(one["file"], one["size_bytes"], "elf") for one in elves]
    # Sizes that look like sizes and are the same each time.
    files += [file(f"toy/include/part{index % 7}/header_{index:05}.h", 500 + zlib.crc32(str(index).encode()) % 40_000, "header") for index in range(headers)]
    files += [file("toy/__init__.py", 12_000, "python"), file("toy-1.0.dist-info/METADATA", 1_200, "metadata"), *extra_files]
    files.sort(key=lambda one: one["path"])
    return {
        "subject": subject, "format": "wheel", "quick": False, "size_bytes": 31_000_000,
        "unpacked_bytes": sum(one["size_bytes"] for one in files),
        "metadata": {"name": "toy", "version": "1.0", "build": None, "subdir": None, "tags": ["cp311-cp311-linux_x86_64"], "requires_python": ">=3.11",
                     "requires": ["filelock", "numpy>=2"], "constrains": [], "extras": [], "license": "BSD-3-Clause", "license_files": ["LICENSE"],
                     "summary": "A toy", "entry_points": ["console_scripts: toy = toy:main"], "generator": "ptpkg"},
        "files": files, "elf": elves,
        "device_code": [device(cuda, 18_000_000, [*SM, "compute_100"], extra=["compute_100"]), device("toy/lib/libtoy_jit.so", 200_000, SM[:2], missing=SM[2:])],
        "floor": {"file": cuda, "machine": "x86_64", "glibc": "2.28", "policy": "manylinux_2_28_x86_64", "set_by": [], "symbols": [], "set_by_names": [], "isa": None, "needed": {}},
        "findings": [finding("error", "elf-unresolved-needed", cpu, "needs 'libgone.so.1', which nobody has"),
                     finding("warning", "elf-search-path-escapes", cuda, "climbs above the root"),
                     *[finding("info", "elf-search-path-dead", one["file"], "the entry leads to no folder") for one in elves]],
        "stages": [{"name": name, "subject": "toy-1.0", "begin_s": None, "duration_s": seconds, "ran": seconds > 0, "reason": "passed before"}
                   for name, seconds in (("build", 3723.4), ("wheel", 21.0), ("check", 9.96), ("test", 0.0))],
    }


def quick(document):
    """The same after `inspect --quick`."""
    return {**document, "quick": True, "elf": None, "device_code": None, "floor": None, "findings": None}


def changed(path, change, old, new, kind="python", parts=None, old_path=None, text=None):
    return {"path": path, "change": change, "old_path": old_path, "kind": kind, "old_size_bytes": old, "new_size_bytes": new,
            "old_mode": None if old is None else "0644", "new_mode": None if new is None else "0755" if change == "mode" else "0644",
            "old_target": None, "new_target": None, "old_sha256": "a" * 64 if old else None, "new_sha256": "b" * 64 if new else None, "elf": parts,
            "text": text}


def part(name, old=None, new=None, before=None, after=None, new_more=0):
    return {"part": name, "old_bytes": old, "new_bytes": new, "old": before, "new": after, "old_more": 0, "new_more": new_more}


def comparison():
    elf_parts = [part("code", 20_000_000, 21_500_000), part("device code", 18_000_000, 17_000_000), part("build id", before=["01" * 20], after=["ab" * 20]),
                 part("search path", before=["$ORIGIN"], after=["$ORIGIN", "$ORIGIN/../../nvidia/lib"]),
                 part("needed symbols", before=["toy_old"], after=["memcpy@GLIBC_2.14", "toy_new"], new_more=2_500)]
    text = {"removed": 1, "added": 1, "more_lines": 12, "hunks": [{"old_line": 1, "new_line": 1, "lines": [
        {"mark": mark, "text": line} for mark, line in ((" ", "Name: toy"), ("-", "Version: 1.0"), ("+", "Version: 1.1" + " and more" * 40))]}]}
    side = {"format": "wheel", "sha256": "c" * 64}
    return {
        "old": {**side, "subject": "/out/toy-1.0-py3-none-any.whl", "size_bytes": 31_000_000, "unpacked_bytes": 93_000_000},
        "new": {**side, "subject": "/out/toy-1.1-py3-none-any.whl", "size_bytes": 30_000_000, "unpacked_bytes": 93_600_000},
        "identical": False, "packing": ["order"],
        "metadata": [{"field": "version", "old": "1.0", "new": "1.1"}, {"field": "requires", "old": ["numpy>=2", "filelock"], "new": ["numpy>=2", "sympy"]}],
        "files": [changed("toy/added.py", "added", None, 7_000), changed("toy/gone.py", "removed", 90_000, None),
                  changed("toy/lib/libtoy_cuda.so", "changed", 60_000_000, 60_500_000, "elf", elf_parts),
                  changed("toy-1.1.dist-info/METADATA", "changed", 30, 30, "metadata", old_path="toy-1.0.dist-info/METADATA", text=text),
                  changed("toy/new_name.py", "renamed", 500, 500, old_path="toy/old_name.py"), changed("toy/run.py", "mode", 100, 100),
                  *[changed(f"toy/many/module_{index:03}.py", "changed", 1_000, 1_000 + index) for index in range(200)]],
        "unchanged_files": 140,
        "sizes": {"folders": [{"name": ".", "old_bytes": 93_000_000, "new_bytes": 93_600_000}, {"name": "toy", "old_bytes": 92_000_000, "new_bytes": 92_600_000},
                              {"name": "toy/lib", "old_bytes": 80_000_000, "new_bytes": 80_500_000}],
                  "sections": [{"kind": "code", "old_bytes": 20_000_000, "new_bytes": 21_500_000}, {"kind": "device code", "old_bytes": 18_000_000, "new_bytes": 17_000_000}],
                  "device_code": [{"architecture": name, "old_elements": 3, "new_elements": 0 if name == "sm_75" else 4, "old_bytes": 2_000_000,
                                   "new_bytes": 0 if name == "sm_75" else 2_300_000} for name in SM]},
    }


def hub_library(count):
    """One library that `count` others need, behind them in the list; the last of these lacks another one."""
    hub = "toy/needed/libhub.so"
    lacking = [need("libabsent.so.1", "missing")]
    return [*[elf(f"toy/many/lib{index:03}.so", 50_000, [need("libhub.so", path=hub), *(lacking if index == count - 1 else [])]) for index in range(count)],
            elf(hub, 50_000, [])]


def many_libraries(count, fan=1):
    """A row of libraries, each of which needs two before it, `fan` apart."""
    path = "toy/many/lib{:03}.so".format
    return [elf(path(index), 50_000, [need(f"lib{before:03}.so", path=path(before)) for before in (index - fan, index - 2 * fan) if before >= 0])
            for index in range(count)]


def slicing(gpus=(("8.0",), ("9.0",), ("8.0", "9.0"), ("12.0",)), fallback=True, extra_files=()):
    """A wheel of five files with GPU code and its slices: one file is NVIDIA's, one has too little code, one is in place, one has gaps."""
    large, small, object_, vendor, other = (f"toy/lib/{name}" for name in ("libtoy_cuda.so", "libtoy_linalg.so", "libtoy_static.a", "libnccl.so.2", "libtoy_old.so"))
    code = {large: {"sm_80": 60_000_000, "sm_90": 70_000_000, "sm_90a": 5_000_000, "sm_120": 80_000_000, "compute_120": 9_000_000, "other": 1_000},
            small: {"sm_80": 2_000_000, "sm_90": 2_500_000, "sm_120": 3_000_000}, object_: {"sm_80": 400_000, "sm_90": 500_000, "sm_120": 600_000},
            vendor: {"sm_80": 30_000_000, "sm_90": 40_000_000}, other: {"sm_75": 900_000}, **{path: {"sm_80": 1_000, "sm_90": 1_000, "sm_120": 1_000} for path in extra_files}}
    files = [{"path": path, "size": sum(sizes.values()) + 50_000_000, "code": sizes,
              "kept_because": "NVIDIA's licence does not allow changes" if path == vendor else None} for path, sizes in sorted(code.items())]

    def in_slice(file, wanted):
        same = {"path": file["path"], "size": file["size"], "code": file["code"], "form": None, "not_compact": None, "kept_because": None, "gaps": {}}
        if file["kept_because"] or file["path"] == other:
            return {**same, "kept_because": file["kept_because"] or f"it has no code for {' and '.join(wanted)}"}
        names = {f"sm_{gpu.replace('.', '')}" for gpu in wanted} | {"other"} | ({"sm_90a"} if "9.0" in wanted else set())
        kept = {name: size for name, size in file["code"].items() if name in names}
        form = "in place" if file["path"] == object_ else "compact"
        dropped = sum(file["code"].values()) - sum(kept.values())
        return {**same, "code": kept, "form": form, "size": file["size"] - (dropped if form == "compact" else 0),
                "not_compact": "only linked libraries and programs can be compact" if form == "in place" else None,
                "gaps": {"12.0": 3} if file["path"] == large and "12.0" in wanted else {}}

    def one(wanted, name, size):
        return {"gpus": list(wanted), "to": f"/out/toy-1.0+cu130{name}-cp311-cp311-linux_x86_64.whl", "size": size,
                "files": [in_slice(file, wanted) for file in files]}

    slices = [one(wanted, "." + ".".join(f"sm{gpu.replace('.', '')}" for gpu in wanted), 130_000_000 + 40_000_000 * len(wanted)) for wanted in gpus]
    null = {**one((), "-null", 310_000_000), "files": [{**in_slice(file, ("1.0",)), "size": file["size"], "code": file["code"], "form": None, "not_compact": None,
                                                        "kept_because": "the null variant keeps all of it"} for file in files]}
    return {"from": "/out/toy-1.0+cu130-cp311-cp311-linux_x86_64.whl", "size": 310_000_000, "files": files, "slices": slices, "fallback": null if fallback else None}
