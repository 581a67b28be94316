"""`slices` of a recipe: `ptpkg build` writes packages for one GPU each beside those for all, and makes them again when, and only when, it has to."""

import base64
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time
import zipfile

import gpu_library
import harness
from gpu_library import CUBIN, PTX

FAT = [[(CUBIN, "80"), (CUBIN, "86"), (CUBIN, "90"), (CUBIN, "90a"), (PTX, "90")],
       [(CUBIN, "80"), (CUBIN, "90"), (CUBIN, "100"), (PTX, "100")]]
DEVICE_CODE = '"8.0;8.6;9.0;9.0a;10.0+PTX;more"'
SITE = "lib/python3.11/site-packages"
TAG = "py3-none-linux_x86_64"
SCRIPT = f"""      - mkdir -p "$PREFIX/{SITE}/toy" "$PREFIX/{SITE}/toy-1.0+cu130.dist-info"
      - cp lib*.so "$PREFIX/{SITE}/toy"
      - cp METADATA WHEEL "$PREFIX/{SITE}/toy-1.0+cu130.dist-info"
"""


class RecipeSlices(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        self.root = self.scratch / "recipe"
        self.files = self.root / "files"
        self.files.mkdir(parents=True)
        (self.files / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0+cu130\n")
        (self.files / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: {TAG}\n")
        self.library = gpu_library.make(self.files / "libtoy.so", FAT)
        self.dist = self.scratch / "dist"

    def write(self, slices: str, formats: str = "[conda, wheel]", device_code: str = DEVICE_CODE) -> None:
        (self.root / "recipe.yaml").write_text(
            'package: {name: toy, version: "1.0"}\nsource: {path: files}\n'
            f"build:\n  number: 3\n  string: h_3\n  script:\n    content:\n{SCRIPT}"
            f"about: {{license: MIT}}\nextra:\n  ptpkg:\n    formats: {formats}\n    device_code: {device_code}\n    slices: {slices}\n")

    def build(self, *arguments, exit_code: int = 0):
        return self.ptpkg("build", self.root, "--env", "system", "--output", self.dist, *arguments, exit_code=exit_code)

    def build_json(self, *arguments) -> dict:
        return self.ptpkg_json("build", self.root, "--env", "system", "--output", self.dist, *arguments)

    def published(self) -> list[str]:
        return sorted(path.name for ending in ("conda", "tar.bz2", "whl") for path in self.dist.rglob(f"*.{ending}")
                      if ".ptpkg" not in path.parts)

    def library_of(self, artifact: str) -> pathlib.Path:
        """The library in it, unpacked."""
        to = self.scratch / "look" / artifact
        to.mkdir(parents=True)
        if artifact.endswith(".whl"):
            with zipfile.ZipFile(self.dist / "wheels" / artifact) as archive:
                return pathlib.Path(archive.extract("toy/libtoy.so", to))
        code = "import sys\nfrom conda_package_streaming.extract import extract\nextract(sys.argv[1], sys.argv[2])\n"
        subprocess.run([harness.peers_python(), "-c", code, self.dist / "conda/linux-64" / artifact, to], check=True)
        return to / SITE / "toy/libtoy.so"

    def stages(self, summary: dict) -> list[str]:
        return sorted(stage["stage"] for stage in summary["stages"] if stage["ran"])

    def test_compact_slices(self):
        self.write('{gpus: ["9.0"], compact: true}')
        listed = {pathlib.Path(item["path"]).name: item for item in json.loads(self.build("--json").stdout)["artifacts"]}
        for whole, name in ((f"toy-1.0+cu130-{TAG}.whl", f"toy-1.0+cu130.sm90-{TAG}.whl"), ("toy-1.0-h_3.conda", "toy-1.0-h_3_sm90.conda")):
            self.assertLess(listed[name]["size"], listed[whole]["size"])
            self.assertLess(listed[name]["unpacked_size"], listed[whole]["unpacked_size"] - 50_000)
            self.assertEqual(gpu_library.names(self.library_of(name), 2), [[(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "90")]])

    def test_slices_of_a_conda_package_and_a_wheel(self):
        self.write('["9.0", 8.6+8.0]')
        done = self.build("--json")
        summary = json.loads(done.stdout)
        self.assertIn(f"slices of 'toy-1.0+cu130-{TAG}.whl' are in the same index as the wheel", done.stderr)
        names = ["toy-1.0+cu130-" + TAG + ".whl", "toy-1.0+cu130.sm80.sm86-" + TAG + ".whl", "toy-1.0+cu130.sm90-" + TAG + ".whl",
                 "toy-1.0-h_3.conda", "toy-1.0-h_3_sm80_sm86.conda", "toy-1.0-h_3_sm90.conda"]
        self.assertEqual(self.published(), names)
        self.assertEqual(gpu_library.names(self.library_of(names[0]), 2), FAT)
        self.assertEqual(gpu_library.names(self.library_of(names[3]), 2), FAT)
        for name in (names[1], names[4]):
            self.assertEqual(gpu_library.names(self.library_of(name), 2), [[(CUBIN, "80"), (CUBIN, "86")], [(CUBIN, "80")]])
        for name in (names[2], names[5]):
            self.assertEqual(gpu_library.names(self.library_of(name), 2), [[(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "90")]])

        # They are listed, indexed and checked as the others are.
        listed = {pathlib.Path(item["path"]).name: item for item in summary["artifacts"]}
        self.assertEqual(sorted(listed), names)
        manifest = {pathlib.Path(item["path"]).name: item for item in json.loads((self.dist / "manifest.json").read_text())["artifacts"]}
        self.assertEqual(sorted(manifest), names)
        for name, item in listed.items():
            path, = self.dist.rglob(name)
            self.assertEqual((item["size"], item["sha256"]), (path.stat().st_size, harness.sha256(path)))
            self.assertTrue(manifest[name]["checks"], name)
            self.ptpkg("check", path)
        for whole, slices in ((names[0], names[1:3]), (names[3], names[4:])):
            for name in slices:
                self.assertLess(listed[name]["size"], listed[whole]["size"])
                # Files keep their sizes; METADATA and info/ differ by the label.
                self.assertAlmostEqual(listed[name]["unpacked_size"], listed[whole]["unpacked_size"], delta=100)
        with zipfile.ZipFile(self.dist / "wheels" / names[2]) as archive:
            record = next(info for info in archive.infolist() if info.filename.endswith("/RECORD"))
            self.assertEqual(listed[names[2]]["unpacked_size"], sum(info.file_size for info in archive.infolist()) - record.file_size)
        records = json.loads((self.dist / "conda/linux-64/repodata.json").read_text())["packages.conda"]
        self.assertEqual({name: (record["build_number"], record["depends"]) for name, record in records.items()},
                         {names[3]: (3, []), names[4]: (3080, ["__cuda_arch 8.0.*|8.6.*"]), names[5]: (3090, ["__cuda_arch 9.0.*"])})
        page = json.loads((self.dist / "wheels/simple/toy/index.json").read_text())
        self.assertEqual(sorted(item["filename"] for item in page["files"]), names[:3])
        # An installer that asks for no version gets the slice from its own index, and the whole wheel from that of the backend.
        self.ptpkg("index", self.dist / "wheels", "--per-backend")
        for root, found in (("cu130", names[:1]), ("cu130.sm90", [names[0], names[2]]), ("cu130.sm80.sm86", names[:2])):
            page = json.loads((self.dist / "wheels" / root / "toy/index.json").read_text())
            self.assertEqual(sorted(item["filename"] for item in page["files"]), found)
        self.assertEqual(harness.leftovers(self.scratch), [])

        # The same bytes as those of the verb.
        for whole in (self.dist / "wheels" / names[0], self.dist / "conda/linux-64" / names[3]):
            made = self.ptpkg_json("slice", whole, "--gpu", "9.0", "--gpu", "8.0+8.6", "--output", self.scratch / "verb")
            for item in made["slices"]:
                name = pathlib.Path(item["to"]).name
                self.assertEqual(harness.sha256(pathlib.Path(item["to"])), listed[name]["sha256"], name)

    def test_when_they_are_made_again(self):
        self.write('["9.0"]')
        self.build()
        before = harness.artifacts(self.dist)
        self.assertEqual(self.stages(self.build_json()), [])
        self.assertEqual(harness.artifacts(self.dist), before)

        self.write('{gpus: ["9.0"], ptx: keep}')
        explained = self.build("--explain").stderr
        self.assertIn("slice  toy-1.0-h_3: ran: 'slices.ptx' changed", explained)
        self.assertNotIn("build  toy-1.0-h_3: ran", explained)
        wheel = f"toy-1.0+cu130.sm90-{TAG}.whl"
        self.assertEqual(gpu_library.names(self.library_of(wheel), 2), [[(CUBIN, "90"), (CUBIN, "90a"), (PTX, "90")], [(CUBIN, "90"), (PTX, "100")]])
        # A wheel knows nothing of the recipe's file: the one for all stays as it is.
        after = harness.artifacts(self.dist)
        whole = next(name for name in before if "+cu130-" in name)
        self.assertEqual(after[whole], before[whole])

        self.write('{gpus: ["9.0", "8.0"], ptx: keep}')
        planned = self.build("--explain", "--dry-run").stderr
        self.assertIn("would run", planned)
        self.assertEqual(harness.artifacts(self.dist), after)
        summary = self.build_json()
        states = self.stages(summary)
        self.assertNotIn("build", states)
        self.assertNotIn("wheel", states)
        self.assertEqual(states.count("slice"), 2)
        self.assertIn(f"toy-1.0+cu130.sm80-{TAG}.whl", self.published())

    def test_a_slice_that_is_gone_is_made_again(self):
        self.write('["9.0", "8.0"]')
        self.build()
        before = harness.artifacts(self.dist)
        (self.dist / f"wheels/toy-1.0+cu130.sm90-{TAG}.whl").unlink()
        states = self.stages(self.build_json())
        self.assertNotIn("build", states)
        self.assertNotIn("conda", states)
        self.assertIn("slice", states)
        self.assertEqual(harness.artifacts(self.dist), before)

    def test_a_gpu_without_code_publishes_nothing(self):
        self.write('["9.0", "7.5"]')
        said = self.build(exit_code=7).stderr
        self.assertIn("has no code that runs on a GPU of compute capability 7.5", said)
        self.assertIn("while making the slices of extra.ptpkg.slices", said)
        self.assertIn("it has compute_90, sm_80, sm_86, sm_90, sm_90a", said)
        self.assertEqual(self.published(), [])
        self.assertEqual(harness.leftovers(self.scratch), [])
        # The next run has all but the slices.
        self.write('["9.0"]')
        summary = self.build_json()
        self.assertNotIn("build", self.stages(summary))
        self.assertEqual(len(self.published()), 4)

    def test_each_follows_device_code_and_variants(self):
        self.write("each", formats="[conda]", device_code="${{ code }}")
        recipe = self.root / "recipe.yaml"
        recipe.write_text(recipe.read_text().replace("string: h_3", 'string: "${{ kind }}_3"').replace(
            "cp lib*.so", 'test "${{ kind }}" = cpu || cp lib*.so'))
        (self.root / "variants.yaml").write_text(f'kind: [cpu, cuda]\ncode: [any, {DEVICE_CODE}]\nzip_keys: [[kind, code]]\n')
        self.build()
        self.assertEqual(self.published(), [f"toy-1.0-{name}.conda" for name in
                                            ("cpu_3", "cuda_3", "cuda_3_sm100", "cuda_3_sm80", "cuda_3_sm86", "cuda_3_sm90")])

        # A list without a word on what has no code is an error of that variant.
        recipe.write_text(recipe.read_text().replace("slices: each", 'slices: ["9.0"]'))
        said = self.build("--select", "kind=cpu", exit_code=7).stderr
        self.assertIn("'toy-1.0-cpu_3.conda' has no GPU code", said)
        self.assertIn("make extra.ptpkg.slices empty for outputs and variants without GPU code", said)
        recipe.write_text(recipe.read_text().replace('slices: ["9.0"]', "slices: [{if: \"kind == 'cuda'\", then: \"9.0\"}]"))
        self.build()

    def test_variant_wheels(self):
        self.write('{gpus: ["9.0"], variant: true, cuda: "12.8"}', formats="[wheel]")
        done = self.build("--json")
        summary = json.loads(done.stdout)
        self.assertNotIn("are in the same index", done.stderr)
        stem = f"toy-1.0+cu130-{TAG}"
        self.assertEqual(self.published(), [f"{stem}-null.whl", f"{stem}-sm90.cuda12_8.whl", f"{stem}.whl"])
        self.assertEqual(len(summary["artifacts"]), 3)
        with zipfile.ZipFile(self.dist / f"wheels/{stem}-sm90.cuda12_8.whl") as archive:
            document = json.loads(archive.read("toy-1.0+cu130.dist-info/variant.json"))
        self.assertEqual(document["variants"]["sm90.cuda12_8"]["nvidia"]["cuda_version_lower_bound"], ["12.8"])
        self.assertEqual(list(json.loads((self.dist / "wheels/toy-1.0+cu130-variants.json").read_text())["variants"]), ["null", "sm90.cuda12_8"])
        self.assertEqual(self.stages(self.build_json()), [])

    def test_libraries_of_nvidia(self):
        (self.library).rename(self.files / "libnccl.so")
        self.write('["9.0"]', formats="[conda]")
        said = self.build(exit_code=7).stderr
        self.assertIn("NVIDIA's licence does not allow changes", said)
        self.assertIn("extra.ptpkg.slices.allow names the files that you have the right to change", said)
        self.assertEqual(self.published(), [])
        self.write('{gpus: ["9.0"], allow: ["libnccl.so*", "libxyz*"]}', formats="[conda]")
        self.assertIn("extra.ptpkg.slices.allow 'libxyz*' matches no file with GPU code", self.build().stderr)
        self.assertEqual(self.published(), ["toy-1.0-h_3.conda", "toy-1.0-h_3_sm90.conda"])

    def test_what_stays_is_told(self):
        gpu_library.make(self.files / "libgap.so", [*FAT, [(CUBIN, "80")]])
        gpu_library.make(self.files / "libold.so", [[(CUBIN, "80")]])
        self.write('["9.0"]', formats="[conda]", device_code="any")
        said = self.build().stderr
        self.assertIn(f"'toy-1.0-h_3_sm90.conda': '{SITE}/toy/libold.so' is unchanged: it has no code for 9.0", said)
        self.assertIn(f"'toy-1.0-h_3_sm90.conda': '{SITE}/toy/libgap.so' keeps all code of 1 container, which has none for 9.0", said)

    def test_foreign_files_stay_without_force(self):
        self.write('["9.0"]', formats="[conda]")
        place = self.dist / "conda/linux-64/toy-1.0-h_3_sm90.conda"
        place.parent.mkdir(parents=True)
        place.write_bytes(b"somebody's")
        said = self.build(exit_code=7).stderr
        self.assertIn(str(place), said)
        self.assertEqual(place.read_bytes(), b"somebody's")
        self.assertFalse((place.parent / "toy-1.0-h_3.conda").exists())
        self.build("--force")
        self.assertGreater(place.stat().st_size, 1000)
        self.ptpkg("check", place)

    def test_a_build_takes_the_whole_package(self):
        self.write('["9.0"]', formats="[conda]")
        self.build()
        other = self.scratch / "other"
        other.mkdir()
        (other / "recipe.yaml").write_text(
            'package: {name: other, version: "1.0"}\nbuild:\n  script: cp "$PREFIX/' + SITE + '/toy/libtoy.so" "$PREFIX/libcopy.so"\n'
            "requirements: {host: [toy]}\nabout: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n")
        plan = self.ptpkg_json("build", other, "--env", "system", "--output", self.dist, "--plan")
        node, = (node for node in plan["nodes"] if node["stage"] == "build")
        self.assertEqual([package["file"] for package in node["inputs"]["packages"]], ["linux-64/toy-1.0-h_3.conda"])

    def test_signed(self):
        key = self.scratch / "key.pem"
        subprocess.run([harness.tool("openssl"), "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", self.scratch / "key.pub"], check=True)
        self.write('["9.0", "8.0"]')
        self.build("--sign-key", key)
        for name in self.published():
            path, = self.dist.rglob(name)
            self.ptpkg("check", path, "--verify-key", self.scratch / "key.pub")
        path = self.dist / "conda/linux-64/toy-1.0-h_3_sm90.conda"
        envelope = json.loads((path.parent / (path.name + ".intoto.jsonl")).read_text())
        statement = json.loads(base64.b64decode(envelope["payload"]))
        self.assertEqual(statement["subject"], [{"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}])
        self.assertEqual(statement["predicate"]["buildDefinition"]["externalParameters"]["slices"],
                         {"gpus": ["9.0", "8.0"], "ptx": "drop", "compact": False, "allow": []})
        self.assertEqual(self.stages(self.build_json("--sign-key", key)), [])

    def waiting_slices(self) -> int:
        """Also those that are being written. What goes meanwhile is passed over."""
        return sum("sm" in name for _, _, names in os.walk(self.cache / "waiting") for name in names)

    def test_killed_runs_go_on(self):
        self.write("each")
        self.build()
        whole = harness.artifacts(self.dist)
        for count in range(1, 5):
            self.dist = self.scratch / f"dist{count}"
            command = [harness.Settings.ptpkg, "build", self.root, "--env", "system", "--output", self.dist]
            with subprocess.Popen(command, env=self.environment(), cwd=self.scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                # In the midst of slicing: when the first slices wait for their publication.
                while process.poll() is None and self.waiting_slices() < count:
                    time.sleep(0.001)
                process.send_signal(signal.SIGKILL)
            for name, digest in harness.artifacts(self.dist).items():
                self.assertEqual(whole[name], digest)
            self.build()
            self.assertEqual(harness.artifacts(self.dist), whole)
            self.assertEqual(harness.leftovers(self.dist), [])


if __name__ == "__main__":
    harness.main()
