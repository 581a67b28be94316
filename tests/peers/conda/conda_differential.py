#!/usr/bin/env python3
"""`ptpkg check` passes no conda package that py-rattler or conda-package-handling refuses, or that they read in two ways.

usage: conda_differential.py --ptpkg PROGRAM [--count N] [--seed N] [--only TEXT] [--verbose]

Spoils valid packages (conda_bytes.py) in the ways of conda_mutations.py: each kind of mutation at least once, N packages in all, or
every variant in both formats with --count 0. Further packages get two or three mutations at once. For each package, the peers
  extract it (conda-package-handling, py-rattler), and must find equal files with equal permissions, those of paths.json
  read info/index.json, about.json, paths.json, run_exports.json, and a repodata.json with its record
  install it into a prefix of its own, where each file lies at its place and conda-meta/ can be read
A package that any of these refuses must have an error of `ptpkg check`. One that all of them take may have errors with the ids of
conda_reasons.txt only; with --all-reasons, some package needs each of them. `ptpkg index` of all packages must write a repodata.json of which py-rattler reads each record.

Exit: 0 all of it holds, 1 not, 77 a peer is missing (its name is printed).
"""
import argparse
import asyncio
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import stat
import subprocess
import tempfile
import zlib
from pathlib import Path

from conda_bytes import PLACEHOLDER, Member, Package, base, index_of
from conda_mutations import MUTATIONS
from peers import SKIPPED, exit_at_once, is_skipped

REASONS = Path(__file__).with_name("conda_reasons.txt")
PYTHON = Package("python", "native", ".tar.bz2", version="3.11.0")
PYTHON.documents = {"index.json": index_of(PYTHON), "about.json": {}}
PYTHON.payload = [Member(b"bin/python3.11", b"#!/bin/sh\n", mode=0o755)]


class Refused(Exception):
    """Peers read the package in two ways."""


def kind_of(name):
    return name.rsplit("/", 1)[0] if name.count("/") == 1 else name.split("/", 1)[0]


def chosen(count, seed, only):
    """Names of mutations for each package: one of each kind, then more, then several at once."""
    names = [name for name in MUTATIONS if only in name]
    if only or count == 0:
        return [(name, extension) for name in names for extension in (".conda", ".tar.bz2")]
    rng = random.Random(seed)
    by_kind = {}
    for name in names:
        by_kind.setdefault(kind_of(name), []).append(name)
    picked = [rng.choice(group) for group in by_kind.values()]
    rest = sorted(set(names) - set(picked))
    rng.shuffle(rest)
    picked += rest[:max(0, count - len(picked))]
    return [(name, rng.choice((".conda", ".tar.bz2"))) for name in picked]


def several(count, seed):
    """Packages with two or three mutations."""
    rng = random.Random(seed)
    names = sorted(MUTATIONS)
    made = []
    while len(made) < count:
        picked = rng.sample(names, rng.randint(2, 3))
        if set.intersection(*(set(MUTATIONS[name][0]) for name in picked)):
            made.append((tuple(picked), rng.choice((".conda", ".tar.bz2"))))
    return made


def spoiled(number, names, extension):
    """The package with these mutations; None where one of them spoils what another needs."""
    names = (names,) if isinstance(names, str) else names
    kinds = set.intersection(*(set(MUTATIONS[name][0]) for name in names))
    kind = sorted(kinds)[zlib.crc32(repr(names).encode()) % len(kinds)]
    package = base(f"toy{number}", kind, extension)
    try:
        for name in names:
            MUTATIONS[name][1](package)
        return package, package.bytes()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OSError):
        if len(names) == 1:
            raise
        return None


