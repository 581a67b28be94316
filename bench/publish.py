#!/usr/bin/env python3
"""Times the upload of a conda package by `ptpkg publish` against `curl -T`, to a plain PUT server on the loopback interface.

    cmake --preset release && ninja -C build/release ptpkg
    python3 bench/publish.py

The server counts from the head of the request to the last byte of its body, so that what ptpkg does before (it reads, checks
and hashes the package) is not in the comparison; its peak memory is that of the whole command. Several files at once are
timed against a server that answers each request 50 ms late. Exit 0: every bar is met; 1: one is missed.
"""

import argparse
import http.server
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

from costs import MB, PTPKG, SCRATCH, Runner, wrong_work

BARS = {"time": 1.1, "peak": 32 * MB, "at once": 3.0}
LATE_S = 0.05


class Sink(http.server.BaseHTTPRequestHandler):
    """PUT, with the checksum that the request tells; HEAD gives it back."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        begin, left = time.perf_counter(), int(self.headers["Content-Length"])
        buffer = bytearray(1 << 20)
        while left:
            left -= self.rfile.readinto1(memoryview(buffer)[:min(left, len(buffer))])
        self.server.seconds.append(time.perf_counter() - begin)
        self.server.files[self.path] = self.headers.get("X-Checksum-Sha256", "")
        self.answer(201)

    def do_HEAD(self) -> None:
        self.answer(200 if self.path in self.server.files else 404)

    def answer(self, status: int) -> None:
        time.sleep(self.server.late_s)
        self.send_response(status)
        if status == 200:
            self.send_header("X-Checksum-Sha256", self.server.files[self.path])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


def serve(late_s: float = 0) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    server.files, server.seconds, server.late_s = {}, [], late_s
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def packages(ptpkg: pathlib.Path, folder: pathlib.Path, count: int, megabytes: int) -> list[pathlib.Path]:
    """Of bytes that do not shrink, made once."""
    output = folder / f"publish-{count}-{megabytes}"
    if not (output / "manifest.json").exists():
        for number in range(count):
            recipe = folder / f"recipe{number}"
            shutil.rmtree(recipe, ignore_errors=True)
            recipe.mkdir(parents=True)
            (recipe / "recipe.yaml").write_text(
                f"package: {{name: bench{number}, version: '1.0'}}\n"
                f"build: {{noarch: generic, script: 'mkdir -p $PREFIX/share && head -c {megabytes}000000 /dev/urandom > $PREFIX/share/data'}}\n"
                "about: {license: MIT, summary: bytes}\nextra: {ptpkg: {formats: [conda]}}\n")
            subprocess.run([ptpkg, "build", recipe, "--output", output, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return sorted(output.glob("conda/noarch/*.conda"))


def publish(ptpkg: pathlib.Path, server, files: list[pathlib.Path]) -> list[str]:
    return [str(ptpkg), "publish", *map(str, files), "--to", "artifactory:bench", "--server",
            f"http://127.0.0.1:{server.server_port}", "--quiet"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for the packages, 600 MB")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ptpkg, curl = options.ptpkg.resolve(), shutil.which("curl")
    if not curl:
        wrong_work("curl is not installed")
    os.environ["ARTIFACTORY_TOKEN"] = "any"
    runner, missed = Runner(), []

    big, = packages(ptpkg, options.scratch.resolve(), 1, 539)
    ratios, peaks = [], []
    for _ in range(options.rounds):
        server = serve()
        peaks.append(runner.run([publish(ptpkg, server, [big])]).peak_bytes)
        runner.run([[curl, "-sS", "-T", str(big), f"http://127.0.0.1:{server.server_port}/by-curl"]])
        ours, theirs = server.seconds
        ratios.append(ours / theirs)
        server.shutdown()
    ratio, peak = statistics.median(ratios), statistics.median(peaks)
    print(f"{big.stat().st_size / MB:.0f} MB: {ratio:.2f} times curl's time (bar {BARS['time']}), "
          f"peak memory {peak / MB:.0f} MB (bar {BARS['peak'] / MB:.0f})")
    missed += [ratio > BARS["time"], peak > BARS["peak"]]

    small, gains = packages(ptpkg, options.scratch.resolve(), 8, 1), []
    for _ in range(options.rounds):
        server = serve(LATE_S)
        together = runner.run([publish(ptpkg, server, small)]).wall_s
        server.files.clear()
        alone = sum(runner.run([publish(ptpkg, server, [one])]).wall_s for one in small)
        gains.append(alone / together)
        server.shutdown()
    gain = statistics.median(gains)
    print(f"{len(small)} files, {LATE_S * 1000:.0f} ms late: one run with four at once is {gain:.1f} times as fast as a run for each "
          f"(bar {BARS['at once']})")
    missed.append(gain < BARS["at once"])
    return 1 if any(missed) else 0


if __name__ == "__main__":
    sys.exit(main())
