"""What the pipeline made, installed by the tools of the field into empty environments, and used.

The conda packages are solved and linked by py-rattler from the output channel, the wheel by pip and by uv.
In each the module is imported and calls through all its libraries, with LD_LIBRARY_PATH unset and the build
folder gone. Python itself is no package of ours: a second channel offers a copy of this machine's.
"""

import pathlib
import shutil
import tempfile

import harness
import installing

# Every exported function goes through _C, libtoytorch_python, libtoytorch_cpu, libtoyc10 and toymagma.
USE = """
import os, toytorch
assert "LD_LIBRARY_PATH" not in os.environ
assert toytorch.selfcheck()
print(toytorch.__version__, toytorch.__file__)
with open("/proc/self/maps") as maps:
    loaded = sorted({line.split()[-1] for line in maps if "toytorch" in line and ".so" in line})
print("\\n".join(loaded))
"""

class Install(harness.Case):
    @classmethod
    def setUpClass(cls) -> None:
        """One build for all tests."""
        super().setUpClass()
        harness.peers_python()
        shared = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="ptpkg-e2e-")))
        case = cls("ptpkg")
        case.scratch, case.cache = shared, shared / "cache"
        cls.output = shared / "dist"
        case.ptpkg("build", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch", "--select",
                   "toy_backend=cpu", "--output", cls.output)
        cls.channel = installing.python_channel(case)
        # No library may lead back to where it was built.
        shutil.rmtree(case.cache)

    def assert_works(self, python: pathlib.Path, prefix: pathlib.Path) -> None:
        printed = self.run_clean(python, "-c", USE)
        libraries = [line for line in printed.splitlines() if ".so" in line]
        names = {pathlib.Path(line).name.split(".")[0] for line in libraries}
        self.assertLessEqual({"_C", "libtoyc10", "libtoytorch_cpu", "libtoytorch_python"}, names, printed)
        for line in libraries:
            self.assertTrue(line.startswith(str(prefix)), line)
        self.assertIn("toytorch", self.run_clean(prefix / "bin/toytorch-info"))
        self.run_clean(prefix / "bin/toytorch-info", "--check")

    def test_conda_packages_by_rattler(self):
        for extension in (".conda", ".tar.bz2"):
            with self.subTest(extension):
                channel = self.scratch / f"channel{extension}"
                (channel / "linux-64").mkdir(parents=True)
                for path in (self.output / "conda/linux-64").glob(f"toytorch-*{extension}"):
                    shutil.copy(path, channel / "linux-64")
                self.ptpkg("index", channel)
                prefix = self.scratch / f"prefix{extension}"
                installed = installing.rattler_install(self, prefix, [channel, self.channel], "toytorch")
                self.assertIn(extension, installed)
                self.assert_works(prefix / "bin/python", prefix)
                site = next(prefix.glob("lib/python3.*/site-packages"))
                self.assertEqual((next(site.glob("toytorch-*.dist-info")) / "INSTALLER").read_text(), "conda\n")

    def test_wheel_by_pip_and_by_uv(self):
        wheel = next((self.output / "wheels").glob("*.whl"))
        for tool in ("pip", "uv"):
            with self.subTest(tool):
                prefix = self.scratch / f"venv-{tool}"
                self.run_clean("/usr/bin/python3", "-m", "venv", "--without-pip", prefix)
                python = prefix / "bin/python"
                if tool == "pip":
                    command = [harness.peers_python(), "-m", "pip", "--python", python, "install"]
                else:
                    command = [harness.peer_program("uv"), "pip", "install", "--python", python]
                self.run_clean(*command, "--no-index", "--no-deps", wheel)
                self.assert_works(python, prefix)

    def test_the_simple_index_serves_pip(self):
        prefix = self.scratch / "venv"
        self.run_clean("/usr/bin/python3", "-m", "venv", "--without-pip", prefix)
        index = (self.output / "wheels/simple").as_uri()
        self.run_clean(harness.peers_python(), "-m", "pip", "--python", prefix / "bin/python", "install",
                       "--index-url", index, "toytorch")
        self.assert_works(prefix / "bin/python", prefix)


if __name__ == "__main__":
    harness.main()
