"""recipes/torchvision, torchaudio and torchtext without building them: the table of matching versions, what is skipped, what they
refuse, and which variable a switch becomes; and how they, and torch_scatter, edit their sources. The golden files of test_variant
hold every command of some of them.
"""

import pathlib
import re
import subprocess

import harness

RECIPES = harness.REPOSITORY / "recipes"
LIBRARIES = ("torchvision", "torchaudio", "torchtext")

# Of each switch: a version that has it, one that has not, what the second is told, and the variable that is 1 where the first has
# the switch on and 0 where off. The versions are of torch.
SWITCHES = {
    "torchvision_png": ("1.13.1", "1.12.1", "off", "which came with 0.14", "TORCHVISION_USE_PNG"),
    "torchvision_jpeg": ("1.13.1", "1.12.1", "off", "which came with 0.14", "TORCHVISION_USE_JPEG"),
    "torchvision_webp": ("2.5.1", "2.4.1", "off", "which came with 0.20", "TORCHVISION_USE_WEBP"),
    "torchvision_video": ("2.13.0", "2.15.0", "on", "which was from 0.14 to 0.28", "TORCHVISION_USE_FFMPEG"),
    "torchaudio_sox": ("2.8.0", "2.9.1", "on", "which was from 0.6 to 2.8", "BUILD_SOX"),
    "torchaudio_ffmpeg": ("1.12.1", "1.11.0", "on", "which was from 0.12 to 2.8", "USE_FFMPEG"),
    "torchaudio_kaldi": ("2.0.1", "2.1.2", "off", "which was from 0.9 to 2.0", "BUILD_KALDI"),
    "torchaudio_rnnt": ("1.10.2", "1.9.1", "off", "which came with 0.10", "BUILD_RNNT"),
    "torchaudio_ctc_decoder": ("1.12.1", "1.11.0", "off", "which came with 0.12", "BUILD_CTC_DECODER"),
}
# The same with CUDA.
SWITCHES_OF_GPU = {
    "torchvision_nvjpeg": ("2.6.0", "1.12.1", "off", "which came with 0.14", "TORCHVISION_USE_NVJPEG"),
    "torchaudio_ctc_decoder": ("2.6.0", "1.11.0", "off", "which came with 0.12", "BUILD_CUDA_CTC_DECODER"),
}
# What an edit of the sources finds, what it makes of it, and another text that it does not find. Of a torch.
EDITS = (
    ("torchaudio", "1.2.0", '    version="0.2",\n', "    version=version,\n", '    version="0.4",\n', "setup.py does not say"),
    ("torchaudio", "2.6.0", "def f():\n    _init_submodule()\n\n\ndef main():\n    _fetch_third_party_libraries()\n",
     "def f():\n    pass\n\n\ndef main():\n    pass\n", "    _init_submodule(ROOT)\n", "setup.py asks git"),
    ("torchaudio", "2.6.0", "", "", "    _fetch_third_party_libraries(ROOT)\n", "setup.py downloads SoX"),
    ("torchtext", "2.3.1", "def _init_submodule():\n_init_submodule()\n", "def _init_submodule():\npass\n", "_init_submodule(ROOT)\n",
     "setup.py asks git"),
    ("torch_scatter", "2.6.0", "__version__ = '2.1.2'\n", "__version__ = '2.1.2+pt26cpu'\n", '__version__ = "2.1.2"\n',
     "setup.py does not say __version__"),
)