def tree_of(root):
    """Path → kind, content, and permissions that matter."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in files + [name for name in folders if os.path.islink(os.path.join(folder, name))]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                what = ("link", os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                what = ("file", Path(path).read_bytes(), bool(status.st_mode & 0o100), status.st_mode & 0o7000)
            else:
                what = ("other", status.st_mode)
            found[os.path.relpath(path, root)] = what
    return found


def require_equal(ours, theirs, what):
    if ours == theirs:
        return
    path = sorted(path for path in set(ours) | set(theirs) if ours.get(path) != theirs.get(path))[0]
    raise Refused(f"{what} differ in {path!a}: {str(ours.get(path))[:60]} {str(theirs.get(path))[:60]}")


def require_listed(tree, listed):
    """The files are those of paths.json."""
    held = {path for path in tree if not path.startswith("info/")}
    if held != {entry["_path"] for entry in listed}:
        raise Refused(f"paths.json lists other files: {sorted(held ^ {entry['_path'] for entry in listed})}")
    for entry in listed:
        what = tree[entry["_path"]]
        if (what[0] == "link") != (entry["path_type"] == "softlink"):
            raise Refused(f"paths.json has another kind for {entry['_path']}")
        size, digest = entry.get("size_in_bytes"), entry.get("sha256")
        if what[0] == "file" and (size not in (None, len(what[1])) or
                                  digest is not None and digest.lower() != hashlib.sha256(what[1]).hexdigest()):
            raise Refused(f"paths.json has another digest for {entry['_path']}")


def place_of(path, kind):
    if kind == "python":
        for packed, installed in (("site-packages/", "lib/python3.11/site-packages/"), ("python-scripts/", "bin/")):
            if path.startswith(packed):
                return installed + path.removeprefix(packed)
    return path


class Peers:
    def __init__(self, scratch):
        self.scratch = scratch
        self.loop = asyncio.new_event_loop()
        self.python = scratch / PYTHON.file_name
        self.python.write_bytes(PYTHON.bytes())

    def record(self, path, index):
        import rattler
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return rattler.RepoDataRecord(rattler.PackageRecord.from_index_json(index, sha256=digest), path.name, path.as_uri(),
                                      self.scratch.as_uri())

    def refusal(self, kind, path):
        """Why a peer refuses it; None when all of them take it."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            self.read(kind, path, folder)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # pylint: disable=broad-except  # pyo3's panics are no Exception
            return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
        finally:
            make_writable(folder)
            shutil.rmtree(folder, ignore_errors=True)  # py-rattler goes on writing for a moment after a failure
        return None

    def read(self, kind, path, folder):
        import conda_package_handling.api
        import rattler
        import rattler.package_streaming
        conda_package_handling.api.extract(str(path), str(folder / "handling"))
        rattler.package_streaming.extract(path, folder / "rattler")
        tree = tree_of(folder / "rattler")
        require_equal(tree, tree_of(folder / "handling"), "py-rattler's and conda-package-handling's files")
        info = folder / "rattler/info"
        rattler.IndexJson.from_package_directory(folder / "rattler")
        if (info / "about.json").exists():
            rattler.AboutJson.from_package_directory(folder / "rattler")
        rattler.PathsJson.from_package_directory(folder / "rattler")
        if (info / "run_exports.json").exists():
            rattler.RunExportsJson.from_package_directory(folder / "rattler")
        require_listed(tree, json.loads((info / "paths.json").read_bytes())["paths"])
        self.read_repodata(path, info, folder)
        self.install(kind, path, info, folder, tree)

    @staticmethod
    def read_repodata(path, info, folder):
        """The record as conda-index writes it: index.json with digests."""
        import rattler
        record = json.loads((info / "index.json").read_bytes()) | {"md5": "0" * 32, "sha256": "0" * 64, "size": path.stat().st_size}
        key = "packages.conda" if path.suffix == ".conda" else "packages"
        (folder / "repodata.json").write_text(json.dumps({"info": {"subdir": path.parent.name}, key: {path.name: record}}))
        rattler.RepoData.from_path(folder / "repodata.json")

    def install(self, kind, path, info, folder, tree):
        import rattler
        records = [self.record(path, info / "index.json")]
        if kind == "python":
            python = folder / "python"
            rattler.package_streaming.extract(self.python, python)
            records.insert(0, self.record(self.python, python / "info/index.json"))
        prefix = folder / "prefix"
        self.loop.run_until_complete(rattler.install(records, target_prefix=prefix, cache_dir=folder / "cache", show_progress=False))
        installed = tree_of(prefix)
        expected = {place_of(name, kind): what for name, what in tree.items() if not name.startswith("info/")}
        if len(expected) != len([name for name in tree if not name.startswith("info/")]):
            raise Refused("two files have one place")
        for name, what in expected.items():
            if what[0] == "file" and PLACEHOLDER.encode() in what[1]:
                what = (what[0], what[1].replace(PLACEHOLDER.encode(), str(prefix).encode()), *what[2:])
            if installed.get(name) != what:
                raise Refused(f"{name!a} is installed as {str(installed.get(name))[:60]} and not {str(what)[:60]}")
        meta = {name.split("/")[1] for name in installed if name.startswith("conda-meta/")}
        if meta != {"history"} | {f"{record.file_name.removesuffix('.conda').removesuffix('.tar.bz2')}.json" for record in records}:
            raise Refused(f"conda-meta/ holds {sorted(meta)}")
        for name in meta - {"history"}:
            rattler.PrefixRecord.from_path(prefix / "conda-meta" / name)


