"""`ptpkg bench` on a machine whose settings are files of the test: bound over /sys and /var/lib in a mount namespace."""

import json
import os
import signal
import subprocess
import time

import harness
import json_schema

CPU = "/sys/devices/system/cpu"
POWERSAVE = {"cpufreq/policy0/scaling_governor": "powersave", "intel_pstate/no_turbo": "0", "cpu0/cpuidle/state1/disable": "0"}
STEADY = {"cpufreq/policy0/scaling_governor": "performance", "intel_pstate/no_turbo": "1", "cpu0/cpuidle/state1/disable": "1"}
NVIDIA_SMI = """#!/bin/sh
echo "$*" >> {log}
case "$1" in
  --query-gpu*) echo "0, GPU-1, NVIDIA H100, 345 MHz, 1980 MHz, 700.00 W, Enabled, Disabled, 0x0000000000000001" ;;
esac
"""


def wait_for(condition):
    deadline = time.monotonic() + harness.HANGS_AFTER_S
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


class Bench(harness.Case):
    def setUp(self):
        super().setUp()
        self.cpu = self.scratch / "cpu"
        for name, value in {**POWERSAVE, "online": "0", "isolated": "0", "smt/active": "0",
                            "cpu0/cpuidle/state1/name": "C6", "cpu0/cpuidle/state1/latency": "133"}.items():
            path = self.cpu / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value + "\n")
        (self.scratch / "var").mkdir()
        self.started = self.scratch / "started"
        self.holds = ("sh", "-c", f"touch {self.started}; exec sleep {harness.HANGS_AFTER_S}")
        mounts = (f"mount --bind {self.cpu} {CPU} && mount --bind {self.scratch}/var /var/lib || exit 77\n"
                  'exec "$@"\n')
        for rights in ([], ["--user", "--map-root-user"]):
            self.inside = ["unshare", "--mount", *rights, "sh", "-c", mounts, "sh"]
            done = subprocess.run([*self.inside, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode == 0:
                return
        self.skipTest(f"mount namespaces are not permitted: {done.stderr}")

    def bench(self, *arguments, exit_code=0, **variables):
        done = subprocess.run([*self.inside, harness.Settings.ptpkg, "bench", *map(str, arguments)], cwd=self.scratch, text=True,
                              env=self.environment(**variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done

    def start(self, *arguments, **options):
        """A stabilized run whose command does not end by itself, once that has begun."""
        process = subprocess.Popen([*self.inside, harness.Settings.ptpkg, "bench", "--stabilize", *arguments, "--", *self.holds],
                                   cwd=self.scratch, env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(harness.kill_all, process)
        wait_for(lambda: self.started.exists() or process.poll() is not None)
        self.assertIsNone(process.poll(), "it ended")
        return process

    def settings(self):
        return {name: (self.cpu / name).read_text().strip() for name in POWERSAVE}

    def test_the_settings_without_a_command(self):
        done = self.bench()
        self.assertRegex(done.stdout, r"\Agovernor +powersave \(the clock follows the load\)\nturbo +on ")
        self.assertRegex(done.stdout, r"\ndeep C-states +C6 \(133 us\) ")
        self.assertRegex(done.stdout, r"\nisolated CPUs +0\n")

    def test_two_commands(self):
        arguments = ("--rounds", 4, "--warmup", 0, "--", "sh", "-c", "echo $1 >> ran", "sh", "a", "---", "sh", "-c", "echo b >> ran")
        done = self.bench(*arguments)
        self.assertEqual((self.scratch / "ran").read_text().split(), list("abbaabba"))
        self.assertRegex(done.stdout, r"\nA: sh -c 'echo \$1 >> ran' sh a\n   median .*, deviation .* in 4 rounds\nB: sh -c 'echo b >> ran'\n")
        self.assertRegex(done.stdout.splitlines()[-1], r"^(A and B are not distinguishable|B takes .* than A) \(p = .*exact Mann-Whitney test")
        document = json.loads(self.bench("--json", *arguments).stdout)
        self.assertEqual(json_schema.complaints(self, [document], "bench"), "")
        self.assertEqual([len(one["seconds"]) for one in document["commands"]], [4, 4])
        self.assertEqual(self.settings(), POWERSAVE)

    def test_verbose_shows_what_a_command_prints(self):
        arguments = ("--rounds", 4, "--", "echo", "epoch 1")
        self.assertIn("epoch 1\n", self.bench("--verbose", *arguments).stderr)
        self.assertNotIn("epoch 1\n", self.bench(*arguments).stderr)

    def test_flags_of_the_command_are_not_ptpkg_s(self):
        self.assertEqual(self.bench("--rounds", 4, "--", "false", "--json", exit_code=5).stdout, "")

    def test_a_command_runs_on_the_chosen_cpus(self):
        self.bench("--rounds", 4, "--", "sh", "-c", "grep Cpus_allowed_list /proc/self/status > allowed")
        self.assertEqual((self.scratch / "allowed").read_text().split()[1], "0")

    def test_stabilize_sets_and_puts_back(self):
        show = " ".join(f"{CPU}/{name}" for name in STEADY)
        done = self.bench("--stabilize", "--json", "--rounds", 4, "--", "sh", "-c", f"cat {show} > during")
        self.assertEqual((self.scratch / "during").read_text().split(), list(STEADY.values()))
        self.assertEqual(self.settings(), POWERSAVE)
        changed = json.loads(done.stdout)["changed"]
        self.assertEqual({one["place"]: (one["before"], one["during"]) for one in changed},
                         {f"{CPU}/{name}": (POWERSAVE[name], STEADY[name]) for name in STEADY})
        self.assertIn("set              3 settings, and put back", self.bench("--stabilize", "--", "true").stdout)

    def test_a_command_that_fails(self):
        done = self.bench("--stabilize", "--", "sh", "-c", "echo no such model; exit 3", exit_code=5)
        self.assertIn("' failed with exit code 3: no such model", done.stderr)
        self.assertEqual(self.settings(), POWERSAVE)
        done = self.bench("--stabilize", "--", "no-such-program", exit_code=5)
        self.assertIn("failed to execute no-such-program", done.stderr)
        self.assertEqual(self.settings(), POWERSAVE)

    def test_kill_9_and_restore(self):
        process = self.start()
        self.assertEqual(self.settings(), STEADY)
        for arguments in (["--stabilize", "--", "true"], ["--restore"]):
            self.assertIn("another 'ptpkg bench --stabilize' is running", self.bench(*arguments, exit_code=7).stderr)
        harness.kill_all(process)
        process.wait()
        self.assertEqual(self.settings(), STEADY)
        done = self.bench("--stabilize", "--", "true", exit_code=7)
        self.assertIn("a killed 'ptpkg bench --stabilize' left its settings", done.stderr)
        self.assertIn("sudo ptpkg bench --restore", done.stderr)
        self.assertEqual(self.settings(), STEADY)
        document = json.loads(self.bench("--restore", "--json").stdout)
        self.assertEqual(json_schema.complaints(self, [document], "bench"), "")
        self.assertEqual(len(document["restored"]), 3)
        self.assertEqual(self.settings(), POWERSAVE)
        self.assertEqual(self.bench("--restore").stdout, "nothing to put back\n")
        self.bench("--stabilize", "--rounds", 4, "--", "true")

    def test_signals(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number):
                self.started.unlink(missing_ok=True)
                process = self.start()
                self.assertEqual(self.settings(), STEADY)
                process.send_signal(number)
                self.assertEqual(process.wait(), code)
                self.assertEqual(self.settings(), POWERSAVE)
        self.assertEqual(self.bench("--restore").stdout, "nothing to put back\n")

    def test_nohup_is_heeded(self):
        process = self.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 143)

    def test_a_gpu_is_locked_and_unlocked(self):
        program = self.scratch / "bin/nvidia-smi"
        program.parent.mkdir()
        program.write_text(NVIDIA_SMI.format(log=self.scratch / "smi"))
        program.chmod(0o755)
        path = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
        done = self.bench("--stabilize", "--gpu-clock", 1200, "--rounds", 4, "--", "true", **path)
        self.assertRegex(done.stdout, r"\nGPU 0 +NVIDIA H100, SM clock 345 MHz of 1980 MHz, no clock setting limits it now, power limit 700.00 W")
        changes = [line for line in (self.scratch / "smi").read_text().splitlines() if line.startswith("-i")]
        self.assertEqual(changes, ["-i GPU-1 -pm 1", "-i GPU-1 -lgc 1200,1200", "-i GPU-1 -rgc", "-i GPU-1 -pm 0"])
        self.assertEqual(self.settings(), POWERSAVE)

    def test_wrong_lines(self):
        for arguments, message in ((["--restore", "--", "true"], "--restore runs no command"),
                                   (["--restore", "--rounds", 10], "--restore runs no command"),
                                   (["--rounds", 10], "--rounds and --warmup count runs of a command"),
                                   (["--stabilize"], "but none is given"),
                                   (["--", "a", "---"], "'---' separates two commands"),
                                   (["--", "a", "---", "b", "---", "c"], "'---' separates two commands"),
                                   (["--gpu-clock", 1200, "--", "a"], "'--gpu-clock' needs '--stabilize' too"),
                                   (["--cpus", "7", "--", "a"], "does not list CPUs of this machine"),
                                   (["--rounds", 3, "--", "a"], "--rounds")):
            with self.subTest(message):
                self.assertIn(message, self.bench(*arguments, exit_code=2).stderr)


if __name__ == "__main__":
    harness.main()
