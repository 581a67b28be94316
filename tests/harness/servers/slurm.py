"""A Slurm cluster of real daemons on hosts that are namespaces (hosts.py): slurmctld on h0, one slurmd on each of h1, h2, …

    with Slurm() as cluster:
        cluster.login.run(["sbatch", "--wait", …], env=cluster.environment())
        cluster.hosts.cut("h2")

Each cluster has a munged, addresses and directories of its own, so several can run at once. With `accounting`, slurmdbd and MariaDB
run on h0 too. `shared` is a file system of `shared_mb` that all hosts see.
"""

import contextlib
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time
import typing
import unittest

import harness
from servers.hosts import Host, Hosts, private_mounts

CONTROLLER = "h0"
CLIENTS = ("sbatch", "squeue", "sinfo", "scancel", "scontrol", "sacct")
START_SECONDS = 120
# cred_expire is also the time that a requeued job waits before it starts again: 120 s by default.
CONF = """\
ClusterName=ptpkg
SlurmctldHost=h0(10.77.0.10)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket,cred_expire=5
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.%n.pid
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=bf_interval=5,sched_min_interval=0,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout={node_timeout_s}
MessageTimeout=5
MinJobAge={min_job_age_s}
MaxArraySize=10001
MaxJobCount=20000
NodeName=h[1-{nodes}] CPUs={cpus} RealMemory={memory_mb} State=UNKNOWN
PartitionName=build Nodes=h[1-{nodes}] Default=YES MaxTime=INFINITE State=UP
"""
NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=h0
AccountingStoragePass={root}/munge/socket
"""
DBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
DbdHost=h0
SlurmUser=root
LogFile={root}/log/slurmdbd.log
PidFile={root}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StorageLoc=slurm
"""
# Hands the submission on, and then does what `then` says, once for each number in `count`.
SBATCH = """\
#!/bin/bash
exec 9>{count}.lock; flock 9
left=$(cat {count})
if ((left > 0)); then
  echo $((left - 1)) >{count}
  flock -u 9
  {before}
  {then}
fi
flock -u 9
exec {sbatch} "$@"
"""


class Settings(typing.NamedTuple):
    """`min_job_age_s`: how long the controller remembers a job that has ended."""

    nodes: int = 3
    cpus: int = 4
    memory_mb: int = 4000
    node_timeout_s: int = 10
    min_job_age_s: int = 300
    shared_mb: int = 512
    accounting: bool = False


