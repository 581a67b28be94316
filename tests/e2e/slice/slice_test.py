"""`ptpkg slice`: artifacts for one GPU out of fat ones, made here without CUDA; loaded, installed, and compared byte by byte."""

import json
import pathlib
import shutil
import subprocess
import zipfile

import gpu_library
import harness
import wheel_maker
from gpu_library import CUBIN, PTX
from wheel_maker import contents, stored

FAT = [[(CUBIN, "80"), (CUBIN, "86"), (CUBIN, "90"), (CUBIN, "90a"), (PTX, "90")],
       [(CUBIN, "80"), (CUBIN, "90"), (CUBIN, "100"), (PTX, "100")]]


class Libraries(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        self.library = gpu_library.make(self.scratch / "libtoy.so", FAT)
        self.output = self.scratch / "out"

    def slice(self, *arguments, artifact=None, **options) -> dict:
        return self.ptpkg_json("slice", artifact or self.library, "--output", self.output, *arguments, **options)

    def refused(self, *arguments, code: int, artifact=None) -> str:
        said = self.ptpkg("slice", artifact or self.library, "--output", self.output, *arguments, exit_code=code).stderr
        self.assertEqual(harness.leftovers(self.scratch), [])
        return said

    def test_a_gpu_and_a_pair_of_gpus(self):
        before = self.library.read_bytes()
        result = self.slice("--gpu", "9.0", "--gpu", "8.6+8.0")
        one, two = (pathlib.Path(item["to"]) for item in result["slices"])
        self.assertEqual([one, two], [self.output / "sm90/libtoy.so", self.output / "sm80.sm86/libtoy.so"])
        self.assertEqual(gpu_library.names(one, 2), [[(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "90")]])
        # The second container has nothing newer for 8.6 than sm_80, which runs there.
        self.assertEqual(gpu_library.names(two, 2), [[(CUBIN, "80"), (CUBIN, "86")], [(CUBIN, "80")]])
        for path in (one, two):
            for new, old in zip(gpu_library.loaded(path, 2), gpu_library.loaded(self.library, 2)):
                self.assertLessEqual(set(new), set(old))
            self.assertEqual(path.stat().st_mode, self.library.stat().st_mode)
        file, = result["slices"][0]["files"]
        self.assertEqual((file["form"], file["not_compact"]), ("in place", None))
        self.assertEqual(file["size"], one.stat().st_size)
        self.assertEqual(file["size"], len(before))
        self.assertEqual(set(result["files"][0]["code"]), {"sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "compute_90", "compute_100"})
        self.assertEqual(set(file["code"]), {"sm_90", "sm_90a"})
        self.assertEqual(file["code"]["sm_90"], result["files"][0]["code"]["sm_90"])
        self.assertEqual(self.library.read_bytes(), before)
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_compact_files_shrink(self):
        before = self.library.read_bytes()
        result = self.slice("--gpu", "9.0", "--gpu", "8.6+8.0", "--compact")
        one, two = (pathlib.Path(item["to"]) for item in result["slices"])
        self.assertEqual(gpu_library.names(one, 2), [[(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "90")]])
        self.assertEqual(gpu_library.names(two, 2), [[(CUBIN, "80"), (CUBIN, "86")], [(CUBIN, "80")]])
        for path in (one, two):
            for new, old in zip(gpu_library.loaded(path, 2), gpu_library.loaded(self.library, 2)):
                self.assertLessEqual(set(new), set(old))
            self.assertEqual(path.stat().st_mode, self.library.stat().st_mode)
        file, = result["slices"][0]["files"]
        self.assertEqual(file["form"], "compact", file["not_compact"])
        self.assertEqual(file["size"], one.stat().st_size)
        self.assertLess(file["size"], len(before) - 90_000)
        self.assertEqual(self.library.read_bytes(), before)
        self.assertIn("'ptpkg slice' has no option '--in-place'", self.refused("--gpu", "9.0", "--in-place", code=2))

    def test_nothing_moves(self):
        result = self.slice("--gpu", "8.0")
        path = pathlib.Path(result["slices"][0]["to"])
        old, new = self.library.read_bytes(), path.read_bytes()
        self.assertEqual(len(new), len(old))
        self.assertEqual(result["slices"][0]["files"][0]["form"], "in place")
        self.assertEqual(gpu_library.names(path, 2), [[(CUBIN, "80")], [(CUBIN, "80")]])
        begin, end = old.index(gpu_library.container(FAT[0])), old.index(gpu_library.container(FAT[1])) + len(gpu_library.container(FAT[1]))
        self.assertEqual(new[:begin] + new[end:], old[:begin] + old[end:])
        self.assertGreater(new.count(b"\0" * 4096), old.count(b"\0" * 4096) + 20)

    def test_each_and_ptx(self):
        result = self.slice("--all-archs")
        self.assertEqual([item["gpus"] for item in result["slices"]], [["8.0"], ["8.6"], ["9.0"], ["10.0"]])
        newest = self.output / "sm100/libtoy.so"
        # The first container has no code for 10.0 but PTX, which the driver compiles.
        self.assertEqual(gpu_library.names(newest, 2), [[(PTX, "90")], [(CUBIN, "100")]])
        self.slice("--gpu", "9.0", "--ptx", "keep", "--force")
        self.assertEqual(gpu_library.names(self.output / "sm90/libtoy.so", 2),
                         [[(CUBIN, "90"), (CUBIN, "90a"), (PTX, "90")], [(CUBIN, "90"), (PTX, "100")]])

    def test_a_container_without_code_for_the_gpu_stays_whole(self):
        fat = gpu_library.make(self.scratch / "libgap.so", [*FAT, [(CUBIN, "75")]])
        result = self.slice("--gpu", "9.0", artifact=fat)
        self.assertEqual(gpu_library.names(self.output / "sm90/libgap.so", 3)[2], [(CUBIN, "75")])
        self.assertEqual(result["slices"][0]["files"][0]["gaps"], {"9.0": 1})
        done = self.ptpkg("slice", fat, "--gpu", "9.0", "--output", self.scratch / "text")
        self.assertIn("kept whole, without code for 9.0: 1 container", done.stderr)
        self.assertEqual(done.stdout.strip(), str(self.scratch / "text/sm90/libgap.so"))

    def test_dry_run_says_the_same_and_writes_nothing(self):
        planned = self.slice("--gpu", "9.0", "--dry-run")
        self.assertFalse(self.output.exists())
        done = self.slice("--gpu", "9.0")
        self.assertIsNone(planned["slices"][0]["size"])
        self.assertEqual(planned["slices"][0]["files"], done["slices"][0]["files"])

    def test_what_is_refused(self):
        self.assertIn("no GPU given", self.refused(code=2))
        self.assertIn("--all-archs cannot be combined with --gpu", self.refused("--all-archs", "--gpu", "9.0", code=2))
        said = self.refused("--gpu", "hopper", code=2)
        self.assertIn("--gpu: unknown GPU 'hopper'", said)
        self.assertIn("8.0+8.6", said)
        self.assertIn("write 9.0", self.refused("--gpu", "9.0a", code=2))
        self.assertIn("unknown compute capability 9.7", self.refused("--gpu", "9.7", code=2))
        self.assertIn("is given twice", self.refused("--gpu", "9.0", "--gpu", "sm_90", code=2))
        said = self.refused("--gpu", "7.5", code=7)
        self.assertIn("has no code that runs on a GPU of compute capability 7.5", said)
        self.assertIn("it has compute_90, sm_80, sm_86, sm_90, sm_90a", said)
        self.assertFalse(self.output.exists())
        plain = self.scratch / "libplain.so"
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", plain, "-x", "c", "/dev/null"], check=True)
        self.assertIn("libplain.so' has no GPU code", self.refused("--gpu", "9.0", code=3, artifact=plain))
        self.assertIn("is not a file", self.refused("--gpu", "9.0", code=2, artifact=self.scratch))
        zipped = self.scratch / "libtoy.zip"
        with zipfile.ZipFile(zipped, "w") as archive:
            archive.write(self.library, "libtoy.so")
        self.assertIn("is a zip without package metadata", self.refused("--gpu", "9.0", code=2, artifact=zipped))
        self.refused("--gpu", "9.0", code=4, artifact=self.scratch / "none.so")

    def test_the_new_name_is_taken(self):
        self.slice("--gpu", "9.0")
        taken = self.output / "sm90/libtoy.so"
        made = taken.read_bytes()
        taken.write_bytes(b"another")
        said = self.refused("--gpu", "9.0", code=7)
        self.assertIn("already exists", said)
        self.assertEqual(taken.read_bytes(), b"another")
        self.slice("--gpu", "9.0", "--force")
        self.assertEqual(taken.read_bytes(), made)
        said = self.refused("--gpu", "9.0", "--force", code=2, artifact=taken)
        self.assertIn("is the slice for 9.0\n", said)
        self.assertEqual(taken.read_bytes(), made)

    def test_a_damaged_container_is_an_error(self):
        data = bytearray(self.library.read_bytes())
        at = data.index(gpu_library.container(FAT[0])[:16])
        data[at + 8:at + 16] = (1 << 63).to_bytes(8, "little")
        self.library.write_bytes(data)
        self.assertIn("section .nv_fatbin, byte 0", self.refused("--gpu", "9.0", code=3))
        self.assertFalse(list(self.output.glob("*")))


class Wheels(wheel_maker.WheelCase):
    def setUp(self) -> None:
        super().setUp()
        self.output = self.scratch / "out"
        (self.tree / "toy/lib").mkdir()
        (self.tree / "toy/data.bin").write_bytes(b"data " * 5000)
        self.fat = gpu_library.make(self.tree / "toy/lib/libtoy_cuda.so", FAT)

    def wheel(self, version: str = "1.0") -> pathlib.Path:
        made = super().wheel()
        if version != "1.0":
            done = self.ptpkg("retag", made, "--local", version.partition("+")[2], "--output", self.scratch / "local")
            made = pathlib.Path(done.stdout.strip())
        return made

    def slice(self, wheel, *arguments) -> dict:
        return self.ptpkg_json("slice", wheel, "--output", self.output, *arguments)

    def library_of(self, wheel, name: str = "toy/lib/libtoy_cuda.so") -> pathlib.Path:
        with zipfile.ZipFile(wheel) as archive:
            return pathlib.Path(archive.extract(name, self.scratch / "look" / pathlib.Path(wheel).name))

    def test_slices_of_a_wheel(self):
        wheel = self.wheel("1.0+cu130")
        before = harness.sha256(wheel)
        result = self.slice(wheel, "--gpu", "9.0", "--gpu", "8.0+8.6")
        names = [pathlib.Path(item["to"]).name for item in result["slices"]]
        tag = wheel.name.split("-", 2)[2]
        self.assertEqual(names, [f"toy-1.0+cu130.sm90-{tag}", f"toy-1.0+cu130.sm80.sm86-{tag}"])
        for item, kept in zip(result["slices"], ([(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "80"), (CUBIN, "86")])):
            self.assertEqual(item["size"], pathlib.Path(item["to"]).stat().st_size)
            self.assertLess(item["size"], result["size"])
            self.assertEqual(gpu_library.names(self.library_of(item["to"]), 2)[0], kept)
            self.sound(item["to"])
            # Nothing else is compressed again.
            old, new = stored(wheel), stored(pathlib.Path(item["to"]))
            for name in ("toy/__init__.py", "toy/data.bin"):
                self.assertEqual(new[name], old[name])
            self.assertEqual(set(name for name in new if ".dist-info" not in name), set(name for name in old if ".dist-info" not in name))
        metadata = next(data for name, data in contents(pathlib.Path(result["slices"][0]["to"])).items() if name.endswith("/METADATA"))
        self.assertIn(b"Version: 1.0+cu130.sm90\n", metadata)
        self.assertEqual(harness.sha256(wheel), before)
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_a_slice_installs_and_runs(self):
        self.module("one", self.fat, options=["-Wl,-rpath,$ORIGIN/lib"])
        wheel = self.wheel()
        for form in ((), ("--compact", "--force")):
            result = self.slice(wheel, "--gpu", "9.0", *form)
            self.sound(result["slices"][0]["to"])
            self.assertEqual(self.get(self.installed(result["slices"][0]["to"]), "toy.one"), "42")

    def test_the_label_of_an_earlier_slice_is_replaced(self):
        first = self.slice(self.wheel("1.0+cu130"), "--gpu", "8.0+9.0")["slices"][0]["to"]
        self.assertIn("+cu130.sm80.sm90-", first)
        second = self.slice(first, "--gpu", "9.0")["slices"][0]["to"]
        self.assertIn("+cu130.sm90-", second)
        self.assertEqual(gpu_library.names(self.library_of(second), 2), [[(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "90")]])
        said = self.ptpkg("slice", second, "--gpu", "9.0", "--output", self.output, "--force", exit_code=2).stderr
        self.assertIn("is the slice for 9.0\n", said)

    def test_libraries_of_nvidia_stay(self):
        for name in ("libcublas.so.13", "libcudart-d0da41ae.so.13.0", "libnccl.so.2"):
            shutil.copy(self.fat, self.tree / "toy/lib" / name)
        wheel = self.wheel()
        result = self.slice(wheel, "--gpu", "9.0", "--allow", "libnccl.so*")
        why = {item["path"]: item["kept_because"] for item in result["files"]}
        self.assertIsNone(why["toy/lib/libtoy_cuda.so"])
        self.assertIsNone(why["toy/lib/libnccl.so.2"])
        self.assertIn("NVIDIA's licence", why["toy/lib/libcublas.so.13"])
        self.assertIn("NVIDIA's licence", why["toy/lib/libcudart-d0da41ae.so.13.0"])
        old, new = contents(wheel), contents(pathlib.Path(result["slices"][0]["to"]))
        self.assertEqual(new["toy/lib/libcublas.so.13"], old["toy/lib/libcublas.so.13"])
        self.assertNotEqual(new["toy/lib/libnccl.so.2"], old["toy/lib/libnccl.so.2"])
        self.sound(result["slices"][0]["to"])
        said = self.ptpkg("slice", wheel, "--gpu", "9.0", "--allow", "libcublass*", "--output", self.scratch / "text").stderr
        self.assertIn("--allow 'libcublass*' matches no file with GPU code", said)
        self.assertIn("toy/lib/libcublas.so.13 stays as it is: NVIDIA's licence does not allow changes", said)

    def test_a_wheel_under_a_licence_of_nvidia(self):
        info = self.tree / "toy-1.0.dist-info"
        info.mkdir()
        (info / "License.txt").write_text("End User\n  License Agreement\n\nterms that govern the use of NVIDIA software.\n")
        wheel = self.wheel()
        done = self.ptpkg("slice", wheel, "--gpu", "9.0", "--output", self.output, exit_code=7)
        self.assertIn("all GPU code of", done.stderr)
        self.assertIn("the licence 'toy-1.0.dist-info/License.txt' is NVIDIA's", done.stderr)
        self.assertIn("--allow GLOB", done.stderr)
        self.assertEqual(list(self.output.glob("*")), [])
        self.slice(wheel, "--gpu", "9.0", "--allow", "libtoy_cuda.so")
        # The project's own licence counts, not what it adds about what it carries.
        (info / "licenses/third_party/cutlass").mkdir(parents=True)
        (info / "License.txt").rename(info / "licenses/third_party/cutlass/LICENSE.txt")
        (info / "LICENSE").write_text("Redistribution and use in source and binary forms\\n")
        self.ptpkg("slice", self.wheel(), "--gpu", "9.0", "--output", self.scratch / "own")

    def test_a_library_without_code_for_the_gpu_stays(self):
        gpu_library.make(self.tree / "toy/lib/libold.so", [[(CUBIN, "75")]])
        wheel = self.wheel()
        result = self.slice(wheel, "--gpu", "9.0")
        why = {item["path"]: item["kept_because"] for item in result["slices"][0]["files"]}
        self.assertEqual(why, {"toy/lib/libold.so": "it has no code for 9.0", "toy/lib/libtoy_cuda.so": None})
        said = self.ptpkg("slice", wheel, "--gpu", "7.0", "--output", self.output, exit_code=7).stderr
        self.assertIn("has no code that runs on a GPU of compute capability 7.0", said)

    def findings(self, wheel) -> list[str]:
        outcome, = json.loads(subprocess.run([harness.Settings.ptpkg, "check", "--json", wheel], env=self.environment(), cwd=self.scratch,
                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout)
        return [f"{item['severity']} {item['message']}" for item in outcome["findings"] if item["id"] == "wheel-variant"]

    def test_variant_wheels(self):
        wheel = self.wheel("1.0+cu130")
        result = self.slice(wheel, "--gpu", "9.0", "--gpu", "8.0+8.6", "--variant")
        stem = wheel.name.removesuffix(".whl")
        made = [pathlib.Path(item["to"]) for item in [*result["slices"], result["fallback"]]]
        self.assertEqual([path.name for path in made], [f"{stem}-{label}.whl" for label in ("sm90", "sm80.sm86", "null")])
        documents = [json.loads(contents(path)["toy-1.0+cu130.dist-info/variant.json"]) for path in made]
        self.assertEqual([document["variants"] for document in documents],
                         [{"sm90": {"nvidia": {"cuda_version_lower_bound": ["13.0"], "sm_arch": ["90_real"]}}},
                          {"sm80.sm86": {"nvidia": {"cuda_version_lower_bound": ["13.0"], "sm_arch": ["80_real", "86_real"]}}},
                          {"null": {}}])
        for path in made:
            self.assertEqual(self.findings(path), [])
            self.ptpkg("check", path)
        old, new = stored(wheel), stored(made[-1])
        self.assertEqual(new["toy/lib/libtoy_cuda.so"], old["toy/lib/libtoy_cuda.so"])
        self.assertEqual(result["fallback"]["gpus"], [])
        # One that is a variant already becomes another one, and the whole stays where it is.
        again = self.slice(made[-1], "--gpu", "10.0", "--variant", "--cuda", "13.1")
        self.assertIsNone(again["fallback"])
        document = json.loads(contents(pathlib.Path(again["slices"][0]["to"]))["toy-1.0+cu130.dist-info/variant.json"])
        self.assertEqual(document["variants"]["sm100.cuda13_1"]["nvidia"]["cuda_version_lower_bound"], ["13.1"])

    def test_what_variants_refuse(self):
        wheel = self.wheel()
        output = ("--output", self.output)
        self.slice(wheel, "--gpu", "9.0", "--variant")
        variant = next(self.output.glob("*-sm90.whl"))
        self.assertIn("is a variant wheel", self.ptpkg("slice", variant, "--gpu", "9.0", *output, exit_code=2).stderr)
        self.assertIn("is the slice for 9.0\n", self.ptpkg("slice", variant, "--gpu", "9.0", "--variant", *output, exit_code=2).stderr)
        self.assertIn("is not a wheel", self.ptpkg("slice", self.fat, "--gpu", "9.0", "--variant", *output, exit_code=2).stderr)
        self.assertIn("'thirteen' is not a CUDA version",
                      self.ptpkg("slice", wheel, "--gpu", "8.0", "--variant", "--cuda", "thirteen", *output, exit_code=2).stderr)
        self.ptpkg("slice", wheel, "--gpu", "8.0", "--cuda", "13.0", *output, exit_code=2)
        said = self.ptpkg("publish", variant, "--to", "pypi:pypi", "--dry-run", exit_code=7).stderr
        self.assertIn("is a variant wheel, which this index does not accept yet", said)

    def test_check_and_index_compare_labels(self):
        self.slice(self.wheel(), "--gpu", "9.0", "--gpu", "8.0", "--variant")
        self.ptpkg("index", self.output)
        file = self.output / "toy-1.0-variants.json"
        document = json.loads(file.read_text())
        self.assertEqual(list(document["variants"]), ["null", "sm80", "sm90"])
        page = json.loads((self.output / "simple/toy/index.json").read_text())
        entry, = (item for item in page["files"] if item["filename"] == file.name)
        self.assertEqual((entry["url"], entry["hashes"]["sha256"], entry["size"]),
                         (f"../../{file.name}", harness.sha256(file), file.stat().st_size))
        self.assertIn(f">{file.name}</a>", (self.output / "simple/toy/index.html").read_text())
        self.assertEqual(len(page["files"]), 4)

        one = next(self.output.glob("*-sm90.whl"))
        renamed = one.with_name(one.name.replace("-sm90", "-sm120"))
        one.rename(renamed)
        said, = self.findings(renamed)
        self.assertIn("ends in the variant label 'sm120'", self.ptpkg("check", "--target", "pypi", renamed, exit_code=1).stderr)
        self.assertIn("error variant.json: it lists the variants 'sm90', but the file name has 'sm120'", said)
        plain = renamed.with_name(renamed.name.replace("-sm120", ""))
        renamed.rename(plain)
        self.assertEqual(self.findings(plain), ["error the file name has no variant label"])
        plain.rename(renamed)
        left_out = json.loads(self.ptpkg("index", "--json", self.output, exit_code=3).stdout)["left_out"]
        self.assertEqual(len(left_out), 1)
        self.assertEqual(list(json.loads(file.read_text())["variants"]), ["null", "sm80"])
        for path in self.output.glob("*.whl"):
            path.unlink()
        self.ptpkg("slice", self.wheel(), "--gpu", "9.0", "--output", self.output)
        self.ptpkg("index", self.output)
        self.assertFalse(file.exists())

    def test_the_errors_of_a_wheel_are_told_and_no_others_come_in(self):
        sound = shutil.copy(self.wheel(), self.scratch / "sound.whl")
        # Needs a library that nobody has; METADATA names the version, which slices have another one of.
        self.module("one", self.fat, options=["-Wl,-rpath,$ORIGIN/lib"])
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,-soname,libnobody.so.9", "-o", self.scratch / "libnobody.so", "-x", "c", "/dev/null"], check=True)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", self.tree / "toy/lib/libneedy.so", "-x", "c", "/dev/null",
                        "-Wl,--no-as-needed", "-x", "none", self.scratch / "libnobody.so"], check=True)
        wheel = self.wheel()
        done = self.ptpkg("slice", wheel, "--gpu", "9.0", "--gpu", "8.0", "--output", self.output)
        self.assertIn(f"'{wheel.name}' has 1 error that its slices have too; list them with 'ptpkg check'", done.stderr)
        self.assertEqual(done.stderr.count("that its slices have too"), 1)
        self.assertRegex(done.stderr, r"check  toy-1\.0\+sm90-\S+: done")
        said = self.ptpkg("check", done.stdout.split()[0], exit_code=1).stderr
        self.assertIn("libnobody.so.9", said)
        wheel.write_bytes(pathlib.Path(sound).read_bytes())
        quiet = self.ptpkg("slice", wheel, "--gpu", "9.0", "--force", "--output", self.output)
        self.assertNotIn("that its slices have too", quiet.stderr)

    def test_a_wheel_that_is_not_what_record_lists_has_no_slices(self):
        wheel = self.wheel()
        edited = contents(wheel)
        library = bytearray(edited["toy/lib/libtoy_cuda.so"])
        library[-1] ^= 1
        edited["toy/lib/libtoy_cuda.so"] = bytes(library)
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in edited.items():
                archive.writestr(name, data)
        said = self.ptpkg("slice", wheel, "--gpu", "9.0", "--output", self.output, exit_code=3).stderr
        self.assertIn("'toy/lib/libtoy_cuda.so'", said)
        self.assertIn("RECORD", said)
        self.assertIn("ptpkg check --fix", said)
        self.assertFalse(self.output.exists())

    def test_a_damaged_wheel_has_no_slices(self):
        wheel = self.wheel()
        data = bytearray(wheel.read_bytes())
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo("toy/data.bin")
        data[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 0xFF
        wheel.write_bytes(data)
        for arguments in ([], ["--dry-run"], ["--variant"]):
            said = self.ptpkg("slice", wheel, "--gpu", "9.0", "--output", self.output, *arguments, exit_code=3).stderr
            self.assertIn("toy/data.bin", said)
            self.assertIn("hint: fetch or rebuild the artifact", said)
        self.assertFalse(self.output.exists())
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_a_set_is_there_whole_or_not_at_all(self):
        wheel = self.wheel()
        tag = wheel.name.split("-", 2)[2].removesuffix(".whl")
        taken = self.output / f"toy-1.0-{tag}-null.whl"
        (taken / "full").mkdir(parents=True)
        for force in ([], ["--force"]):
            said = self.ptpkg("slice", wheel, "--gpu", "9.0", "--gpu", "8.0", "--variant", *force, "--output", self.output, exit_code=7).stderr
            self.assertIn(f"'{taken}' is a directory", said)
            self.assertNotIn("slice  ", said, "before anything was made")
        self.assertEqual([path.name for path in self.output.iterdir()], [taken.name])
        shutil.rmtree(taken)
        taken.symlink_to("nowhere")
        self.assertIn("already exists", self.ptpkg("slice", wheel, "--gpu", "9.0", "--variant", "--output", self.output, exit_code=7).stderr)
        self.ptpkg("slice", wheel, "--gpu", "9.0", "--variant", "--force", "--output", self.output)
        self.assertFalse(taken.is_symlink())
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_more_libraries_than_files_may_be_open(self):
        for i in range(150):
            shutil.copy(self.fat, self.tree / f"toy/lib/libcopy{i}.so")
        wheel = self.wheel()
        done = subprocess.run(["bash", "-c", 'ulimit -n 64; exec "$@"', "-", harness.Settings.ptpkg, "slice", wheel, "--gpu", "9.0", "--output", self.output],
                              env=self.environment(), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.sound(done.stdout.strip())

    def test_a_library_in_data_is_sliced(self):
        data = self.tree / "toy-1.0.data/platlib/toy/lib"
        data.mkdir(parents=True)
        shutil.move(self.fat, data / "libtoy_cuda.so")
        item, = self.slice(self.wheel(), "--gpu", "9.0")["slices"]
        path = self.library_of(item["to"], "toy-1.0+sm90.data/platlib/toy/lib/libtoy_cuda.so")
        self.assertEqual(gpu_library.names(path, 2), [[(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "90")]])
        self.ptpkg("check", item["to"])

    def test_the_same_bytes_whatever_the_number_of_threads(self):
        wheel = self.wheel()
        self.ptpkg("slice", wheel, "--all-archs", "--output", self.scratch / "one", "--jobs", "1")
        self.ptpkg("slice", wheel, "--all-archs", "--output", self.scratch / "four", "--jobs", "4")
        one = harness.artifacts(self.scratch / "one")
        self.assertEqual(len(one), 4)
        self.assertEqual(one, harness.artifacts(self.scratch / "four"))


class CondaPackages(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        root = self.scratch / "recipe"
        (root / "files").mkdir(parents=True)
        gpu_library.make(root / "files/libtoy.so.1", FAT)
        (root / "files/libtoy.so").symlink_to("libtoy.so.1")
        (root / "recipe.yaml").write_text(
            'package: {name: toy, version: "1.0"}\nsource: {path: files}\n'
            'build:\n  number: 3\n  script: mkdir -p "$PREFIX/lib" "$PREFIX/share" && cp -P lib* "$PREFIX/lib" && echo hello > "$PREFIX/share/toy.txt"\n'
            'requirements:\n  run: ["__cuda >=13"]\n'
            "about: {license: MIT}\nextra:\n  ptpkg:\n    formats: [conda, tar.bz2]\n"
            '    device_code: "8.0;8.6;9.0;9.0a;10.0+PTX;more"\n')
        self.dist = self.scratch / "dist"
        self.ptpkg("build", root, "--env", "system", "--output", self.dist)
        self.output = self.scratch / "out/linux-64"

    def package(self, ending: str) -> pathlib.Path:
        found, = (self.dist / "conda/linux-64").glob(f"*{ending}")
        return found

    def test_slices_of_both_formats(self):
        for ending in (".conda", ".tar.bz2"):
            package = self.package(ending)
            result = self.ptpkg_json("slice", package, "--gpu", "9.0", "--gpu", "8.0+8.6", "--output", self.output)
            stem = package.name[:-len(ending)]
            self.assertEqual([pathlib.Path(item["to"]).name for item in result["slices"]],
                             [f"{stem}_sm90{ending}", f"{stem}_sm80_sm86{ending}"])
            for item in result["slices"]:
                self.assertLess(item["size"], result["size"])
                # The package's own note asks for the architectures of the whole.
                self.ptpkg("check", item["to"])
        self.ptpkg("index", self.scratch / "out")
        records = json.loads((self.output / "repodata.json").read_text())
        records = {**records["packages"], **records["packages.conda"]}
        by_build = {record["build"]: record for record in records.values()}
        self.assertEqual({build.partition("_3_")[2]: (record["build_number"], record["depends"]) for build, record in by_build.items()},
                         {"sm90": (3090, ["__cuda >=13", "__cuda_arch 9.0.*"]),
                          "sm80_sm86": (3080, ["__cuda >=13", "__cuda_arch 8.0.*|8.6.*"])})
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_what_is_installed(self):
        item, = self.ptpkg_json("slice", self.package(".conda"), "--gpu", "9.0", "--output", self.output)["slices"]
        prefix = self.scratch / "prefix"
        code = "import sys\nfrom conda_package_streaming.extract import extract\nextract(sys.argv[1], sys.argv[2])\n"
        subprocess.run([harness.peers_python(), "-c", code, item["to"], prefix], check=True)
        self.assertEqual(gpu_library.names(prefix / "lib/libtoy.so", 2), [[(CUBIN, "90"), (CUBIN, "90a")], [(CUBIN, "90")]])
        paths = {entry["_path"]: entry for entry in json.loads((prefix / "info/paths.json").read_text())["paths"]}
        # The link has the digest of what it leads to.
        self.assertEqual(paths["lib/libtoy.so"]["sha256"], harness.sha256(prefix / "lib/libtoy.so.1"))
        self.assertEqual(paths["lib/libtoy.so.1"]["size_in_bytes"], (prefix / "lib/libtoy.so.1").stat().st_size)

    def test_the_label_of_an_earlier_slice_is_replaced(self):
        first, = self.ptpkg_json("slice", self.package(".conda"), "--gpu", "8.0+9.0", "--output", self.output)["slices"]
        self.assertTrue(first["to"].endswith("_3_sm80_sm90.conda"))
        second, = self.ptpkg_json("slice", first["to"], "--gpu", "9.0", "--output", self.output)["slices"]
        self.assertTrue(second["to"].endswith("_3_sm90.conda"))
        pathlib.Path(first["to"]).unlink()
        self.ptpkg("index", self.scratch / "out")
        record, = json.loads((self.output / "repodata.json").read_text())["packages.conda"].values()
        self.assertEqual((record["build_number"], record["depends"]), (3090, ["__cuda >=13", "__cuda_arch 9.0.*"]))


    def test_an_error_that_the_package_has_itself_is_no_error_of_slices(self):
        package = self.package(".conda")
        renamed = package.with_name("toy-1.0-another_7.conda")
        package.rename(renamed)
        said = self.ptpkg("slice", renamed, "--gpu", "9.0", "--output", self.output).stderr
        self.assertIn("that its slices have too", said)
        self.assertEqual([path.name for path in self.output.iterdir()], ["toy-1.0-another_7_sm90.conda"])

    def test_a_build_string_is_at_most_64_characters(self):
        recipe = self.scratch / "recipe/recipe.yaml"
        recipe.write_text(recipe.read_text().replace("  number: 3\n", f"  number: 3\n  string: {'x' * 58}_3\n"))
        self.ptpkg("build", recipe.parent, "--env", "system", "--output", self.scratch / "long")
        package, = (self.scratch / "long/conda/linux-64").glob("*.conda")
        for arguments in ([], ["--dry-run"]):
            said = self.ptpkg("slice", package, "--gpu", "9.0", *arguments, "--output", self.output, exit_code=7).stderr
            self.assertIn("the slice for 9.0: ", said)
            self.assertIn("64", said)
            self.assertIn("choose fewer GPUs", said)
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    harness.main()
