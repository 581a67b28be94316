"""`ptpkg image` without a container engine: the context that it writes, how it calls an engine, and every reason to refuse."""

import json
import os
import pathlib
import re
import zipfile

import harness
import json_schema
from root_fs import LIBC, fake_engine, root_file_system

DESCRIPTION = """
apt: [git]
pip: ["numpy>=2"]
timezone: Europe/Berlin
shm_size: 8g
env: {A: 'b "c" $HOME \\ d'}
images:
  train_alice: {user: alice, uid: 1001}
  train_bob: {user: bob, uid: 1002, gid: 100, timezone: UTC, apt: [vim], labels: {team: b}, workdir: /work dir}
"""
RECIPE = """
package: {name: toy, version: "1.0"}
source: {path: src}
build: {noarch: python, script: "$PYTHON -m pip install ."}
about: {license: MIT, summary: toy}
extra: {ptpkg: {formats: [wheel]}}
"""


class Case(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        self.base = root_file_system(self.scratch / "rootfs.tar")
        self.bin = self.scratch / "bin"
        self.log = self.scratch / "engine.log"
        self.context = self.scratch / "context"

    def wheel(self, tag: str = "py3-none-any", version: str = "1.0", folder: str = "."):
        path = self.scratch / folder / f"toy-{version}-{tag}.whl"
        path.parent.mkdir(exist_ok=True)
        files = {"toy.py": "x = 1\n", f"toy-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: toy\nVersion: {version}\n",
                 f"toy-{version}.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"}
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in {**files, f"toy-{version}.dist-info/RECORD": harness.record_of(files)}.items():
                archive.writestr(zipfile.ZipInfo(name), text)
        return path

    def describe(self, text: str = DESCRIPTION):
        path = self.scratch / "image.yaml"
        path.write_text(text)
        return path

    def recipe(self):
        folder = self.scratch / "recipe"
        (folder / "src").mkdir(parents=True)
        (folder / "recipe.yaml").write_text(RECIPE)
        (folder / "src/pyproject.toml").write_text("[project]\nname = 'toy'\nversion = '1.0'\n")
        (folder / "image.yaml").write_text("base: ../rootfs.tar\nbuild: {base: example.org/ptpkg, apt: [g++], arguments: ['--select=a=b c']}\n"
                                           + DESCRIPTION)
        return folder

    def image(self, *arguments, **options):
        return self.ptpkg("image", *arguments, **options)

    def with_engine(self, **variables) -> dict:
        fake_engine(self.bin)
        return {"PATH": f"{self.bin}:/usr/bin:/bin", "ENGINE_LOG": str(self.log), **variables}

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()

    def nothing_left(self) -> None:
        self.assertFalse(self.context.exists())
        self.assertEqual(harness.leftovers(self.scratch), [])

    def refused(self, code: int, message: str, *arguments, **options) -> str:
        said = self.image(*arguments, exit_code=code, **options).stderr
        self.assertIn(message, said)
        self.assertEqual(said.count("error:"), 1, said)
        self.nothing_left()
        return said


class Contexts(Case):
    def text(self, *arguments) -> str:
        self.image(*arguments, "--context", self.context)
        return (self.context / "Containerfile").read_text()

    def test_wheels(self):
        wheel = self.wheel()
        text = self.text(wheel, "--file", self.describe(), "--base", self.base)
        self.assertEqual({str(path.relative_to(self.context)) for path in self.context.rglob("*") if path.is_file()},
                         {"Containerfile", "base.tar", "artifacts/toy-1.0-py3-none-any.whl"})
        self.assertEqual((self.context / "base.tar").read_bytes(), self.base.read_bytes())
        self.assertEqual({path.stat().st_mtime for path in (self.context / "base.tar", self.context / "artifacts" / wheel.name)}, {315532800})
        stages = re.findall(r"^FROM (\S+) AS (\S+)$", text, re.MULTILINE)
        self.assertEqual(stages, [("scratch", "base"), ("scratch", "artifacts"), ("base", "common"),
                                  ("common", "train_alice"), ("common", "train_bob")])
        for line in ("ADD base.tar /", "COPY artifacts/ /", r'ENV A="b \"c\" \$HOME \\ d"', "USER 1001:1001", "USER 1002:100",
                     'ENV TZ=UTC', 'ENV TZ=Europe/Berlin', 'LABEL team="b"', 'WORKDIR "/home/alice"', 'WORKDIR "/work dir"'):
            self.assertIn(f"\n{line}\n", text)
        self.assertIn("install -y --no-install-recommends git &&", text)
        self.assertIn(f"--find-links /run/artifacts /run/artifacts/{wheel.name} 'numpy>=2'\n", text)
        self.assertIn(f'LABEL org.ptpkg.artifacts="{{\\"{wheel.name}\\":\\"{harness.sha256(wheel)}\\"}}"', text)
        self.assertNotIn("@", text.replace("@@", ""))
        self.assertNotIn("glibc", text)

    def test_equal_inputs_give_equal_contexts(self):
        arguments = (self.wheel(), "--file", self.describe(), "--base", self.base)
        first = self.text(*arguments)
        self.context = self.scratch / "other"
        os.utime(self.wheel(), (1, 1))
        self.assertEqual(self.text(*arguments), first)

    def test_one_image_without_a_description(self):
        text = self.text(self.wheel("cp311-cp311-manylinux_2_28_x86_64"), "--base", "docker.io/library/python:3.11-slim")
        self.assertIn("FROM docker.io/library/python:3.11-slim AS base\n", text)
        self.assertIn("FROM common AS toy\n", text)
        self.assertIn("needs %s or later\\n' \"${have:-none}\" toy-1.0-cp311-cp311-manylinux_2_28_x86_64.whl 2.28", text)

    def test_a_recipe_gets_a_build_stage(self):
        text = self.text(self.recipe())
        self.assertIn("FROM example.org/ptpkg AS build-base\n", text)
        self.assertIn("ptpkg build /recipe --format wheel --output /output --cache-dir /var/cache/ptpkg '--select=a=b c' &&", text)
        self.assertIn("COPY --from=builder /artifacts /\n", text)
        self.assertIn("--find-links /run/artifacts /run/artifacts/*.whl 'numpy>=2'\n", text)
        self.assertNotIn("org.ptpkg.artifacts", text)
        listed = self.run_clean("/usr/bin/tar", "-tvf", self.context / "recipe.tar", "--numeric-owner")
        self.assertEqual(listed.count(" 1980-01-01 00:00 "), len(listed.splitlines()), listed)
        self.assertNotIn("image.yaml", listed)  # editing it must not start a build
        self.assertIn(" src/pyproject.toml\n", listed)

    def test_a_recipe_with_another_name(self):
        recipe = self.recipe()
        text = self.text((recipe / "recipe.yaml").rename(recipe / "torch it.yaml"))
        self.assertIn("ptpkg build '/recipe/torch it.yaml' --format wheel", text)

    def test_conda_packages_become_a_channel(self):
        output = self.scratch / "dist"
        self.ptpkg("build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--output", output, "--format", "conda")
        package = next(output.glob("conda/linux-64/*.conda"))
        name, version, build = package.name.removesuffix(".conda").rsplit("-", 2)
        text = self.text(package, "--base", self.base)
        self.assertIn(f"--channel file:///run/artifacts {name}={version}={build} &&", text)
        self.assertNotIn("pip install", text)
        index = json.loads((self.context / "artifacts/linux-64/repodata.json").read_text())
        self.assertEqual(list(index["packages.conda"]), [package.name])

    def test_extract_copies_the_artifacts(self):
        wheel, out = self.wheel(), self.scratch / "out"
        self.text(wheel, "--base", self.base, "--extract", out)
        self.assertEqual({path.name: path.read_bytes() for path in out.iterdir()}, {wheel.name: wheel.read_bytes()})

    def test_json(self):
        document = json.loads(self.image(self.wheel(), "--base", self.base, "--context", self.context, "--json").stdout)
        self.assertEqual(json_schema.complaints(self, [document], "image"), "")
        self.assertEqual((document["context"], document["images"], document["artifacts"]),
                         (str(self.context), [], ["toy-1.0-py3-none-any.whl"]))


class BadInput(Case):
    def bad(self, description: str, message: str, hint: str = "") -> None:
        with self.subTest(description=description):
            said = self.refused(3, message, self.wheel(), "--file", self.describe(description), "--base", self.base, "--context", self.context)
            self.assertIn(hint, said)

    def test_descriptions(self):
        one = "images: {a: {%s}}"
        self.bad("bas: x\nimages: {a: {}}", "image.yaml:1:1: error: unknown key 'bas'", "did you mean 'base'?")
        self.bad(one % "usr: x", "unknown key 'usr'", "did you mean 'user'?")
        self.bad("build: {from: x}\nimages: {a: {}}", "unknown key 'from'", "known keys are base, apt, arguments")
        self.bad("apt: [git]", "'images' names no image")
        self.bad("images: {Base: {}}", "'Base' is not a name for an image")
        for name in ("a-", "a.", "a_"):
            self.bad(f"images: {{{name}: {{}}}}", f"'{name}' is not a name for an image")
        self.bad("images: {common: {}}", "'common' is not a name for an image")
        self.bad("images: {a: 1}", "expected a mapping for 'a', found text")
        self.bad("apt: git\nimages: {a: {}}", "expected a list for 'apt', found text")
        self.bad("apt: [-o=x]\nimages: {a: {}}", "'-o=x' is not a package for 'apt'")
        self.bad("pip: ['torch @ https://me:secret@example.org/x.whl']\nimages: {a: {}}", "'pip' has a URL with a password")
        self.bad(one % "user: alice", "image 'a' needs both 'user' and 'uid'")
        self.bad(one % "uid: 5", "image 'a' needs both 'user' and 'uid'")
        self.bad(one % "user: alice, uid: 0", "'0' is not a number from 1 to 4294967294 for 'uid'")
        self.bad(one % "user: alice, uid: x", "'x' is not a number from 1 to 4294967294 for 'uid'")
        self.bad(one % "user: 'a b', uid: 5", "'a b' is not a value for 'user'")
        self.bad(one % "workdir: here", "'here' is not a value for 'workdir'")
        self.bad(one % "shm_size: much", "'much' is not a value for 'shm_size'")
        self.bad(one % "labels: {org.ptpkg.artifacts: x}", "ptpkg itself sets the label 'org.ptpkg.artifacts'")
        self.bad(one % "env: {'A B': x}", "'A B' is not a name for 'env'")
        self.bad(one % "env: {A: \"b\\nRUN rm\"}", "'A' is not one line of text")
        self.bad(one % "timezone: ../etc/passwd", "'../etc/passwd' is not a value for 'timezone'")
        if pathlib.Path("/usr/share/zoneinfo/tzdata.zi").exists():
            self.bad(one % "timezone: Europe/Berln", "unknown time zone 'Europe/Berln' of image 'a'", "did you mean 'Europe/Berlin'?")

    def test_a_base_that_does_not_fit(self):
        self.bad("images: {a: {timezone: Asia/Tokyo}}", "it has no data of the time zone 'Asia/Tokyo'", "add 'tzdata' to 'apt'")
        self.bad("images: {a: {user: alice, uid: 1005}}", "its user 'games' has UID 1005, and the image gives UID 1005 to 'alice'")
        self.bad("images: {a: {user: games, uid: 1006}}", "its user 'games' has UID 1005, and the image gives UID 1006 to 'games'")
        self.bad("images: {a: {user: games, uid: 1005, timezone: Asia/Tokyo, gid: 7}}", "no data of the time zone")  # and nothing about the user
        arguments = ("--base", self.base, "--context", self.context)
        if LIBC.exists():
            self.refused(3, "it has glibc 2.", self.wheel("py3-none-manylinux_2_99_x86_64"), *arguments)
        else:
            self.refused(3, "it has no glibc", self.wheel("py3-none-manylinux_2_99_x86_64"), *arguments)
        self.base.write_bytes(b"\x1f\x8b no tar")
        self.assertIn("debootstrap", self.refused(3, "is not a root file system as a tar archive", self.wheel(), *arguments))
        self.refused(4, "none.tar", self.wheel(), "--base", "none.tar", "--context", self.context)

    def test_time_zone_data_of_a_pinned_package(self):
        description = self.describe("apt: [tzdata=2024a-0]\nimages: {a: {timezone: Asia/Tokyo}}")
        self.image(self.wheel(), "--file", description, "--base", self.base, "--context", self.context)

    def test_command_lines(self):
        wheel, recipe = self.wheel(), self.recipe()
        self.refused(2, "a recipe is the only input", wheel, recipe, "--base", self.base)
        self.refused(2, "two inputs are called", wheel, self.wheel(folder="more"), "--base", self.base)
        self.refused(2, "--context builds nothing", recipe, "--context", self.context, "--extract", self.scratch / "out")
        self.refused(2, "--engine podman has no effect", wheel, "--base", self.base, "--context", self.context, "--engine", "podman")
        self.refused(3, "the images have no base", wheel, "--context", self.context)
        self.refused(4, "image.yaml", harness.FIXTURES / "toymagma", "--base", self.base)
        self.refused(3, "toy.txt", self.describe("").rename(self.scratch / "toy.txt"), "--base", self.base)

    def test_a_context_with_content_stays(self):
        self.context.mkdir()
        (self.context / "mine").write_text("x")
        said = self.image(self.wheel(), "--base", self.base, "--context", self.context, exit_code=7).stderr
        self.assertIn(str(self.context), said)
        self.assertEqual([path.name for path in self.context.iterdir()], ["mine"])
        self.assertEqual(harness.leftovers(self.scratch), [])


class Engines(Case):
    def setUp(self) -> None:
        super().setUp()
        self.arguments = (self.wheel(), "--file", self.describe(), "--base", self.base)

    def test_all_images_get_their_names_in_the_end(self):
        done = self.image(*self.arguments, "--json", **self.with_engine())
        document = json.loads(done.stdout)
        self.assertEqual(json_schema.complaints(self, [document], "image"), "")
        self.assertEqual([image["name"] for image in document["images"]], ["train_alice", "train_bob"])
        self.assertEqual(document["images"][0]["run"], "podman run --rm -it --shm-size=8g localhost/train_alice")
        self.assertEqual(document["images"][0]["layers"], [f"sha256:{7:064d}"])
        verbs = [call.split()[0] for call in self.calls()]
        self.assertEqual(verbs, ["info", "build", "inspect", "build", "inspect", "tag", "tag"])
        self.assertIn("--layers --force-rm --timestamp 315532800", self.calls()[1])
        self.assertEqual(self.calls()[-1], f"tag {document['images'][1]['id']} train_bob")
        self.nothing_left()

    def test_a_recipe_is_built_once(self):
        made = self.wheel(version="2.0+cu130", folder="made").parent
        recipe, out = self.recipe(), self.scratch / "out"
        done = self.image(recipe, "--extract", out, **self.with_engine(MADE=str(made)))
        self.assertIn("--device=nvidia.com/gpu=all localhost/train_bob", done.stderr)
        builds = [call for call in self.calls() if call.startswith("build")]
        self.assertEqual([re.search(r"--target (\S+)", call)[1] for call in builds], ["artifacts", "train_alice", "train_bob"])
        self.assertEqual([path.name for path in out.iterdir()], ["toy-2.0+cu130-py3-none-any.whl"])
        self.assertIn("ptpkg build", (self.scratch / "engine.log.artifacts").read_text())
        self.assertNotIn("ptpkg build", (self.scratch / "engine.log.train_bob").read_text())
        self.assertIn("toy-2.0+cu130-py3-none-any.whl", (self.scratch / "engine.log.train_bob").read_text())
        self.nothing_left()

    def test_a_directory_with_content_is_found_before_the_build(self):
        out = self.scratch / "out"
        out.mkdir()
        (out / "mine").write_text("x")
        self.refused(7, "out' is not empty", self.recipe(), "--extract", out, **self.with_engine())
        self.assertFalse(self.log.exists())
        self.assertEqual([path.name for path in out.iterdir()], ["mine"])

    def test_a_recipe_without_a_wheel(self):
        (self.scratch / "made").mkdir()
        (self.scratch / "made/x.txt").write_text("")
        said = self.refused(3, "made no wheel", self.recipe(), **self.with_engine(MADE=str(self.scratch / "made")))
        self.assertIn("extra.ptpkg.formats", said)

    def test_docker_takes_other_arguments(self):
        fake_engine(self.bin, "docker")
        done = self.image(*self.arguments, "--engine", "docker", PATH=f"{self.bin}:/usr/bin:/bin", ENGINE_LOG=str(self.log))
        self.assertNotIn("--timestamp", self.log.read_text())
        self.assertIn("docker run --rm -it --shm-size=8g train_alice", done.stderr)

    def test_failures(self):
        for says, code, message, hint in (
                ("write /x: no space left on device", 6, "buildah cannot make 'train_bob': No space left on device", "free space"),
                ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", 6,
                 "buildah cannot make 'train_bob': No space left on device", "free space"),
                ("STEP 3: RUN echo 'ptpkg: no'\nptpkg: UID 5 belongs to 'x'\nError: exit status 1", 3, "'train_bob': UID 5 belongs to 'x'", ""),
                ("ERROR: toy.whl is not a supported wheel\nError: building", 5, "ERROR: toy.whl is not a supported wheel", "--verbose"),
                ("Error: exec: no command", 5, "exec: no command", "BUILDAH_ISOLATION=chroot"),
                ("", 5, "it printed nothing", "--verbose")):
            with self.subTest(says=says):
                self.log.unlink(missing_ok=True)
                said = self.refused(code, message, *self.arguments, **self.with_engine(BUILD_FAILS="train_bob", BUILD_SAYS=says))
                self.assertIn(hint, said)
                self.assertNotIn("tag", [call.split()[0] for call in self.calls()])

    def test_no_engine_and_one_without_rights(self):
        self.bin.mkdir()
        said = self.refused(4, "buildah, podman or docker is not on PATH", *self.arguments, PATH=str(self.bin))
        self.assertIn("apt-get install buildah", said)
        self.refused(4, "'podman' is not on PATH", *self.arguments, "--engine", "podman", PATH=str(self.bin))
        said = self.refused(6, "'buildah' does not work here: Error: permission denied", *self.arguments, "--engine", "buildah",
                            **self.with_engine(INFO_SAYS="Error: permission denied"))
        self.assertIn("--context DIR needs no engine", said)


if __name__ == "__main__":
    harness.main()
