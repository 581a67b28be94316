#!/usr/bin/env python3
"""Has a simple index read by pip and by uv, as HTML and as JSON, over HTTP and from the folder.

usage: wheel_index.py [--ptpkg PROGRAM] FOLDER REQUIREMENT...

FOLDER holds wheels; with --ptpkg it is copied and indexed by `PROGRAM index` first, else its pages are taken as they
are. Each REQUIREMENT must be installable from it alone. The server is one of static files that hands out
index.json to clients that ask for JSON, as PEP 691 wants; it records what was asked for, so that the use of the
.metadata files can be told from downloads of whole wheels.

Exit: 0 all installed, 1 not, 77 a peer is missing (its name is printed).
"""
import argparse
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import venv
from pathlib import Path

from peers import SKIPPED, is_skipped

JSON_TYPE = "application/vnd.pypi.simple.v1+json"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Static files; one class attribute decides whether JSON is offered."""

    offer_json = False
    asked = []

    def send_head(self):
        path = urllib.parse.unquote(self.path)
        self.asked.append(path)
        if self.offer_json and path.endswith("/") and JSON_TYPE in self.headers.get("Accept", ""):
            self.path += "index.json"
        return super().send_head()

    def guess_type(self, path):
        return JSON_TYPE if str(path).endswith("index.json") else super().guess_type(path)

    def log_message(self, *_):
        pass


def installers(scratch):
    """(name, command line up to 'install', environment) for an empty environment each."""
    for name in ("pip", "uv"):
        prefix = Path(tempfile.mkdtemp(prefix=name, dir=scratch))
        venv.create(prefix, with_pip=False, symlinks=True)
        clean = {"PATH": os.environ["PATH"], "HOME": str(prefix), "UV_CACHE_DIR": str(prefix / "cache"),
                 "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_NO_CONFIG": "1",
                 "NO_PROXY": "127.0.0.1"}
        if name == "pip":
            yield name, [sys.executable, "-m", "pip", "--python", str(prefix / "bin" / "python")], clean
        else:
            yield name, [str(Path(sys.prefix) / "bin" / "uv"), "pip"], clean | {"VIRTUAL_ENV": str(prefix)}


def install_all(what, index_url, requirements, scratch):
    for name, command, environment in installers(scratch):
        done = subprocess.run([*command, "install", "--no-deps", "--index-url", index_url, *requirements],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(f"rejected: {name}, {what}:\n{done.stdout}")
            return False
        print(f"accepted: {name}, {what}")
    return True


def serve_and_install(folder, requirements, scratch, offer_json):
    handler = type("Serving", (Handler,), {"offer_json": offer_json, "asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/simple/"
            what = "JSON over HTTP" if offer_json else "HTML over HTTP"
            if not install_all(what, url, requirements, scratch):
                return False
        finally:
            server.shutdown()
            thread.join()
    if not any(path.endswith(".whl.metadata") for path in handler.asked):
        print(f"rejected: no installer asked for a .metadata file ({what})")
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ptpkg", metavar="PROGRAM", help="indexes a copy of the folder")
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("requirements", metavar="REQUIREMENT", nargs="+")
    arguments = parser.parse_args()
    if is_skipped(["pip"], ["uv"]):
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="wheel-index-") as scratch:
        folder = arguments.folder.resolve()
        if arguments.ptpkg:
            folder = Path(scratch) / "wheels"
            folder.mkdir()
            for wheel in arguments.folder.glob("*.whl"):
                shutil.copy(wheel, folder)
            subprocess.run([arguments.ptpkg, "index", folder], check=True, stdout=subprocess.DEVNULL)
        return 0 if (install_all("HTML from the folder", f"file://{folder}/simple/", arguments.requirements, scratch)
                     and serve_and_install(folder, arguments.requirements, scratch, offer_json=False)
                     and serve_and_install(folder, arguments.requirements, scratch, offer_json=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
