"""Root file systems as tar archives, and container engines that only write down what they are asked."""

import io
import pathlib
import stat
import tarfile

LIBC = pathlib.Path("/lib/x86_64-linux-gnu/libc.so.6")
# Answers like buildah. BUILD_FAILS is a stage, BUILD_SAYS the output of its failure, MADE a folder of wheels.
ENGINE = r"""#!/bin/bash
printf '%s\n' "$*" >>"$ENGINE_LOG"
case $1 in
  info) [ -z "$INFO_SAYS" ] || { echo "$INFO_SAYS" >&2; exit 125; } ;;
  build)
    while [ $# -gt 1 ]; do
      case $1 in --target) stage=$2 ;; --iidfile) id=$2 ;; --output) output=${2#*dest=} ;; --file) cp "$2" "$ENGINE_LOG.$stage" ;; esac
      shift
    done
    if [ "$stage" = "$BUILD_FAILS" ]; then echo "$BUILD_SAYS" >&2; exit 1; fi
    if [ -n "$output" ]; then cp "$MADE"/* "$output"; fi
    if [ -n "$id" ]; then printf 'sha256:%s' "$(printf %s "$stage" | sha256sum | cut -d' ' -f1)" >"$id"; fi ;;
  inspect) printf 'level=warning msg=old\nsha256:%064d\n' 7 ;;
esac
"""


def root_file_system(path: pathlib.Path, zones=("Europe/Berlin", "UTC"), users=("root:x:0:0", "games:x:1005:60")) -> pathlib.Path:
    """The files that ptpkg looks at: users, time zones, the C library of this machine."""
    files = {"etc/passwd": "".join(f"{user}:::\n" for user in users).encode(),
             **{f"usr/share/zoneinfo/{zone}": b"TZif2" for zone in zones}}
    if LIBC.exists():
        files["usr/lib/x86_64-linux-gnu/libc.so.6"] = LIBC.read_bytes()
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def fake_engine(folder: pathlib.Path, name: str = "buildah") -> pathlib.Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(ENGINE)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program
