"""What the tests of tests/peers share: which peers are there, and wheels over HTTP."""
import contextlib
import functools
import html
import http.server
import importlib.util
import io
import os
import re
import sys
import threading
import urllib.parse
from pathlib import Path

SKIPPED = 77


def is_skipped(modules, programs=()):
    """Prints which of these peers the environment lacks, and says whether there are any. `modules`: name of a module, or a pair with
    the name of its project."""
    pairs = [(module, module) if isinstance(module, str) else module for module in modules]
    missing = [project for module, project in pairs if importlib.util.find_spec(module) is None]
    missing += [name for name in programs if not (Path(sys.prefix) / "bin" / name).exists()]
    if missing:
        print(f"skipped: {', '.join(missing)} is not installed")
    return bool(missing)


def exit_at_once(status):
    """For programs that used py-rattler: its threads now and then crash the interpreter while it shuts down, when all work is done."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Static files, also in parts: uv reads the metadata by ranges, as from an index, and streams the rest. FOLDER/simple/toy/
    lists the one wheel in FOLDER."""

    protocol_version = "HTTP/1.1"

    def send_head(self):
        folder, simple, _ = self.path.partition("/simple/")
        if simple:
            return self.send_page(folder)
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        data = path.read_bytes()
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        start, end = 0, len(data)
        if asked and asked[1]:
            start, end = int(asked[1]), min(int(asked[2] or end) + 1, end)
        elif asked:
            start = max(0, end - int(asked[2]))
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        return io.BytesIO(data[start:end])

    def send_page(self, folder):
        links = [f'<a href="{folder}/{urllib.parse.quote(wheel.name)}">{html.escape(wheel.name)}</a>'
                 for wheel in Path(self.directory + folder).glob("*.whl")]
        body = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of `folder`, on the loopback interface."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