class Slurm:
    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        for program in ("munged", "slurmctld", "slurmd", *CLIENTS, "ip"):
            daemon(program)
        if self.settings.accounting:
            self.mariadb, self.slurmdbd = optional("mariadbd"), optional("slurmdbd")
        private_mounts()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-slurm-"))
        self.closing = contextlib.ExitStack()
        self.closing.callback(shutil.rmtree, self.root, ignore_errors=True)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    # ---- life

    def start(self) -> None:
        for name in ("munge", "state", "spool", "log", "shared"):
            (self.root / name).mkdir()
        self.root.chmod(0o755)  # munged refuses a socket that others cannot reach
        self.shared = self.root / "shared"
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.settings.shared_mb}m", "shared", self.shared], check=True)
        self.closing.callback(subprocess.run, ["umount", "--lazy", self.shared], check=False)
        conf = CONF + (ACCOUNTING if self.settings.accounting else NO_ACCOUNTING)
        self.conf = self.root / "slurm.conf"
        self.conf.write_text(conf.format(root=self.root, **self.settings._asdict()))
        self.nodes = [f"h{number}" for number in range(1, self.settings.nodes + 1)]
        self.hosts = self.closing.enter_context(Hosts(self.root, [CONTROLLER, *self.nodes]))
        self.start_munge()
        if self.settings.accounting:
            self.start_accounting()
        self.start_controller()
        for name in self.nodes:
            self.start_node(name)
        self.wait_for(lambda: self.node_states() == dict.fromkeys(self.nodes, "idle"))

    def start_munge(self) -> None:
        """On the switch, so that a host that is cut off can still tell who asks."""
        key = self.root / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        (self.root / "munge").chmod(0o755)
        place = self.root / "munge"
        self.hosts.switch.run([daemon("munged"), "--force", "--key-file", key, "--socket", place / "socket", "--pid-file", place / "pid",
                               "--log-file", place / "log", "--seed-file", place / "seed"])

    def start_accounting(self) -> None:
        data = self.root / "database"
        conf = self.root / "slurmdbd.conf"
        conf.write_text(DBD_CONF.format(root=self.root))
        conf.chmod(0o600)
        init = self.root / "init.sql"
        init.write_text("CREATE DATABASE IF NOT EXISTS slurm;\nCREATE USER IF NOT EXISTS slurm@'127.0.0.1';\n"
                        "GRANT ALL ON slurm.* TO slurm@'127.0.0.1';\nFLUSH PRIVILEGES;\n")
        options = ["--no-defaults", f"--datadir={data}", "--user=root"]
        # Its temporary files are named after its process, whose number another cluster's may have too.
        environment = {**os.environ, "TMPDIR": str(self.root), "SLURM_CONF": str(self.conf)}
        self.login.run([optional("mariadb-install-db"), *options, "--auth-root-authentication-method=normal", "--skip-test-db"], env=environment)
        self.login.start_process([self.mariadb, *options, "--bind-address=127.0.0.1", f"--socket={data}/socket", f"--init-file={init}",
                                  "--innodb-buffer-pool-size=64M", "--skip-name-resolve"], self.root / "log/mariadb.log", env=environment)
        self.wait_for(lambda: self.login.run(["bash", "-c", "</dev/tcp/127.0.0.1/3306"], check=False).returncode == 0)
        # It would detach only after its first connection to the database; the log tells no more than the connection below.
        self.login.start_process([self.slurmdbd, "-D"], self.root / "log/slurmdbd.out", env=environment)
        self.wait_for(lambda: self.login.run(["bash", "-c", "</dev/tcp/h0/6819"], check=False).returncode == 0)
        self.client("sacctmgr", "--immediate", "add", "cluster", "ptpkg")

    def start_controller(self, state: pathlib.Path | None = None) -> None:
        """`state`: of saved_state(), if the controller shall know only the jobs of that time."""
        if state:
            shutil.rmtree(self.root / "state")
            shutil.copytree(state, self.root / "state")
        self.login.run([daemon("slurmctld"), "-f", self.conf])
        self.wait_for(lambda: self.client("scontrol", "ping", check=False).returncode == 0)

    def saved_state(self) -> pathlib.Path:
        """A copy of the jobs as the controller has written them down, which it does some seconds after each change: a kill before
        that makes it forget what came later."""
        asked, file = time.time(), self.root / "state/job_state"
        self.wait_for(lambda: file.exists() and file.stat().st_mtime > asked)
        copy = pathlib.Path(tempfile.mkdtemp(prefix="state-", dir=self.root))
        return shutil.copytree(file.parent, copy / "state", ignore=shutil.ignore_patterns("*.new"))  # written at this moment

    def kill_controller(self) -> None:
        assert self.login.kill("slurmctld") > 0, "no controller ran"
        self.wait_for(lambda: not self.login.processes("slurmctld"))

    def start_node(self, name: str) -> None:
        self.hosts[name].run([daemon("slurmd"), "-N", name, "-f", self.conf])

    def kill_node(self, name: str) -> None:
        """Kills slurmd alone: slurmstepd and the jobs run on."""
        assert self.hosts[name].kill("slurmd", "-N") > 0, f"no slurmd ran on {name}"

    def power_cycle(self, name: str) -> None:
        """The node loses its jobs too, and comes back."""
        self.hosts.restart(name)
        self.start_node(name)

    def close(self) -> None:
        self.closing.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused) -> None:
        self.close()

    # ---- clients

    @property
    def login(self) -> Host:
        """The host where clients run."""
        return self.hosts[CONTROLLER]

    def environment(self, **extra: str) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.conf), **extra}

    def client(self, *command, **options) -> subprocess.CompletedProcess:
        return self.login.run(list(command), env=self.environment(), **options)

    def submit(self, script: str, *options: str) -> str:
        """The id of a job that runs this script of bash in the shared directory, with 100 MB."""
        log = f"--output={self.shared}/slurm-%j.log"
        return self.client("sbatch", "--parsable", f"--chdir={self.shared}", "--open-mode=append", log, *options, f"--wrap={script}").stdout.strip()

    def jobs(self) -> dict[str, str]:
        """State of each job that the controller remembers."""
        lines = self.client("squeue", "--noheader", "--array", "--states=all", "--format=%i|%T").stdout.split()
        return dict(line.split("|") for line in lines)

    def queued(self) -> list[str]:
        """Ids of jobs that wait, run or end at the moment."""
        return self.client("squeue", "--noheader", "--array", "--format=%i").stdout.split()

    def node_states(self) -> dict[str, str]:
        done = self.client("sinfo", "--noheader", "--Node", "--format=%N|%T", check=False)
        return dict(line.split("|") for line in done.stdout.split())

    def wait_for(self, condition, seconds: float = START_SECONDS) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"the cluster did not get there in {seconds} s\n{self.logs()}")
            time.sleep(0.1)

    def logs(self) -> str:
        """The last lines of each daemon's log, for the message of a failure."""
        parts = []
        for log in sorted((self.root / "log").glob("slurm*.log")):
            lines = [line for line in log.read_text(errors="replace").splitlines() if "mpi/pmix" not in line]
            parts += [f"--- {log.name}", *lines[-10:]]
        return "\n".join(parts)

    # ---- faults

    def fill_shared(self) -> pathlib.Path:
        """A file that takes all the space that is left in the shared directory. Remove it to heal."""
        ballast = self.shared / "ballast"
        with open(ballast, "wb", buffering=0) as file:
            block = bytes(1 << 20)
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while file.write(block[:size]):
                        pass
        return ballast

    def lose_shared(self, name: str) -> None:
        """The host sees an empty directory that nobody can write to. Files that are open there stay open."""
        self.hosts[name].run(["mount", "-t", "tmpfs", "-o", "ro", "lost", self.shared])

    def find_shared(self, name: str) -> None:
        self.hosts[name].run(["umount", "--lazy", self.shared])

    def broken_sbatch(self, then: str, submits: bool = True, times: int = 1) -> pathlib.Path:
        """A directory for the front of PATH, whose sbatch submits (or does not), shows nothing and then runs `then`: "sleep infinity",
        "exit 1". Only `times` times; then it is the real one."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="bin-", dir=self.root))
        count = folder / "count"
        count.write_text(f"{times}\n")
        sbatch = shlex.quote(harness.tool("sbatch"))
        program = folder / "sbatch"
        program.write_text(SBATCH.format(count=count, sbatch=sbatch, before=f'{sbatch} "$@" >/dev/null 2>&1' if submits else "", then=then))
        program.chmod(0o755)
        return folder


def daemon(name: str) -> str:
    """A program of scripts/bootstrap --check. Daemons are in a directory that is not on every user's PATH."""
    return shutil.which(name, path=f"/usr/sbin:/sbin:{os.environ['PATH']}") or harness.missing(f"'{name}'")


def optional(name: str) -> str:
    """A program of scripts/bootstrap --nightly."""
    if found := shutil.which(name, path=f"/usr/sbin:/sbin:{os.environ['PATH']}"):
        return found
    raise unittest.SkipTest(f"'{name}' is missing: scripts/bootstrap --nightly installs it")