def answer(scratch, pipe):
    """Has the peers read each package that comes through the pipe."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)  # panics of Rust
    peers = Peers(scratch)
    while True:
        kind, path = pipe.recv()
        pipe.send(peers.refusal(kind, Path(path)))


class Worker:
    """The peers in a process of their own, since some packages end it."""

    def __init__(self, scratch):
        self.scratch, self.process = scratch, None

    def refusal(self, kind, path):
        if self.process is None:
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.get_context("fork").Process(target=answer, args=(self.scratch, other), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send((kind, str(path)))
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            code, self.process = self.process.exitcode, None
            return f"a peer dies (exit code {code})"

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()


def make_writable(folder):
    for place, _, _ in os.walk(folder):
        os.chmod(place, 0o755)


def checked(program, paths, environment):
    """File → ids of its errors."""
    done = subprocess.run([program, "check", "--json", "--quiet", *paths], stdout=subprocess.PIPE, text=True, env=environment, check=False)
    return {item["subject"]: {f["id"]: f["message"] for f in item["findings"] if f["severity"] == "error"} for item in json.loads(done.stdout)}


def unreadable_records(channel, program, environment):
    """Names of packages whose record py-rattler cannot read from the index."""
    import rattler
    subprocess.run([program, "index", channel], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
    broken = []
    for subdir in ("noarch", "linux-64"):
        path = channel / subdir / "repodata.json"
        with rattler.SparseRepoData(rattler.Channel(channel.as_uri()), subdir, path) as data:
            for name in data.package_names():
                try:
                    data.load_records(rattler.PackageName.unchecked(name) if hasattr(rattler.PackageName, "unchecked") else name)
                except Exception as error:  # pylint: disable=broad-except
                    broken.append((name, str(error)))
    return broken


def read_reasons():
    lines = REASONS.read_text(encoding="utf-8").splitlines() if REASONS.exists() else []
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


class Differences:
    def __init__(self, program, environment, verbose):
        self.program, self.environment, self.verbose = program, environment, verbose
        self.reasons = read_reasons()
        self.used, self.problems, self.counts = set(), [], {"both take": 0, "both refuse": 0, "check alone": 0}

    def judge(self, label, refusal, errors):
        if refusal and not errors:
            self.problems.append(f"{label}: passes, and a peer refuses it: {refusal}")
        elif not refusal and errors:
            self.counts["check alone"] += 1
            unlisted = set(errors) - set(self.reasons)
            self.used |= set(errors)
            if unlisted:
                self.problems.append(f"{label}: all peers take it, and check has {', '.join(sorted(unlisted))}: {errors[min(unlisted)][:200]}")
            elif self.verbose:
                print(f"check alone: {label}: {errors}")
        else:
            self.counts["both refuse" if refusal else "both take"] += 1
            if self.verbose:
                print(f"{'both refuse' if refusal else 'both take'}: {label}: {refusal} {errors}")


def run(arguments, scratch):
    environment = {**os.environ, "PTPKG_CACHE_DIR": str(scratch / "cache")}
    differences = Differences(str(Path(arguments.ptpkg).resolve()), environment, arguments.verbose)
    cases = chosen(arguments.count, arguments.seed, arguments.only)
    if not arguments.only:
        cases += several(arguments.several, arguments.seed)
    channel = scratch / "channel"
    refusals, labels = {}, {}
    worker = Worker(scratch)
    for number, (names, extension) in enumerate(cases):
        made = spoiled(number, names, extension)
        if made is None:
            continue
        package, data = made
        path = channel / package.subdir / package.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        labels[str(path)] = f"{names} ({package.kind}, {extension})"
        refusals[str(path)] = worker.refusal(package.kind, path)
    worker.end()
    for subdir in ("noarch", "linux-64"):
        (channel / subdir).mkdir(parents=True, exist_ok=True)
    answers = {}
    paths = sorted(refusals)
    for begin in range(0, len(paths), 500):
        answers |= checked(differences.program, paths[begin:begin + 500], environment)
    for path in paths:
        differences.judge(labels[path], refusals[path], answers[path])
    for name, error in unreadable_records(channel, differences.program, environment):
        path = next(path for path in paths if f"/{name}-" in path)
        differences.problems.append(f"{labels[path]}: its record in the index cannot be read: {error}")
    if arguments.all_reasons:
        differences.problems += [f"no package needs the reason for {one}" for one in sorted(set(differences.reasons) - differences.used)]
    return differences, len(paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", metavar="PROGRAM", required=True)
    parser.add_argument("--count", metavar="N", type=int, default=300, help="packages with one mutation; 0: every variant")
    parser.add_argument("--several", metavar="N", type=int, default=40, help="packages with several mutations")
    parser.add_argument("--seed", metavar="N", type=int, default=int(os.environ.get("PTPKG_SEED", "1")))
    parser.add_argument("--only", metavar="TEXT", default="", help="only mutations with this in their names")
    parser.add_argument("--all-reasons", action="store_true", help="fail for a reason that no package needs")
    parser.add_argument("--verbose", action="store_true", help="print what becomes of each package")
    arguments = parser.parse_args()
    if is_skipped([("rattler", "py-rattler"), ("conda_package_handling", "conda-package-handling")]):
        return SKIPPED
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # py-rattler waits for the disk
    with tempfile.TemporaryDirectory(prefix="conda-differential-", dir=memory) as folder:
        differences, count = run(arguments, Path(folder).resolve())
    print("\n".join(differences.problems))
    print(f"{count} packages of seed {arguments.seed}: {differences.counts}, {len(differences.problems)} problems")
    return 1 if differences.problems else 0


if __name__ == "__main__":
    exit_at_once(main())
