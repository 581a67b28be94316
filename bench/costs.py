"""What the benchmarks share: what commands cost, and the lines of the README's table."""

import dataclasses
import importlib.metadata
import marshal
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

KIB, MB = 1024, 1_000_000
ROUNDS = 5
BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
PTPKG, SCRATCH = BUILD / "release/bin/ptpkg", BUILD / "bench"
HEAD = "| task | compared with | its time | its CPU time | its memory | printed by |\n|---|---|---|---|---|---|"


@dataclasses.dataclass
class Cost:
    wall_s: float = 0
    cpu_s: float = 0
    peak_bytes: int = 0
    written_bytes: int = 0  # by write(2) and its kin, whatever the file

    def then(self, other: "Cost") -> "Cost":
        """The cost of both, one after the other."""
        return Cost(wall_s=self.wall_s + other.wall_s, cpu_s=self.cpu_s + other.cpu_s,
                    peak_bytes=max(self.peak_bytes, other.peak_bytes),
                    written_bytes=self.written_bytes + other.written_bytes)


# Runs commands for the rest of this program. A process of its own, because Linux counts the memory of a process until its
# exec as that of the program: a small one keeps that floor low. Only built-in modules, for the same reason.
RUNNER = """
import marshal, posix, sys, time
def start(argv):
    pid = posix.fork()
    if pid == 0:
        posix.dup2(posix.open("/dev/null", posix.O_RDWR), 0)
        posix.dup2(0, 1)
        try:
            posix.execv(argv[0], argv)
        finally:
            posix._exit(127)
    return pid
while True:
    try:
        commands, at_once = marshal.load(sys.stdin.buffer)
    except EOFError:
        break
    running, ended = 0, []
    begin = time.perf_counter()
    while commands or running:
        while commands and running < at_once:
            start(commands.pop(0))
            running += 1
        pid = posix.waitid(posix.P_ALL, 0, posix.WEXITED | posix.WNOWAIT).si_pid
        wall = time.perf_counter() - begin
        with open(f"/proc/{pid}/io") as file:  # still there: nobody has collected the process yet
            io = file.read()
        status, usage = posix.wait4(pid, 0)[1:]
        ended.append((status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, io))
        running -= 1
    marshal.dump((wall, ended), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


def wrong_work(message: str) -> None:
    print(f"{sys.argv[0]}: {message}", file=sys.stderr)
    sys.exit(2)


class Runner:
    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", RUNNER],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, commands: list[list[str]], at_once: int = 1) -> Cost:
        """Wall time from the first start to the last end; peak memory of the largest process."""
        marshal.dump((commands, at_once), self.process.stdin)
        self.process.stdin.flush()
        wall_s, ended = marshal.load(self.process.stdout)
        if any(status != 0 for status, *_ in ended):
            wrong_work(f"one of these failed: {str(commands)[:600]}")
        return Cost(wall_s=wall_s, cpu_s=sum(cpu_s for _, cpu_s, _, _ in ended),
                    peak_bytes=max(peak for _, _, peak, _ in ended) * 1024,
                    written_bytes=sum(int(io.split("wchar:")[1].split()[0]) for *_, io in ended))


def real_wheel(name: str, version: str) -> pathlib.Path:
    """A wheel of the Python index for Python 3.11, downloaded once into the user's cache."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ptpkg/real-input"
    cache.mkdir(parents=True, exist_ok=True)
    pattern = f"{name}-{version}-cp311-*.whl"
    if not list(cache.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64", "--dest", cache,
                        f"{name}=={version}"], check=True)
    return next(cache.glob(pattern))


def cleared(folder: pathlib.Path) -> pathlib.Path:
    """The folder, made anew without what lay in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def median(costs: list[Cost]) -> Cost:
    fields = [f.name for f in dataclasses.fields(Cost)]
    return Cost(**{name: statistics.median(getattr(cost, name) for cost in costs) for name in fields})


def version_of(distribution: str) -> str:
    """"conda-index 0.13.0" of the environment that runs this."""
    return f"{distribution} {importlib.metadata.version(distribution)}"


def readme_row(task: str, peer: str, ours: list[Cost], theirs: list[Cost], command: str) -> str:
    """The peer's costs as multiples of ptpkg's: medians of the ratios of each round, in which both ran in turn."""
    def times(field: str) -> str:
        ratio = statistics.median(getattr(b, field) / getattr(a, field) for a, b in zip(ours, theirs, strict=True))
        return f"{ratio:.0f} ×" if ratio >= 10 else f"{ratio:.1f} ×"

    return f"| {task} | {peer} | {times('wall_s')} | {times('cpu_s')} | {times('peak_bytes')} | `{command}` |"
