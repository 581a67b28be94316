"""ptpkg packaged by itself: built twice in different directories, installed by pip, uv, py-rattler and dpkg, and used.

Slow: two whole builds. PTPKG_RELEASES=DIR:DIR names two output directories of scripts/release, and then nothing is built.
The Debian package needs root, debootstrap and Debian's server.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

import buildah
import harness
import installing
from servers import faults
from servers.double import Answer, Double

LIMIT = 12_000_000
PAGE = b"page\n"
RECIPE = """package: {name: tls, version: "1.0"}
source: {url: "%(url)s", sha256: %(sha256)s}
build: {number: 0, string: "0", script: "mkdir -p $PREFIX/share; cp page.txt $PREFIX/share"}
about: {license: MIT, summary: "A page"}
extra: {ptpkg: {formats: [conda]}}
"""


def released(folder: pathlib.Path) -> dict[str, str]:
    """Digests of what users download."""
    archives = {f"archives/{path.name}": harness.sha256(path) for path in (folder / "archives").iterdir()}
    return {**harness.artifacts(folder), **archives}


class Page(Double):
    """Answers every request with a page."""

    def handle(self, request) -> Answer:
        return Answer(200, PAGE)

    def state(self) -> dict:
        return {}


class Release(harness.Case):
    releases: list[pathlib.Path] = []

    @classmethod
    def setUpClass(cls) -> None:
        given = os.environ.get("PTPKG_RELEASES", "")
        if given:
            Release.releases = [pathlib.Path(folder) for folder in given.split(":")]
            return
        cls.builds = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"ptpkg-release-{os.getpid()}"
        cls.addClassCleanup(shutil.rmtree, cls.builds, ignore_errors=True)
        for name, umask in (("first", 0o022), ("second-in-a-longer-directory", 0o077)):
            clone = cls.builds / name / "clone"
            subprocess.run(["git", "clone", "--quiet", harness.REPOSITORY, clone], check=True)
            output = cls.builds / name / "out"
            environment = {**os.environ, "PTPKG_CACHE_DIR": str(cls.builds / name / "cache")}
            subprocess.run([clone / "scripts/release", "--ptpkg", harness.Settings.ptpkg, "--output", output], check=True,
                           env=environment, stdin=subprocess.DEVNULL, umask=umask)
            Release.releases.append(output)

    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()
        self.output = self.releases[0]
        self.wheel = next((self.output / "wheels").glob("ptpkg-*.whl"))
        self.version = self.wheel.name.split("-")[1]

    def use(self, folder: pathlib.Path) -> None:
        """The README's first commands."""
        ptpkg, dist, repaired = folder / "ptpkg", self.scratch / f"dist-{folder.parent.name}", self.scratch / "repaired"
        self.assertRegex(self.run_clean(ptpkg, "--version"), rf"^ptpkg {re.escape(self.version)} ")
        self.assertRegex(self.run_clean(folder / "patchelf", "--version"), r"^patchelf \d")
        self.assertIn("# artifact-build-path", self.run_clean(ptpkg, "explain", "artifact-build-path"))

        def run(*arguments) -> str:
            # The tools of the build come first: the installed environment has a Python without pip.
            done = subprocess.run([ptpkg, *map(str, arguments)], cwd=self.scratch, env=self.environment(), text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout

        run("build", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch", "--output", dist,
            "--select", "toy_backend=cpu")
        wheel = next((dist / "wheels").glob("toytorch-*.whl"))
        self.assertIn("toytorch", run("inspect", wheel))
        run("repair", wheel, "--output", repaired, "--force")
        run("publish", dist, "--to", (self.scratch / "channel").as_uri(), "--dry-run")

    def test_two_builds_give_the_same_bytes(self):
        if len(self.releases) < 2:
            self.skipTest("PTPKG_RELEASES names one directory")
        first, second = map(released, self.releases)
        self.assertEqual(len(first), 5, first)  # conda, wheel, zip, tar.gz, deb
        self.assertEqual(first, second)

    def test_the_wheel_is_what_it_says(self):
        self.assertRegex(self.wheel.name, r"^ptpkg-[\d.]+-py3-none-manylinux_2_\d+_x86_64\.whl$")
        self.assertLess(self.wheel.stat().st_size, LIMIT)
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            for program in ("ptpkg", "patchelf"):
                member = f"ptpkg-{self.version}.data/scripts/{program}"
                self.assertIn(member, names)
                path = pathlib.Path(archive.extract(member, self.scratch))
                needed = re.findall(r"NEEDED +(\S+)", self.run_clean("objdump", "-p", path))
                self.assertNotIn(b"nettle", path.read_bytes())  # LGPL
                self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}, program)
        for part in (".dist-info/sboms/ptpkg.cdx.json", ".dist-info/sboms/debian.cdx.json", "share/licenses/ptpkg/curl",
                     "share/licenses/ptpkg/libssl-dev", "share/man/man1/ptpkg-build.1", "share/bash-completion/completions/ptpkg"):
            self.assertTrue(any(name.endswith(part) for name in names), f"{part} in {names}")
        self.assertFalse([name for name in names if "share/doc/" in name])
        self.ptpkg("check", self.wheel, "--target", "pypi")

    def test_wheel_by_pip_and_by_uv(self):
        for tool in ("pip", "uv"):
            with self.subTest(tool):
                prefix = self.scratch / f"venv-{tool}"
                self.run_clean("/usr/bin/python3", "-m", "venv", "--without-pip", prefix)
                python = prefix / "bin/python"
                if tool == "pip":
                    command = [harness.peers_python(), "-m", "pip", "--python", python, "install", "--index-url",
                               (self.output / "wheels/simple").as_uri(), "ptpkg"]
                else:
                    command = [harness.peer_program("uv"), "pip", "install", "--python", python, "--no-index", self.wheel]
                self.run_clean(*command)
                self.use(prefix / "bin")

    def test_conda_package_by_rattler(self):
        prefix = self.scratch / "prefix"
        installing.rattler_install(self, prefix, [self.output / "conda"], "ptpkg")
        self.assertFalse((prefix / "lib").exists(), "no Python distribution")
        self.use(prefix / "bin")

    def test_archive(self):
        archive = next((self.output / "archives").glob("*.tar.gz"))
        self.run_clean("tar", "-xzf", archive, "-C", self.scratch)
        program = self.scratch / archive.name.removesuffix(".tar.gz") / "bin/ptpkg"
        self.assertRegex(self.run_clean(program, "--version"), rf"^ptpkg {re.escape(self.version)} \(commit [0-9a-f]{{12}}\)")

    def tls_recipe(self) -> pathlib.Path:
        """A recipe with a source on a loopback server, for which ca.crt in the scratch directory vouches."""
        harness.tool("openssl")
        server = Page(certificate=faults.certificates(self.scratch)["good"])
        self.addCleanup(server.stop)
        recipe = self.scratch / "tls"
        recipe.mkdir()
        values = {"url": f"{server.url}/page.txt", "sha256": hashlib.sha256(PAGE).hexdigest()}
        (recipe / "recipe.yaml").write_text(RECIPE % values)
        return recipe

    def test_certificates_of_a_variable(self):
        recipe = self.tls_recipe()
        archive = next((self.output / "archives").glob("*.tar.gz"))
        self.run_clean("tar", "-xzf", archive, "-C", self.scratch)
        program = self.scratch / archive.name.removesuffix(".tar.gz") / "bin/ptpkg"

        def build(**variables):
            return subprocess.run([program, "build", recipe, "--output", self.scratch / "tls-out"], text=True,
                                  env=self.environment(**variables), capture_output=True, stdin=subprocess.DEVNULL, check=False)

        refused = build()
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("certificate", refused.stderr)
        done = build(SSL_CERT_FILE=str(self.scratch / "ca.crt"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_image(self):
        buildah.needs_buildah()
        store = buildah.Store(self)
        self.ptpkg("image", self.wheel, "--file", harness.REPOSITORY / "recipes/ptpkg/image.yaml", "--base", buildah.debian_base(),
                   "--engine", "buildah", **store.variables)
        recipe = self.scratch / "toy"
        recipe.mkdir()
        (recipe / "recipe.yaml").write_text(re.sub("source: .*\n", "", RECIPE).replace("cp page.txt", "touch"))
        said = store.inside("ptpkg", "ptpkg --version; git --version; ptpkg build /toy --env system --output /tmp/dist; ls /tmp/dist/conda/linux-64",
                            "--volume", f"{recipe}:/toy:ro")
        self.assertRegex(said, rf"^ptpkg {re.escape(self.version)} .*\n(.*\n)*git version (.*\n)*tls-1\.0-0\.conda\n")

    def test_debian_package_in_an_empty_debian(self):
        """And the certificates of each system, at the places where systems have them."""
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            self.skipTest("needs root and debootstrap")
        root = self.scratch / "root"
        done = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"debootstrap: {done.stdout[-200:]}")
        shutil.copy(next((self.output / "archives").glob("*.deb")), root / "tmp/ptpkg.deb")
        self.run_clean("chroot", root, "dpkg", "-i", "/tmp/ptpkg.deb")
        self.assertRegex(self.run_clean("chroot", root, "ptpkg", "--version"), rf"^ptpkg {re.escape(self.version)} ")
        self.assertRegex(self.run_clean("chroot", root, "patchelf", "--version"), r"^patchelf \d")
        shutil.copy(self.wheel, root / "tmp")
        self.run_clean("chroot", root, "ptpkg", "check", f"/tmp/{self.wheel.name}")
        self.run_clean("chroot", root, "ptpkg", "inspect", f"/tmp/{self.wheel.name}")
        recipe = self.tls_recipe()
        shutil.copytree(recipe, root / "tmp/tls")
        build = ["chroot", root, "ptpkg", "--cache-dir", "/tmp/cache", "build", "/tmp/tls", "--env", "system", "--output"]
        refused = subprocess.run([*build, "/tmp/none"], capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": "/tmp"},
                                 check=False)
        self.assertIn("certificate", refused.stderr)
        for number, place in enumerate(("etc/ssl/certs/ca-certificates.crt", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                        "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem")):
            with self.subTest(place):
                (root / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.scratch / "ca.crt", root / place)
                shutil.rmtree(root / "tmp/cache", ignore_errors=True)
                self.run_clean(*build, f"/tmp/out{number}")
                (root / place).unlink()
        self.run_clean("chroot", root, "dpkg", "--purge", "ptpkg")
        self.assertFalse((root / "usr/bin/ptpkg").exists())


if __name__ == "__main__":
    harness.main()
