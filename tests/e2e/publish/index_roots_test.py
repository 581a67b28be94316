"""`ptpkg index --per-backend`: pip and uv that are given the index of a backend, over HTTP, install what is of that backend."""

import functools
import http.server
import pathlib
import re
import subprocess
import threading
import zipfile

import harness
import servers_test


def write_wheel(folder: pathlib.Path, name: str, version: str, code: str, requires: str = "") -> pathlib.Path:
    """A pure one; `requires` is a line of its metadata."""
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{name}.py": code, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {**files, f"{info}/RECORD": harness.record_of(files)}.items():
            archive.writestr(member, text)
    return path


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked: list[str] = []

    def log_message(self, *_):
        self.asked.append(self.path)


class Roots(servers_test.Clients):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.scratch / "wheels"
        for version in ("1.0+cpu", "1.1+cpu", "1.0+cu130", "1.9"):
            write_wheel(self.folder, "toy", version, f"what = {version!r}\n", "Requires-Dist: toybase\n")
        write_wheel(self.folder, "toybase", "3.0", "")
        # Without a local version: the folder alone says what it is for.
        write_wheel(self.folder / "rocm6.4", "toy", "1.0", "what = 'rocm'\n", "Requires-Dist: toybase\n")

    def serve(self) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(self.folder)))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_each_client_gets_what_is_of_the_backend(self):
        python, uv = harness.peers_python(), harness.peer_program("uv")
        done = self.ptpkg_json("index", "--per-backend", self.folder)
        self.assertEqual(done["roots"], ["cpu", "cu130", "rocm6.4"])
        self.assertEqual([pathlib.Path(path).name for path in done["rootless"]], ["toy-1.9-py3-none-any.whl"])
        url = self.serve()
        for backend, what in (("cpu", "1.1+cpu"), ("cu130", "1.0+cu130"), ("rocm6.4", "rocm")):
            for client in ("pip", "uv"):
                with self.subTest(backend, client=client):
                    target = self.scratch / f"{client}-{backend}"
                    command = ([python, "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check"] if client == "pip"
                               else [uv, "pip", "install", "--no-cache", "--python", python])
                    Quiet.asked.clear()
                    self.client(*command, "--index-url", f"{url}/{backend}/", "--target", target, "toy")
                    self.assertEqual((target / "toy.py").read_text(), f"what = {what!r}\n")
                    self.assertTrue((target / "toybase.py").exists())
                    self.assertTrue([path for path in Quiet.asked if path.endswith(".whl.metadata")], Quiet.asked)

    def test_later_runs_follow(self):
        self.assertIn("'toy-1.9-py3-none-any.whl' is not in the index of any backend", self.ptpkg("index", "--per-backend", self.folder,
                                                                                            cwd=self.folder).stderr.replace(f"{self.folder}/", ""))
        self.assertEqual(self.ptpkg_json("index", self.folder)["written"], [])
        (self.folder / "toy-1.0+cu130-py3-none-any.whl").unlink()
        write_wheel(self.folder, "toy", "2.0+xpu", "")
        self.assertEqual(self.ptpkg_json("index", self.folder)["roots"], ["cpu", "rocm6.4", "xpu"])
        self.assertFalse((self.folder / "cu130").exists())

    def test_a_conda_channel_has_none(self):
        (self.scratch / "channel/linux-64").mkdir(parents=True)
        (self.scratch / "channel/linux-64/repodata.json").write_text("{}")
        failed = self.ptpkg("index", "--per-backend", self.scratch / "channel", exit_code=3)
        self.assertIn("is a conda channel, which has no backend indexes", failed.stderr)

    def test_all_backends_that_uv_knows_are_names(self):
        said = subprocess.run([harness.peer_program("uv"), "pip", "install", "--help"], capture_output=True, text=True, check=True).stdout
        values = re.search(r"UV_TORCH_BACKEND=\]\s+\[possible\s+values:\s+auto,([^]]*)\]", said)[1]
        names = sorted(value.strip() for value in values.split(","))
        self.assertGreater(len(names), 40)
        folder = self.scratch / "all"
        for name in names:
            write_wheel(folder, "toy", f"1.0+{name}", "")
        self.assertEqual(self.ptpkg_json("index", "--per-backend", folder)["roots"], names)


if __name__ == "__main__":
    harness.main()
