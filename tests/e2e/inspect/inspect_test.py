"""`ptpkg inspect` and `ptpkg diff`: what other programs read in the same files, on artifacts of an example project.

readelf judges sections, build ids and names, diffoscope which files differ, zipfile sizes.
"""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

import harness


class Inspect(harness.Case):
    @classmethod
    def setUpClass(cls) -> None:
        """Packages and wheels of one project for all tests."""
        super().setUpClass()
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        case = cls("ptpkg")
        case.scratch, case.cache = cls.shared, cls.shared / "cache"
        case.ptpkg("build", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch", "--output", cls.shared / "dist", "--quiet")
        cls.dist = cls.shared / "dist"
        cls.wheel = next(cls.dist.glob("wheels/toytorch-*+cpu-*.whl"))
        cls.other = next(cls.dist.glob("wheels/toytorch-*+omp-*.whl"))
        cls.conda = next(cls.dist.glob("conda/linux-64/toytorch-*cpu*.conda"))

    def inspect(self, artifact: pathlib.Path, *arguments) -> dict:
        document, = json.loads(self.ptpkg("inspect", "--json", artifact, *arguments).stdout)
        return document

    def diff(self, old: pathlib.Path, new: pathlib.Path, exit_code: int = 1) -> dict:
        return json.loads(self.ptpkg("diff", "--json", old, new, exit_code=exit_code).stdout)

    def unpacked(self) -> pathlib.Path:
        folder = self.scratch / "unpacked"
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(folder)
        return folder

    def test_files_are_those_of_the_zip(self):
        with zipfile.ZipFile(self.wheel) as archive:
            members = {info.filename: (info.file_size, info.compress_size) for info in archive.infolist()}
        for arguments in ((), ("--quick",)):
            document = self.inspect(self.wheel, *arguments)
            self.assertEqual({file["path"]: (file["size_bytes"], file["stored_bytes"]) for file in document["files"]}, members)
            self.assertEqual(document["unpacked_bytes"], sum(size for size, _ in members.values()))

    def test_readelf_sees_the_same(self):
        folder = self.unpacked()
        document = self.inspect(self.wheel)
        self.assertEqual(len(document["elf"]), 4)
        for elf in document["elf"]:
            text = subprocess.run([harness.tool("readelf"), "--wide", "--sections", "--notes", "--dynamic", folder / elf["file"]], text=True,
                                  capture_output=True, check=True).stdout
            rows = re.findall(r"^\s+\[\s*\d+\] (\S+)\s+(\S+)\s+\S+ \S+ (\S+)", text, re.MULTILINE)
            sections = {name: int(size, 16) for name, kind, size in rows if kind not in ("NULL", "NOBITS") and int(size, 16)}
            self.assertEqual({section["name"]: section["size_bytes"] for section in elf["sections"]}, sections)
            self.assertEqual([need["name"] for need in elf["needed"]], re.findall(r"\(NEEDED\).*\[(.*)\]", text))
            self.assertEqual(elf["build_id"], next(iter(re.findall(r"Build ID: (\w+)", text)), None))
            self.assertEqual(elf["soname"], next(iter(re.findall(r"\(SONAME\).*\[(.*)\]", text)), None))

    def test_the_graph_and_the_text(self):
        module = next(elf for elf in self.inspect(self.wheel)["elf"] if "_C." in elf["file"])
        self.assertEqual(module["needed"][0]["files"], [{"path": "toytorch/lib/libtoytorch_python.so", "rule": "RUNPATH $ORIGIN/lib"}])
        text = self.ptpkg("inspect", self.wheel, "--graph").stdout
        self.assertIn("libtoytorch_python.so: toytorch/lib/libtoytorch_python.so by RUNPATH $ORIGIN/lib", text)
        self.assertIn("size by directory", text)
        self.assertNotIn("RUNPATH", self.ptpkg("inspect", self.wheel).stdout)

    def test_stages_of_the_build_that_made_it(self):
        self.assertEqual([stage["name"] for stage in self.inspect(self.conda, "--quick")["stages"]],
                         [stage["name"] for stage in self.inspect(self.wheel)["stages"]])
        begins = {stage["name"]: stage["begin_s"] for stage in self.inspect(self.wheel)["stages"]}
        self.assertTrue(0 <= begins["build"] < begins["wheel"] < begins["publish"], begins)
        names = {stage["name"] for stage in self.inspect(self.wheel)["stages"]}
        self.assertLessEqual({"build", "wheel", "conda", "publish"}, names)
        elsewhere = shutil.copy(self.wheel, self.scratch)
        self.assertEqual(self.inspect(elsewhere)["stages"], [])
        (self.scratch / "folder").mkdir()
        (self.scratch / "manifest.json").write_text("[")
        self.assertEqual(self.inspect(shutil.copy(self.wheel, self.scratch / "folder"))["stages"], [])

    def test_conda_packages_of_both_formats_hold_the_same(self):
        old = self.conda.with_suffix("").with_name(self.conda.name.removesuffix(".conda") + ".tar.bz2")
        documents = [self.inspect(artifact) for artifact in (self.conda, old)]
        for document in documents:
            self.assertEqual(document["metadata"]["name"], "toytorch")
            self.assertEqual(len(document["elf"]), 4)
        quick = self.inspect(self.conda, "--quick")
        paths = {file["path"]: file["size_bytes"] for file in documents[0]["files"]}
        self.assertEqual({file["path"]: file["size_bytes"] for file in quick["files"]}, paths)
        difference = self.diff(old, self.conda)
        self.assertEqual(difference["packing"], ["format"])
        self.assertEqual(difference["files"], [])

    def test_equal_and_packed_otherwise(self):
        self.assertEqual(self.diff(self.wheel, shutil.copy(self.wheel, self.scratch), exit_code=0)["identical"], True)
        again = self.scratch / self.wheel.name
        with zipfile.ZipFile(self.wheel) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_STORED) as new:
            for info in reversed(old.infolist()):
                new.writestr(zipfile.ZipInfo(info.filename), old.read(info))
        difference = self.diff(self.wheel, again)
        self.assertEqual(set(difference["packing"]), {"order", "compression"})
        with zipfile.ZipFile(self.wheel) as old:
            programs = {info.filename for info in old.infolist() if info.external_attr >> 16 & 0o100}
        self.assertTrue(programs)
        self.assertEqual({(file["path"], file["change"]) for file in difference["files"]}, {(name, "mode") for name in programs})  # ZipInfo has 0600

    def test_diffoscope_names_the_same_files(self):
        program = harness.tool("diffoscope")
        report = self.scratch / "report.json"
        ours = self.diff(self.wheel, self.other)
        done = subprocess.run([program, "--json", report, "--exclude-directory-metadata", "yes", self.wheel, self.other], check=False)
        self.assertEqual(done.returncode, 1)
        theirs = json.loads(report.read_text())
        changed, renamed = set(), set()
        for detail in theirs["details"]:
            if detail["source1"] == detail["source2"]:
                changed.add(detail["source1"])
            elif "/" in detail["source1"] and "/" in detail["source2"]:
                renamed.add(detail["source2"])
        names = {file["path"] for file in ours["files"] if file["change"] == "changed" and not file["old_path"]}
        self.assertTrue(names)
        # Of the archives themselves it shows what zipinfo and zipnote print.
        self.assertEqual({name for name in changed if not name.startswith(("zipinfo", "zipnote"))}, names)
        # diffoscope pairs files that are alike; both are in neither list of ours as equal.
        self.assertLessEqual(renamed, {file["path"] for file in ours["files"] if file["change"] == "added" or file["old_path"]})
        # The versions differ, and so do the names of .dist-info.
        metadata, = (file for file in ours["files"] if file["path"].endswith("/METADATA"))
        self.assertEqual(metadata["change"], "changed")
        self.assertIn("+cpu.dist-info/METADATA", metadata["old_path"])
        self.assertIn(f"{metadata['path']} (was {metadata['old_path']})", self.ptpkg("diff", self.wheel, self.other, exit_code=1).stdout)

    def test_patch_applies_the_lines_that_differ(self):
        """patch(1) judges the unified diffs of two versions, where each text file that changed has one."""
        text = self.ptpkg("diff", "--rows", 1000, self.wheel, self.other, exit_code=1).stdout.splitlines()
        patched = 0
        for file in self.diff(self.wheel, self.other)["files"]:
            if not file["text"] or not file["text"]["hunks"]:
                continue
            old_path = file["old_path"] or file["path"]
            begin = next(index for index, line in enumerate(text) if line.startswith(f"  changed  {file['path']} ")) + 1
            end = next(index for index in range(begin, len(text)) if not text[index].startswith("    "))
            with zipfile.ZipFile(self.wheel) as old, zipfile.ZipFile(self.other) as new:
                before, after = old.read(old_path), new.read(file["path"])
            target = self.scratch / "patched"
            target.write_bytes(before)
            hunks = ["--- patched", "+++ patched", *(line[4:] for line in text[begin:end])]
            subprocess.run(["patch", "--silent", target], input="\n".join([*hunks, ""]), text=True, check=True)
            self.assertEqual(target.read_bytes(), after, file["path"])
            patched += 1
        self.assertGreater(patched, 1)

    def test_a_wheel_and_a_conda_package_are_paired(self):
        files = self.diff(self.wheel, self.conda)["files"]
        names = {change: {pathlib.PurePath(file["path"]).name for file in files if file["change"] == change} for change in ("added", "removed")}
        self.assertEqual(names["added"] & names["removed"], set())
        modules = [file for file in files if file["path"].endswith("toytorch/__init__.py")]
        self.assertEqual([(file["change"], file["old_path"]) for file in modules], [("renamed", "toytorch/__init__.py")])

    def test_nm_sees_the_symbols_that_differ(self):
        def symbols(wheel, path):
            """By nm: (exported, needed), the latter with versions."""
            file = self.scratch / "library.so"
            with zipfile.ZipFile(wheel) as archive:
                file.write_bytes(archive.read(path))
            lists = [subprocess.run([harness.tool("nm"), "--dynamic", "--format=just-symbols", "--with-symbol-versions", flag, file], text=True,
                                    capture_output=True, check=True).stdout.split() for flag in ("--defined-only", "--undefined-only")]
            return {re.sub("@.*", "", name) for name in lists[0]}, set(lists[1])

        seen = 0
        for file in self.diff(self.wheel, self.other)["files"]:
            if file["change"] != "changed" or not file["elf"]:
                continue
            before, after = symbols(self.wheel, file["old_path"] or file["path"]), symbols(self.other, file["path"])
            parts = {part["part"]: (part["old"], part["new"]) for part in file["elf"]}
            for part, old, new in zip(("exported symbols", "needed symbols"), before, after):
                self.assertEqual(parts.get(part, ([], [])), (sorted(old - new), sorted(new - old)), (file["path"], part))
                seen += old != new
        self.assertGreater(seen, 0)

    def test_what_of_a_library_changed(self):
        patched = self.scratch / self.wheel.name
        tree = self.unpacked()
        library = tree / "toytorch/lib/libtoytorch_cpu.so"
        self.ptpkg("relink", library, "--set-rpath", "$ORIGIN:$ORIGIN/../x", "--quiet")
        with zipfile.ZipFile(self.wheel) as old, zipfile.ZipFile(patched, "w", zipfile.ZIP_DEFLATED) as new:
            for info in old.infolist():
                new.writestr(info, (tree / info.filename).read_bytes())
        file, = self.diff(self.wheel, patched)["files"]
        self.assertEqual((file["path"], file["change"]), ("toytorch/lib/libtoytorch_cpu.so", "changed"))
        self.assertEqual([part["part"] for part in file["elf"]], ["search path"])
        self.assertIn("search path: RUNPATH, $ORIGIN -> RUNPATH, $ORIGIN:$ORIGIN/../x",
                      self.ptpkg("diff", self.wheel, patched, exit_code=1).stdout)

    def test_what_is_no_artifact(self):
        text = self.scratch / "toy.txt"
        text.write_text("x")
        self.assertIn("not a conda package, wheel or zip", self.ptpkg("inspect", text, exit_code=3).stderr)
        damaged = self.scratch / "toy-1.0-py3-none-any.whl"
        damaged.write_bytes(self.wheel.read_bytes()[:1000])
        self.ptpkg("inspect", damaged, exit_code=3)
        self.ptpkg("diff", self.wheel, damaged, exit_code=3)
        self.ptpkg("diff", self.wheel, self.scratch / "none.whl", exit_code=4)
        for flag in (("--graph",), ("--device-code", "9.0"), ("--allow-unresolved", "libx*"), ("--dependency", "numpy")):
            done = self.ptpkg("inspect", self.wheel, "--quick", *flag, exit_code=2)
            self.assertIn(f"{flag[0]} needs ELF files, which --quick does not read", done.stderr)
        self.assertIn("native", self.ptpkg("inspect", self.wheel, "--device-code", "native", exit_code=2).stderr)


if __name__ == "__main__":
    harness.main()
