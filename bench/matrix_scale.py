#!/usr/bin/env python3
"""Simulates a release of PyTorch for many versions, toolkits and Pythons on 10 to 1,000 machines, with SimPy.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds SimPy
    $(scripts/environment peers)/bin/python bench/matrix_scale.py [--only machines,…] [--nodes 3000] [--seed 1] [--json] [--update]

Node times are those of docs/builds.md; the scheduler's are measured on the test cluster (bench/matrix.py). Prints the tables of
docs/scale.md, and with --update writes them there. --json prints each run, for tests. Equal seeds give equal output.
"""

import argparse
import dataclasses
import hashlib
import heapq
import itertools
import json
import math
import pathlib
import random
import statistics
import sys

import simpy

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/scale.md"
CORES = 32  # of each machine, as that on which PyTorch with CUDA was measured
BACKENDS = ["cpu", "cu117", "cu118", "cu124", "cu126", "cu128", "cu129", "cu130"]
PYTHONS = ["39", "310", "311", "312", "313", "314"]
HOUR, MINUTE = 3600, 60
MACHINES = [10, 30, 100, 300, 1000]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A node takes serial_s + cpu_s / cores. `reads_mb`: sources and toolkits, besides the results that it needs, which the index does
    not read."""

    serial_s: float
    cpu_s: float
    cores: int
    reads_mb: float
    writes_mb: float
    reads_results: bool = True


# docs/builds.md: wall and CPU seconds on 32 or 16 cores, sizes of packages, 1.3 GB of CUDA's wheels. Assumed: 500 MB for the sources of
# PyTorch, 50 MB for those of the others.
KINDS = {"magma": Kind(60, 1080, 32, 1350, 7),
         "torch-cuda": Kind(178, 30854, 32, 1800, 236),
         "torch-cpu": Kind(120, 12145, 32, 500, 240),
         "vision": Kind(55, 531, 8, 50, 2),
         "audio": Kind(38, 288, 8, 50, 1),
         "check": Kind(32, 0, 2, 0, 0),
         "index": Kind(10, 0, 2, 0, 0, reads_results=False)}


@dataclasses.dataclass
class Node:
    name: str
    kind: Kind
    needs: list["Node"]


@dataclasses.dataclass(frozen=True)
class Site:
    """`starts_per_s`, `wake_s`: the scheduler starts so many jobs each time it wakes. `detect_s`: until the job of a lost machine may
    start again (SlurmdTimeout and the wait of a requeued job). `lost_per_day`: of one machine."""

    machines: int = 100
    longest_first: bool = True
    stored: float = 0  # part of the build nodes whose result is in the shared cache
    objects: float = 0  # part of the compilations that ccache answers
    lost_per_day: float = 0
    detect_s: float = 420
    repair_s: float = 900
    store_mb_s: float = 1000
    link_mb_s: float = 1000
    wake_s: float = 1
    starts_per_s: float = 25


def release(count: int) -> list[Node]:
    """`count` nodes in an order in which each comes after those that it needs. The last one writes the index."""
    nodes: list[Node] = []

    def add(name: str, kind: str, *needs: Node) -> Node:
        nodes.append(Node(name, KINDS[kind], list(needs)))
        return nodes[-1]

    def package(name: str, kind: str, *needs: Node) -> Node:
        return add(f"check/{name}", "check", add(f"build/{name}", kind, *needs))

    def variants():
        for series, backend in ((series, backend) for series in itertools.count() for backend in BACKENDS):
            before = [] if backend == "cpu" else [package(f"magma-{series}-{backend}", "magma")]
            yield
            for python in PYTHONS:
                variant = f"{series}-{backend}-py{python}"
                torch = package(f"torch-{variant}", "torch-cpu" if backend == "cpu" else "torch-cuda", *before)
                yield
                package(f"vision-{variant}", "vision", torch)
                package(f"audio-{variant}", "audio", torch)
                yield

    for _ in variants():
        if len(nodes) >= count - 1:
            break
    del nodes[count - 1:]
    add("index", "index", *nodes)
    return nodes


def draw(seed: int, *what) -> float:
    """A number below 1 that depends on nothing but these: the same node has the same luck on any site."""
    digest = hashlib.sha256(json.dumps([seed, *what]).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


class Store:
    """The shared file system: all transfers share its bandwidth, and each has at most the bandwidth of a link.

    `served` is what one transfer would have got since the start, so a transfer ends when `served` has grown by its size.
    """

    def __init__(self, env: simpy.Environment, site: Site) -> None:
        self.env, self.site = env, site
        self.active: list[tuple[float, int, simpy.Event]] = []
        self.gone: set[int] = set()
        self.numbers = itertools.count()
        self.served = self.at = self.total_mb = self.full_s = 0.0
        self.changed = env.event()
        env.process(self.run())

    def rate(self) -> float:
        count = len(self.active) - len(self.gone)
        return min(self.site.link_mb_s, self.site.store_mb_s / count) if count else 0

    def advance(self) -> None:
        elapsed, rate = self.env.now - self.at, self.rate()
        self.served += elapsed * rate
        self.full_s += elapsed if 0 < rate < self.site.link_mb_s else 0
        self.at = self.env.now

    def transfer(self, megabytes: float):
        if megabytes <= 0:
            return
        self.advance()
        number, done = next(self.numbers), self.env.event()
        heapq.heappush(self.active, (self.served + megabytes, number, done))
        self.total_mb += megabytes
        self.notify()
        try:
            yield done
        except simpy.Interrupt:
            self.advance()
            self.gone.add(number)
            self.notify()
            raise

    def notify(self) -> None:
        if not self.changed.triggered:
            self.changed.succeed()

    def run(self):
        while True:
            while self.active and self.active[0][1] in self.gone:
                self.gone.discard(heapq.heappop(self.active)[1])
            wait = [self.changed]
            if self.active:
                wait.append(self.env.timeout(max(0.0, self.active[0][0] - self.served) / self.rate()))
            yield self.env.any_of(wait)
            self.advance()
            if self.changed.triggered:
                self.changed = self.env.event()
            while self.active and self.active[0][0] <= self.served + 1e-6:
                _, number, done = heapq.heappop(self.active)
                if number not in self.gone:
                    done.succeed()
                self.gone.discard(number)


class Run:
    def __init__(self, nodes: list[Node], site: Site, seed: int) -> None:
        self.nodes, self.site, self.seed = nodes, site, seed
        self.env = simpy.Environment()
        self.store = Store(self.env, site)
        self.free = [CORES] * site.machines
        self.running: list[dict[str, simpy.Process]] = [{} for _ in range(site.machines)]
        self.since = [0.0] * site.machines
        self.ready: list[tuple[float, int]] = []
        self.number = {node.name: number for number, node in enumerate(nodes)}
        self.followers: dict[str, list[Node]] = {node.name: [] for node in nodes}
        self.open = {node.name: len(node.needs) for node in nodes}
        for node in nodes:
            for need in node.needs:
                self.followers[need.name].append(node)
        self.left, self.ended = len(nodes), self.env.event()
        self.wake = self.env.event()
        self.attempts = self.lost = 0
        self.paths: dict[str, float] = {}  # seconds from the start of a node to the end of the run, if nothing waits
        for node in reversed(nodes):
            self.paths[node.name] = self.seconds(node) + max((self.paths[one.name] for one in self.followers[node.name]), default=0)
        self.busy_s = self.used_s = self.lost_s = 0.0

    def result(self) -> dict:
        for node in self.nodes:
            if not node.needs:
                self.add_ready(node)
        self.env.process(self.dispatch())
        if self.site.lost_per_day:
            for machine in range(self.site.machines):
                self.env.process(self.lose(machine))
        self.env.run(until=self.ended)
        makespan = self.env.now
        return {"site": dataclasses.asdict(self.site), "nodes": len(self.nodes), "makespan_s": round(makespan, 3),
                "critical_path_s": round(max(self.paths.values()), 3),
                "work_s": round(sum(self.seconds(node) * node.kind.cores for node in self.nodes) / CORES, 3),
                "used_s": round(self.used_s, 3), "busy": round(self.busy_s / (makespan * self.site.machines), 4),
                "attempts": self.attempts, "lost": self.lost, "lost_s": round(self.lost_s, 3),
                "store_gb": round(self.store.total_mb / 1000, 3),
                "store_full": round(self.store.full_s / makespan, 4), "ended": len(self.nodes) - self.left}

    def is_stored(self, node: Node) -> bool:
        return node.kind.cpu_s > 0 and draw(self.seed, "stored", node.name) < self.site.stored

    def seconds(self, node: Node) -> float:
        """Without transfers."""
        if self.is_stored(node):
            return 1
        # ccache answers 10 compilations in 0.29 s that take 62.5 s.
        return node.kind.serial_s + node.kind.cpu_s * (1 - self.site.objects * (1 - 0.29 / 62.5)) / node.kind.cores

    def add_ready(self, node: Node) -> None:
        order = -self.paths[node.name] if self.site.longest_first else 0
        heapq.heappush(self.ready, (order, self.number[node.name]))
        self.notify()

    def notify(self) -> None:
        if not self.wake.triggered:
            self.wake.succeed()

    def dispatch(self):
        """Starts jobs by priority; a job that fits nowhere does not hold up smaller ones behind it (backfill)."""
        while True:
            yield self.wake
            self.wake = self.env.event()
            yield self.env.timeout(self.site.wake_s - math.fmod(self.env.now, self.site.wake_s))
            budget = max(1, int(self.site.starts_per_s * self.site.wake_s))
            by_free: dict[int, list[int]] = {}
            for machine, cores in enumerate(self.free):
                if cores > 0:
                    by_free.setdefault(cores, []).append(machine)
            waiting = []
            while self.ready and budget and by_free:
                entry = heapq.heappop(self.ready)
                node = self.nodes[entry[1]]
                fitting = [cores for cores in by_free if cores >= node.kind.cores]
                if not fitting:
                    waiting.append(entry)
                    continue
                cores = min(fitting)
                machine = by_free[cores].pop(0)
                if not by_free[cores]:
                    del by_free[cores]
                if cores > node.kind.cores:
                    by_free.setdefault(cores - node.kind.cores, []).append(machine)
                self.start(node, machine)
                budget -= 1
            for entry in waiting:
                heapq.heappush(self.ready, entry)
            if self.ready and not budget:
                self.notify()

    def start(self, node: Node, machine: int) -> None:
        if not self.running[machine]:
            self.since[machine] = self.env.now
        self.free[machine] -= node.kind.cores
        self.attempts += 1
        self.running[machine][node.name] = self.env.process(self.attempt(node, machine))

    def attempt(self, node: Node, machine: int):
        begin = self.env.now
        try:
            if not self.is_stored(node):  # else its record is enough: the nodes that need the result read it
                results = sum(need.kind.writes_mb for need in node.needs) if node.kind.reads_results else 0
                yield from self.store.transfer(node.kind.reads_mb + results)
            yield self.env.timeout(self.seconds(node))
            if not self.is_stored(node):
                yield from self.store.transfer(node.kind.writes_mb)
        except simpy.Interrupt:
            self.lost += 1
            self.lost_s += self.env.now - begin
            yield self.env.timeout(self.site.detect_s)
            self.add_ready(node)
            return
        self.busy_s += (self.env.now - begin) * node.kind.cores / CORES
        del self.running[machine][node.name]
        self.free[machine] += node.kind.cores
        if not self.running[machine]:
            self.used_s += self.env.now - self.since[machine]
        self.finish(node)

    def finish(self, node: Node) -> None:
        self.left -= 1
        if self.left == 0:
            self.ended.succeed()
        for follower in self.followers[node.name]:
            self.open[follower.name] -= 1
            if self.open[follower.name] == 0:
                self.add_ready(follower)
        self.notify()

    def lose(self, machine: int):
        luck = random.Random(f"{self.seed} {machine}")
        while True:
            yield self.env.timeout(luck.expovariate(self.site.lost_per_day / (24 * HOUR)))
            if self.running[machine]:
                self.used_s += self.env.now - self.since[machine]
            for process in list(self.running[machine].values()):
                process.interrupt()
            self.running[machine].clear()
            self.free[machine] = 0
            yield self.env.timeout(self.site.repair_s)
            self.free[machine] = CORES
            self.notify()


class Tables:
    """The tables of the page, and each run that they show."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.nodes, self.seed, self.results = release(options.nodes), options.seed, []

    def run(self, **site) -> dict:
        self.results.append(Run(self.nodes, Site(**site), self.seed).result())
        return self.results[-1]

    def machines(self):
        yield ["machines", "time", "times the critical path", "cores busy", "machine-hours in use", "time in the order of the plan"]
        for machines in MACHINES:
            one, plain = self.run(machines=machines), self.run(machines=machines, longest_first=False)
            yield [f"{machines:,}", hours(one["makespan_s"]), f"{one['makespan_s'] / one['critical_path_s']:.1f}", f"{one['busy']:.0%}",
                   f"{one['used_s'] / HOUR:.0f}", hours(plain["makespan_s"])]

    def hits(self):
        yield ["stored results", "compilations from ccache", "time", "critical path", "machine-hours in use", "read and written"]
        for stored, objects in ((0, 0), (0.25, 0), (0.5, 0), (0.75, 0), (0.9, 0), (0.99, 0), (0, 0.5), (0, 0.9), (0.5, 0.9)):
            one = self.run(stored=stored, objects=objects)
            yield [f"{stored:.0%}", f"{objects:.0%}", hours(one["makespan_s"]), hours(one["critical_path_s"]),
                   f"{one['used_s'] / HOUR:.0f}", f"{one['store_gb']:.0f} GB"]

    def losses(self):
        """Medians of five runs with other luck: at few losses, the time depends on whose job it was."""
        def middle(**site) -> dict:
            runs = []
            for seed in range(self.seed, self.seed + 5):
                runs.append(Run(self.nodes, Site(**site), seed).result())
            self.results += runs
            return {name: statistics.median(run[name] for run in runs) for name in ("makespan_s", "lost", "lost_s")}

        yield ["machines", "losses per machine and day", "found after", "attempts lost", "time", "more than without losses", "machine-hours lost"]
        for machines in (100, 1000):
            base = self.run(machines=machines)
            for per_day, detect in ((0.01, 420), (0.1, 420), (1, 420), (1, 60), (10, 420), (10, 60)):
                one = middle(machines=machines, lost_per_day=per_day, detect_s=detect)
                yield [f"{machines:,}", f"{per_day:g}", f"{detect} s", f"{one['lost']}", hours(one["makespan_s"]),
                       more(one, base), f"{one['lost_s'] / HOUR:.1f}"]

    def limits(self):
        yield ["machines", "store", "starts", "time", "more than without limits", "the store was full"]
        for machines in (100, 1000):
            base = self.run(machines=machines, store_mb_s=1e9, starts_per_s=1e6)
            for store, starts in ((10000, 25), (1000, 25), (300, 25), (100, 25), (30, 25), (10000, 5), (10000, 1)):
                one = self.run(machines=machines, store_mb_s=store, starts_per_s=starts)
                yield [f"{machines:,}", f"{store:,} MB/s", f"{starts} per s", hours(one["makespan_s"]), more(one, base),
                       f"{one['store_full']:.0%} of the time"]

    def calls(self):
        """No simulation: the share of a controller that answers one call after the other."""
        yield ["nodes", "one call for all, 10 people watch", "100 people watch", "each running job asks for itself: 100", "1,000", "10,000"]
        for nodes in (300, 1000, 3000, 10000):
            whole = CALL_S + LINE_S * nodes
            yield [f"{nodes:,}", *(share(people * whole / POLL_S) for people in (10, 100)), *(share(min(jobs, nodes) * CALL_S / POLL_S) for jobs in (100, 1000, 10000))]


