"""MAGMA, and libc10 and libc10_cuda behind it, for two CUDA toolkits on three Slurm nodes, killed in the middle and resumed.

PTPKG_MAGMA_SOURCE and PTPKG_PYTORCH_SOURCE name the sources, as for magma_test.py (2.9.0) and libc10_cuda_test.py; without them the test
is skipped. PTPKG_MAGMA_CLOSURE: potrf, the default, or pytorch. PTPKG_RELEASE_CACHE names a directory that stays: it keeps the 2 GB that
come from the Python index. Wanted are root, Slurm and what the recipes require of the machine.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import harness
import installing
from servers.slurm import Settings, Slurm

CUDAS = ("13.0", "13.2")
VARIANTS = """\
magma_version: ["2.9.0"]
magma_backend: [cuda]
magma_archs: ["9.0"]
magma_closure: [{closure}]
target: [c10_cuda]
torch_version: ["2.6.0"]
cuda_archs: ["9.0"]
cuda_compiler_version: [{cudas}]
"""
# libc10_cuda does not use MAGMA. The rest of PyTorch does, and a release builds it first.
AFTER, MAGMA = "        - cuda-nvml-dev\n", "        - magma-cuda${{ cuda_compiler_version | version_to_buildstring }} ==2.9.0\n"
LONG_S = 7200


class RealRelease(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        names = ("PTPKG_MAGMA_SOURCE", "PTPKG_PYTORCH_SOURCE")
        if missing := [name for name in names if not os.environ.get(name)]:
            self.skipTest(f"{' and '.join(missing)} do not name the sources of MAGMA 2.9.0 and PyTorch 2.6.0")
        self.sources = [f"{name}={pathlib.Path(os.environ[variable]).resolve()}" for name, variable in zip(("magma", "pytorch"), names)]
        harness.peers_python()
        self.cluster = self.enterContext(Slurm(Settings(memory_mb=16000)))
        self.closure = os.environ.get("PTPKG_MAGMA_CLOSURE") or "potrf"
        if kept := os.environ.get("PTPKG_RELEASE_CACHE"):
            self.cache = pathlib.Path(kept).resolve()
        self.run_folder, self.output = self.scratch / "run", self.scratch / "dist"

    def request(self) -> list:
        for folder in ("recipes/magma", "recipes/pytorch", "patches/magma"):
            shutil.copytree(harness.REPOSITORY / folder, self.scratch / folder)
        recipe = self.scratch / "recipes/pytorch/c10_cuda.yaml"
        text = recipe.read_text()
        self.assertEqual(text.count(AFTER), 1)
        recipe.write_text(text.replace(AFTER, AFTER + MAGMA))
        variants = self.scratch / "variants.yaml"
        variants.write_text(VARIANTS.format(closure=self.closure, cudas=", ".join(f'"{cuda}"' for cuda in CUDAS)))
        return [self.scratch / "recipes/magma", recipe, "--variants", variants, "--env", "wheels", "--output", self.output,
                *(word for source in self.sources for word in ("--source", source))]

    def matrix(self, *args) -> subprocess.CompletedProcess:
        done = self.cluster.login.run([harness.Settings.ptpkg, "matrix", *args, "--no-config"], check=False, timeout=harness.HANGS_AFTER_S,
                                      env=self.cluster.environment(PTPKG_CACHE_DIR=str(self.cache)))
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}{self.cluster.logs()}")
        return done

    def jobs(self) -> dict[str, dict]:
        return {job["id"]: job for job in json.loads(self.matrix("status", self.run_folder, "--json").stdout)["jobs"]}

    def host_of(self, job: str) -> str:
        """Where the last attempt of the job works."""
        attempts = sorted(self.run_folder.glob(f"jobs/{job}/attempts/*/worker.json"), key=lambda path: int(path.parent.name))
        return re.match(r"host (\w+),", json.loads(attempts[-1].read_text())["worker"])[1]

    def compiles(self, job: str) -> bool:
        """True if the host of the job runs a compiler of CUDA."""
        return bool(list(self.run_folder.glob(f"jobs/{job}/attempts/*/worker.json"))) and bool(
            self.cluster.hosts[self.host_of(job)].processes("cicc"))

    def wait_until_still(self) -> dict[str, str]:
        self.cluster.wait_for(lambda: not self.cluster.queued(), LONG_S)
        return {name: job["state"] for name, job in self.jobs().items()}

    def test_killed_in_the_middle_and_resumed(self):
        request = self.request()
        self.ptpkg("build", *request, "--dry-run")  # fetches what the hosts, which have no other network, will need
        began = time.monotonic()
        self.matrix(*request, "--on", "slurm", "--run", self.run_folder, "--lease", 20, "--offline")
        magma = [f"magma-cuda{cuda.replace('.', '')}-2.9.0-{self.closure}_1" for cuda in CUDAS]
        needs = {job["id"]: job["needs"] for job in json.loads((self.run_folder / "run.json").read_text())["body"]["jobs"]}
        self.assertTrue(set(magma) < set(needs), needs)
        self.cluster.wait_for(lambda: all(self.compiles(job) for job in magma), LONG_S)
        loses_worker, loses_slurmd = (self.host_of(job) for job in magma)
        self.assertGreater(self.cluster.hosts[loses_worker].kill("run-node", magma[0]), 0)
        self.cluster.kill_node(loses_slurmd)
        states = self.wait_until_still()
        print("tally: after the kills:", states, file=sys.stderr)
        self.assertEqual(states[magma[0]], "lost")
        self.assertEqual(states[magma[1]], "passed", "its worker went on, and the second attempt took its result")
        self.cluster.start_node(loses_slurmd)
        self.cluster.wait_for(lambda: self.cluster.node_states()[loses_slurmd] == "idle")
        self.matrix("resume", self.run_folder)
        self.assertEqual(set(self.wait_until_still().values()), {"passed"}, json.dumps(self.jobs(), indent=1))
        attempts = sum(1 for _ in self.run_folder.glob("jobs/*/attempts/*/worker.json"))
        print(f"tally: {len(needs)} jobs, {attempts} attempts, 1 resume; {time.monotonic() - began:.0f} s", file=sys.stderr)
        self.check_channel()

    def check_channel(self) -> None:
        made = harness.artifacts(self.output)
        names = sorted(re.sub(r"_h[0-9a-f]{7}_13", "", path.rsplit("/", 1)[1]) for path in made)
        stems = sorted(name for cuda in ("130", "132") for name in (f"libc10-2.6.0-cuda{cuda}", f"libc10_cuda-2.6.0-cuda{cuda}",
                                                                    f"magma-cuda{cuda}-2.9.0-{self.closure}_1"))
        self.assertEqual(names, sorted(f"{stem}.{ending}" for stem in stems for ending in ("conda", "tar.bz2")))
        self.assertEqual(harness.leftovers(self.output), [])
        for facts in self.ptpkg_json("check", *(self.output / name for name in made)):
            self.assertEqual([finding for finding in facts["findings"] if finding["severity"] == "error"], [])
        for name, digest in made.items():
            print(f"{(self.output / name).stat().st_size} {digest} {name}", file=sys.stderr)
        for cuda in CUDAS:
            short = cuda.replace(".", "")
            prefix = self.scratch / f"prefix{short}"
            taken = installing.rattler_install(self, prefix, [self.output / "conda"], f"libc10_cuda * cuda{short}_*", f"magma-cuda{short}", cuda=cuda)
            print(f"installed for CUDA {cuda}: {' '.join(taken.split())}", file=sys.stderr)
            self.assertEqual(len(taken.split()), 3)
            for file in ("lib/libc10.so", "lib/libc10_cuda.so", "lib/libmagma.a", "include/magma_v2.h"):
                self.assertTrue((prefix / file).exists(), file)


if __name__ == "__main__":
    harness.main()
