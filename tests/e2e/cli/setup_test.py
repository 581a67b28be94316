"""`cmake --install`: the programs, completions, manual pages, documentation."""

import os
import re
import subprocess

import harness


class Setup(harness.Case):
    @property
    def build_folder(self):
        return harness.Settings.ptpkg.parent.parent

    def install(self):
        """The folder that stands for /usr."""
        root = self.scratch / "root"
        # No HOME: packaging tools have none.
        done = subprocess.run(["cmake", "--install", self.build_folder, "--prefix", "/usr"], text=True,
                              env={"PATH": os.environ["PATH"], "DESTDIR": str(root)}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual([path.name for path in root.iterdir()], ["usr"], "nothing is put anywhere else")
        return root / "usr"

    def verbs(self):
        listing = self.ptpkg("--help").stdout.split("Commands:\n", 1)[1].split("\n\n")[0]
        return re.findall(r"^  ([a-z-]+) ", listing, re.MULTILINE)

    def test_everything_is_there_and_works(self):
        usr = self.install()
        ptpkg = usr / "bin/ptpkg"
        self.assertRegex(self.run_clean(ptpkg, "--version"), r"^ptpkg \d+\.\d+\.\d+ \(commit ")
        self.assertFalse((usr / "bin/patchelf").is_symlink())
        self.assertRegex(self.run_clean(usr / "bin/patchelf", "--version"), r"^patchelf \d")
        pages = {path.name for path in (usr / "share/man/man1").iterdir()}
        self.assertEqual(pages, {"ptpkg.1", *(f"ptpkg-{verb}.1" for verb in self.verbs())})
        documentation = usr / "share/doc/ptpkg"
        self.assertTrue((documentation / "README.md").is_file())
        self.assertTrue((documentation / "docs/environment.md").is_file())
        self.assertTrue((documentation / "docs/third-party.md").is_file())

    def test_patchelf_needs_no_large_library(self):
        """Build scripts start it once per file; libcurl alone would triple the time of a start."""
        headers = self.run_clean("objdump", "-p", harness.Settings.ptpkg.with_name("patchelf"))
        needed = re.findall(r"NEEDED +(\S+)", headers)
        self.assertIn("libc.so.6", needed)
        for library in needed:
            self.assertNotRegex(library, "curl|crypto|ssl|libz|archive|yaml")

    def test_manual_pages_have_no_warning(self):
        groff = harness.tool("groff")
        usr = self.install()
        for page in sorted((usr / "share/man/man1").iterdir()):
            done = subprocess.run([groff, "-man", "-ww", "-Tutf8", "-Kutf8", page], capture_output=True, text=True,
                                  check=True, env={"PATH": os.environ["PATH"], "GROFF_NO_SGR": "1"})
            self.assertEqual(done.stderr, "", page.name)
            text = re.sub(".\b", "", done.stdout)
            self.assertIn("SYNOPSIS", text)
            if page.name == "ptpkg-build.1":
                self.assertIn("--output DIR", text)
                self.assertIn("ptpkg build fixtures/toymagma fixtures/toytorch --output dist", text)

    def complete_in_bash(self, usr, line):
        """What TAB offers at the end of the line."""
        script = ('source "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 == *" " ]] && COMP_WORDS+=(""); '
                  'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ptpkg; printf "%s\\n" "${COMPREPLY[@]}"')
        return self.run_clean("bash", "-c", script, "bash", usr / "share/bash-completion/completions/ptpkg", line,
                              cwd=self.scratch / "work").split("\n")[:-1]

    def test_bash_completes_verbs_flags_values_and_files(self):
        usr = self.install()
        work = self.scratch / "work"
        (work / "a folder").mkdir(parents=True)
        (work / "recipe.yaml").touch()
        self.assertEqual(self.complete_in_bash(usr, "ptpkg bu"), ["build"])
        self.assertEqual(self.complete_in_bash(usr, "ptpkg --jobs 3 bu"), ["build"])
        self.assertEqual(self.complete_in_bash(usr, "ptpkg build --out"), ["--output"])
        self.assertIn("--json", self.complete_in_bash(usr, "ptpkg build -"))
        self.assertEqual(self.complete_in_bash(usr, "ptpkg build --env c"), ["conda"])
        self.assertEqual(self.complete_in_bash(usr, "ptpkg index "), ["a folder"])
        self.assertEqual(self.complete_in_bash(usr, "ptpkg build rec"), ["recipe.yaml"])
        self.assertEqual(self.complete_in_bash(usr, "ptpkg completion "), ["bash", "zsh", "fish"])
        self.assertEqual(self.complete_in_bash(usr, "ptpkg build --color a"), ["auto", "always"])
        self.assertEqual(self.complete_in_bash(usr, "ptpkg build --jobs "), [""])

    def test_zsh_takes_the_script(self):
        zsh = harness.tool("zsh")
        usr = self.install()
        script = usr / "share/zsh/site-functions/_ptpkg"
        self.run_clean(zsh, "-n", script)
        listed = self.run_clean(zsh, "-f", "-c", ZSH_COMPLETE, "zsh", script.parent, "ptpkg bu\t")
        self.assertIn("ptpkg build", listed)

    def test_fish_takes_the_script(self):
        fish = harness.tool("fish")
        usr = self.install()
        script = usr / "share/fish/vendor_completions.d/ptpkg.fish"

        def complete(line):
            text = self.run_clean(fish, "-c", f"source {script}; complete -C '{line}'")
            return [row.split("\t")[0] for row in text.splitlines()]

        self.assertEqual(complete("ptpkg bu"), ["build"])
        self.assertIn("--output", complete("ptpkg build --out"))
        self.assertEqual(sorted(complete("ptpkg build --env ")), ["auto", "conda", "system", "wheels"])


# A shell in a pseudo terminal of zsh's own: completion works in an interactive one only.
ZSH_COMPLETE = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; echo READY"
zpty -r -m shell line '*READY*READY*' >/dev/null
zpty -n -w shell "$2"
zpty -r shell line '*build*'
print -r -- $line
zpty -d shell
"""

if __name__ == "__main__":
    harness.main()
