"""Several hosts on one machine: Linux namespaces with processes, network, mounts and a name of their own.

    with Hosts(folder, ["h0", "h1"]) as hosts:      # needs root
        hosts["h1"].run(["ping", "-c1", "h0"])
        hosts.cut("h1"); hosts.heal("h1")

The hosts share the file system of the test. Nothing outlives the test, also after SIGKILL: the kernel ends a PID namespace
with its first process, and that one ends with the test.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import unittest

CLONE_NEWNS = 0x20000
HANGS_AFTER_S = 120
# Bash reaps the daemons that it adopts. $1: the name, $2: the file for /etc/hosts.
INIT = 'hostname "$1" && mount --bind "$2" /etc/hosts && ip link set lo up && echo ready && { sleep infinity & wait; }'


def private_mounts() -> None:
    """This process gets mounts of its own. They vanish with it, and with the processes that it started."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        raise unittest.SkipTest("new namespaces are not permitted: needs root")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


class Host:
    """`pid`: the first process, as the test sees it."""

    def __init__(self, name: str, address: str, hosts_file: pathlib.Path) -> None:
        self.name, self.address, self.hosts_file = name, address, hosts_file
        self.pid = 0
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
             "bash", "-c", INIT, "init", self.name, self.hosts_file],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if (said := self.process.stdout.readline()) != "ready\n":
            self.stop()
            raise unittest.SkipTest(f"new namespaces are not permitted: {said}")
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.pid = int(children.read_text().split()[0])

    def stop(self) -> None:
        """Like a power cut: every process of the host is killed."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.pid = 0

    def command(self, command: list) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--net", "--pid", "--wd=.", *map(str, command)]

    def run(self, command: list, *, check: bool = True, timeout: float = HANGS_AFTER_S, **options) -> subprocess.CompletedProcess:
        done = subprocess.run(self.command(command), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, timeout=timeout, **options)
        if check and done.returncode != 0:
            raise AssertionError(f"on {self.name}: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start_process(self, command: list, log: pathlib.Path, **options) -> subprocess.Popen:
        with open(log, "ab") as output:
            return subprocess.Popen(self.command(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output, **options)

    def processes(self, *words: str) -> list[int]:
        """Processes of this host whose command line has all words, without the first one; numbers as the test sees them."""
        namespace = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and entry.name != str(self.pid) and os.readlink(entry / "ns/pid") == namespace:
                    line = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    if all(any(word in part for part in line) for word in words):
                        found.append(int(entry.name))
            except OSError:
                pass  # it has ended
        return found

    def kill(self, *words: str, how: int = signal.SIGKILL) -> int:
        """Sends a signal to each of `processes`; how many."""
        killed = 0
        for pid in self.processes(*words):
            try:
                os.kill(pid, how)
                killed += 1
            except ProcessLookupError:
                pass
        return killed


class Hosts:
    """Hosts 10.77.0.10, .11, … on one switch, which is a network namespace too: the machine's own network has no part in it."""

    def __init__(self, folder: pathlib.Path, names: list[str]) -> None:
        self.hosts_file = folder / "hosts"
        addresses = {name: f"10.77.0.{10 + number}" for number, name in enumerate(names)}
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())]
        self.hosts_file.write_text("\n".join(lines) + "\n")
        self.all: dict[str, Host] = {}
        self.switch = Host("switch", "", self.hosts_file)
        try:
            self.switch.run(["ip", "link", "add", "br0", "type", "bridge"])
            self.switch.run(["ip", "link", "set", "br0", "up"])
            for name, address in addresses.items():
                self.all[name] = Host(name, address, self.hosts_file)
                self.connect(name)
        except BaseException:
            self.close()
            raise

    def connect(self, name: str) -> None:
        host = self.all[name]
        cable = f"to-{name}"
        # The switch's namespaces are entered one by one: `ip` names the host by its process, which only the test's own can see.
        inside = ["nsenter", f"--target={self.switch.pid}", "--net"]
        for command in (["ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(host.pid)],
                        ["ip", "link", "set", cable, "master", "br0", "up"]):
            subprocess.run([*inside, *command], check=True)
        host.run(["ip", "address", "add", f"{host.address}/24", "dev", "eth0"])
        host.run(["ip", "link", "set", "eth0", "up"])

    def __getitem__(self, name: str) -> Host:
        return self.all[name]

    def cut(self, name: str) -> None:
        self.switch.run(["ip", "link", "set", f"to-{name}", "down"])

    def heal(self, name: str) -> None:
        self.switch.run(["ip", "link", "set", f"to-{name}", "up"])

    def restart(self, name: str) -> None:
        """A power cut, and the host comes up again, without the daemons that ran there."""
        self.all[name].stop()
        self.all[name].start()
        self.connect(name)

    def close(self) -> None:
        for host in [*self.all.values(), self.switch]:
            host.stop()

    def __enter__(self):
        return self

    def __exit__(self, *unused) -> None:
        self.close()