# squeue takes 10 ms for a call and 30 µs for each job that it lists, on the test cluster. `ptpkg matrix status --watch` asks twice a minute.
CALL_S, LINE_S, POLL_S = 0.010, 30e-6, 30
NAMES = ["machines", "hits", "losses", "limits", "calls"]


def hours(seconds: float) -> str:
    return f"{seconds / HOUR:.1f} h" if seconds >= 2 * HOUR else f"{seconds / MINUTE:.0f} min"


def more(one: dict, base: dict) -> str:
    return f"{one['makespan_s'] / base['makespan_s'] - 1:.0%}"


def share(part: float) -> str:
    return "more than it has" if part > 1 else f"{part:.1%}"


def markdown(rows) -> str:
    head, *body = rows
    lines = [f"| {' | '.join(line)} |" for line in (head, *body)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]]) + "\n"


def put(page: str, name: str, table: str) -> str:
    """The page with this table below its mark, in place of the one that is there."""
    mark = f"<!-- bench/matrix_scale.py --only {name} -->\n"
    before, after = page.split(mark)
    rest = after.lstrip("\n").splitlines(keepends=True)
    rest = "".join(itertools.dropwhile(lambda line: line.startswith("|"), rest)).lstrip("\n")
    return before + mark + table + ("\n" + rest if rest else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(NAMES), help=f"tables, separated by commas (default: {','.join(NAMES)})")
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print each run instead of the tables")
    parser.add_argument("--update", action="store_true", help="write the tables into docs/scale.md")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(NAMES):
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    tables, page = Tables(options), PAGE.read_text() if options.update else ""
    for name in names:
        table = markdown(getattr(tables, name)())
        if options.update:
            page = put(page, name, table)
        elif not options.json:
            print(f"{name}\n{table}", flush=True)
    if options.update:
        PAGE.write_text(page)
    if options.json:
        print(json.dumps(tables.results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