def lists_of(path: pathlib.Path) -> dict[str, list[str]]:
    """The lists of a variant file whose items stand in lines of their own."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if key := re.fullmatch(r"(\w+):", line):
            values = found.setdefault(key[1], [])
        elif item := re.match(r'  - "([^"]+)"', line):
            values.append(item[1])
    return found


class Domain(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        self.table = lists_of(RECIPES / "pytorch/variants_domain.yaml")

    def row(self, torch: str) -> dict[str, str]:
        place = self.table["torch_version"].index(torch)
        return {key: self.table[key][place] for key in ("torch_version", *(f"{name}_version" for name in LIBRARIES))}

    def row_and_python(self, torch: str) -> dict[str, str]:
        """With a Python that all libraries of that torch have."""
        major, minor, _ = map(int, torch.split("."))
        return {**self.row(torch), "python": "3.7" if (major, minor) < (1, 8) else "3.9" if (major, minor) < (2, 2) else "3.12"}

    def arguments(self, library: str, gpu: str = "", **values: str) -> list:
        files = ["variants_torch.yaml"] + [f"variants_torch_{gpu}.yaml"] * bool(gpu) + ["variants_domain.yaml"]
        mine = self.scratch / "mine.yaml"
        mine.write_text("".join(f'{key}: ["{value}"]\n' for key, value in values.items()))
        return [RECIPES / library, *(word for name in files for word in ("--variants", RECIPES / "pytorch" / name)),
                *["--variants", mine] * bool(values)]

    def script(self, library: str, gpu: str = "", **values: str) -> str:
        """The build script of one variant, as a plan has it: of the recipe without what a plan would look for on this machine."""
        text = (RECIPES / library / "recipe.yaml").read_text(encoding="utf-8")
        trimmed = self.scratch / library
        trimmed.mkdir(exist_ok=True)
        for table in (RECIPES / library).glob("*versions.yaml"):
            (trimmed / table.name).write_text(table.read_text(encoding="utf-8"), encoding="utf-8")
        (trimmed / "recipe.yaml").write_text(re.sub("(?m)^  string: .*\n", "", text[:text.index("\nrequirements:")]), encoding="utf-8")
        source = self.scratch / "source"
        source.mkdir(exist_ok=True)
        (source / "setup.py").touch()
        plan = self.ptpkg_json("build", trimmed, *self.arguments(library, gpu, **values)[1:], "--source", f"{library}={source}",
                               "--output", self.scratch / "dist", "--plan", *["--select", "cuda_compiler_version=12.6"] * bool(gpu))
        script, = (node["inputs"]["script"] for node in plan["nodes"] if node["stage"] == "build")
        return script

    def test_the_table_has_every_torch_and_each_of_its_rows_is_built_for_some_python(self):
        self.assertEqual(self.table["torch_version"], lists_of(RECIPES / "pytorch/variants_torch.yaml")["torch_version"])
        for library in LIBRARIES:
            versions = self.table[f"{library}_version"]
            self.assertEqual(len(versions), len(self.table["torch_version"]))
            built = {}
            for one in self.ptpkg_json("render", *self.arguments(library)):
                if not one["skip"]:
                    self.assertEqual(built.setdefault(one["file_stem"], one["variant"]["torch_version"]),
                                     one["variant"]["torch_version"], "one package of two torches")
            self.assertEqual({name.split("-")[1] for name in built}, set(versions) - {"none"})

    def test_pythons_are_those_of_the_wheels_on_the_index(self):
        for library, torch, first, last in (("torchvision", "2.2.2", 8, 12), ("torchvision", "2.5.1", 9, 12),
                                            ("torchvision", "2.6.0", 9, 13), ("torchaudio", "2.2.2", 8, 12),
                                            ("torchaudio", "2.5.1", 9, 12), ("torchaudio", "2.6.0", 9, 13),
                                            ("torchtext", "1.11.0", 7, 10), ("torchtext", "2.1.2", 8, 11),
                                            ("torchtext", "2.3.1", 8, 12)):
            with self.subTest(f"{library} of torch {torch}"):
                rendered = self.ptpkg_json("render", *self.arguments(library, **self.row(torch)))
                self.assertEqual([one["variant"]["python"] for one in rendered if not one["skip"]],
                                 [f"3.{minor}" for minor in range(first, last + 1)])

    def test_what_there_is_not_is_skipped(self):
        for library, torch in (("torchaudio", "1.1.0"), ("torchtext", "2.4.1"), ("torchtext", "2.15.0")):
            self.assertEqual(self.row(torch)[f"{library}_version"], "none")
            shown = self.ptpkg("render", *self.arguments(library), "--select", f"torch_version={torch}").stdout
            self.assertEqual({line.split()[1] for line in shown.splitlines()}, {"(skipped)"}, shown)

    def test_one_torch_is_required_and_its_gpu(self):
        one, = self.ptpkg_json("render", *self.arguments("torchvision", "cuda", **self.row("2.6.0"), python="3.11"), "--select",
                               "cuda_compiler_version=12.6")
        for kind in ("host", "run"):
            self.assertIn("pytorch ==2.6.0 py3.11_cuda12.6.*", one["requirements"][kind])
        # By the stable ABI.
        one, = self.ptpkg_json("render", *self.arguments("torchaudio", **self.row("2.11.0"), python="3.12"))
        self.assertIn("pytorch ==2.11.0 py3.12_cpu_*", one["requirements"]["host"])
        self.assertIn("pytorch >=2.11.0 py3.12_cpu_*", one["requirements"]["run"])

    def test_each_switch_is_a_variable_and_is_refused_where_a_version_has_none(self):
        for gpu, rows in (("", SWITCHES), ("cuda", SWITCHES_OF_GPU)):
            for key, (new, old, value, why, variable) in rows.items():
                with self.subTest(f"{key} {gpu}"):
                    library = key.split("_")[0]
                    for choice, number in (("on", "1"), ("off", "0")):
                        script = self.script(library, gpu, **self.row_and_python(new), **{key: choice})
                        exported = dict(re.findall(r"(\w+)=(\S+)", "\n".join(re.findall("(?m)^export .*", script))))
                        self.assertEqual(exported.get(variable), number, script)
                    said = self.ptpkg("render", *self.arguments(library, gpu, **self.row_and_python(old), **{key: value}), exit_code=3)
                    self.assertIn(f"{library} {self.row(old)[f'{library}_version']} has no switch {key}", said.stderr)
                    self.assertIn(why, said.stderr)

    def test_names_of_gpus_are_those_of_torch(self):
        for library in ("torchvision", "torchaudio", "torch_scatter"):
            script = self.script(library, "cuda", **self.row_and_python("2.6.0"), torch_gpu_archs="Ampere;Hopper+PTX", cuda_compiler_version="12.6")
            self.assertIn('export TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX"\n', script)

    def test_values_and_switches_without_their_gpu_are_refused(self):
        for library, values, why in (("torchvision", {"torchvision_png": "maybe"}, "none of them"),
                                     ("torchvision", {"torch_gpu": "tpu"}, "not tpu"),
                                     ("torchvision", {"torchvision_nvjpeg": "off"}, "torchvision_nvjpeg is for torch_gpu cuda"),
                                     ("torchaudio", {"torchaudio_sox": "maybe"}, "none of them"),
                                     ("torchaudio", {"torch_gpu": "tpu"}, "not tpu"),
                                     ("torchaudio", {"torchaudio_ctc_decoder": "off"}, "torchaudio_ctc_decoder is for torch_gpu cuda"),
                                     ("torchtext", {"torch_gpu": "tpu"}, "not tpu")):
            with self.subTest(f"{library} {values}"):
                torch = "2.3.1" if library == "torchtext" else "2.6.0"
                done = self.ptpkg("render", *self.arguments(library, **self.row(torch), python="3.11", **values), exit_code=3)
                self.assertIn(why, done.stderr)

    def test_every_switch_of_the_table_has_a_row_above(self):
        """Or it could be one that reaches no command."""
        text = (RECIPES / "pytorch/variants_domain.yaml").read_text(encoding="utf-8")
        keys = set(re.findall(r"^(torch(?:vision|audio|text)_\w+):", text, re.MULTILINE))
        self.assertEqual(keys - {f"{name}_version" for name in LIBRARIES}, {*SWITCHES, *SWITCHES_OF_GPU})

    def test_sources_of_another_version_end_the_build_before_it_is_configured(self):
        for library, torch, good, bad in (("torchvision", "2.6.0", "0.21.1a0", "0.2.1"), ("torchaudio", "2.6.0", "2.6.0a0", "2.60.0"),
                                          ("torchtext", "2.3.1", "0.18.0a0", "0.17.2")):
            with self.subTest(library):
                row, = (line for line in self.script(library, **self.row_and_python(torch)).splitlines() if "version.txt" in line)
                for text, status in ((good, 0), (bad, 1)):
                    (self.scratch / "version.txt").write_text(f"{text}\n")
                    done = subprocess.run(["bash", "-ec", row], cwd=self.scratch, text=True, capture_output=True, check=False)
                    self.assertEqual(done.returncode, status, text)
                self.assertIn(f"the sources are those of {library} {bad}, not of {self.row(torch)[f'{library}_version']}", done.stderr)

    def test_edits_of_the_sources_that_find_nothing_end_the_build(self):
        for library, torch, found, made, other, why in EDITS:
            with self.subTest(f"{library} of torch {torch}: {why}"):
                lines = self.script(library, **self.row_and_python(torch)).splitlines()
                first = next(i for i, line in enumerate(lines) if line.startswith("sed "))
                edits = self.scratch / "edits.sh"
                edits.write_text("\n".join(line for line in lines[first:lines.index("rm -rf dist")] if not line.startswith("export ")))
                place = self.scratch / "edited"
                (place / library).mkdir(parents=True, exist_ok=True)
                for text, status in ((found, 0), (made, 0), (other, 1)):  # again: an interrupted build goes on with edited sources
                    for name in ("setup.py", f"{library}/__init__.py"):
                        (place / name).write_text(text)
                    done = subprocess.run(["bash", "-e", edits], cwd=place, text=True, capture_output=True, check=False)
                    self.assertEqual(done.returncode, status, done.stderr)
                    if status == 0:
                        self.assertEqual((place / "setup.py").read_text(), made)
                    else:
                        self.assertIn(why, done.stderr)


if __name__ == "__main__":
    harness.main()
