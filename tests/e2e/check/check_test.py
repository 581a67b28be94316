"""`ptpkg check` and `inspect` of several artifacts: one that is none costs no result of the others, wheels of one version are compared."""

import json
import pathlib
import zipfile

import harness
import json_schema


class Check(harness.Case):
    def wheel(self, tag: str = "py3-none-any", lines: str = "", folder: str = ".") -> pathlib.Path:
        info = "toy-1.0.dist-info/"
        files = {"toy/__init__.py": "x = 1\n", f"{info}METADATA": f"Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n{lines}",
                 f"{info}WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"}
        path = self.scratch / folder / f"toy-1.0-{tag}.whl"
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in {**files, f"{info}RECORD": harness.record_of(files)}.items():
                archive.writestr(zipfile.ZipInfo(name), text)
        return path

    def test_one_that_is_none_costs_no_result(self):
        good = self.wheel()
        junk = self.scratch / "junk.txt"
        junk.write_text("junk")
        broken = self.scratch / "junk-1.0-py3-none-any.whl"
        broken.write_text("junk")
        absent = self.scratch / "nofile.whl"
        for verb, arguments, code, why in (("check", [good, junk], 3, "is not a conda package, wheel or zip"), ("check", [junk, good], 3, "is not a conda package, wheel or zip"),
                                           ("check", [good, absent], 4, "nofile.whl"), ("inspect", ["--quick", good, broken], 3, "junk-1.0"),
                                           ("inspect", ["--quick", absent, good], 4, "nofile.whl")):
            with self.subTest(verb=verb, arguments=arguments):
                done = self.ptpkg(verb, *arguments, exit_code=code)
                self.assertIn(good.name, done.stdout)
                self.assertIn(why, done.stderr)
                document = json.loads(self.ptpkg(verb, "--json", *arguments, exit_code=code).stdout)
                self.assertEqual(json_schema.complaints(self, [document], "error"), "")
                self.assertEqual([outcome["subject"] for outcome in document["outcomes"]], [str(good)])
        both = self.ptpkg("check", junk, absent, good, exit_code=4)
        self.assertIn("is not a conda package, wheel or zip", both.stderr)
        self.assertIn("nofile.whl", both.stderr)
        self.assertIn(": ok", both.stdout)

    def test_an_empty_target_is_none(self):
        good = self.wheel()
        for empty in ("", " ", "pypi,"):
            self.assertRegex(self.ptpkg("check", "--target", empty, good, exit_code=2).stderr, "empty target|'--target' (is empty|has an empty item)")
        self.assertIn(": ok", self.ptpkg("check", "--target", "pypi, uv", good).stdout)

    def test_wheels_of_a_version_are_compared_and_mended_ones_too(self):
        for flags in (["--target", "uv,pip,installer"], ["--fix", "--output", self.scratch / "mended"]):
            wheels = [self.wheel("py3-none-any", "Requires-Python: >=3.9, <4\nRequires-Dist: a; python_version < \"3.9\"\n"),
                      self.wheel("py3-none-win_amd64", "Requires-Python: <4,>=3.9\nRequires-Dist: A ;(python_version<'3.9')\n"),
                      self.wheel("py3-none-win_arm64", "Requires-Python: >=3.9\n")]
            outcomes = self.ptpkg_json("check", *wheels, *flags)
            found = [[finding["severity"] for finding in outcome["findings"] if finding["id"] == "wheel-matrix-requirements"]
                     for outcome in outcomes]
            self.assertEqual(found, [[], [], ["warning", "warning"]])


if __name__ == "__main__":
    harness.main()
