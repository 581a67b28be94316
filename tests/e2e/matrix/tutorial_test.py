"""The page "A release on many machines": its console blocks, in order, on the test cluster and with the projects that it names."""

import shutil

import harness
from console_pages import MEASURED, assert_shown, console_commands
from servers.slurm import Settings, Slurm

PAGE = harness.REPOSITORY / "docs/tutorials/matrix.md"


class Tutorial(harness.Case):
    def setUp(self):
        super().setUp()
        for name in ("g++", "cmake", "ninja"):
            harness.tool(name)
        self.cluster = self.enterContext(Slurm(Settings(cpus=8, memory_mb=16000)))
        self.work = self.cluster.shared / "work"
        for folder in ("fixtures/toymagma", "fixtures/toytorch", "patches/toymagma"):
            shutil.copytree(harness.REPOSITORY / folder, self.work / folder)
        self.cache = self.work / "cache"

    def run_command(self, command: str) -> str:
        """On the login host, once the jobs of the commands before it have ended."""
        self.cluster.wait_for(lambda: not self.cluster.queued(), harness.HANGS_AFTER_S)
        environment = self.environment(SLURM_CONF=str(self.cluster.conf))
        environment["PATH"] = f"{harness.Settings.ptpkg.parent}:{environment['PATH']}"
        done = self.cluster.login.run(["bash", "-e", "-c", f"cd {self.work}; {command} 2>&1"], env=environment, check=False)
        self.assertEqual(done.returncode, 0, f"\n$ {command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_the_commands_of_the_page_print_what_it_shows(self):
        commands = console_commands(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(commands), 5)
        for command, shown in commands:
            with self.subTest(command):
                printed = self.run_command(command)
                assert_shown("\n".join(MEASURED.sub("…", line) for line in shown if line != "…"), printed)


if __name__ == "__main__":
    harness.main()
