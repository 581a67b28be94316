"""nginx in front of a double or another server, as the front that people have: with limits, timeouts and errors of its own."""

import pathlib
import signal
import socket
import subprocess
import time

import harness

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Nginx:
    """One process on one port. serve() takes the place of what it served before; what is set there comes on top of a plain proxy.

    upstream: "http://host:port". certificate: of faults.certificates(); with it, https is spoken.
    """

    def __init__(self, folder: pathlib.Path, upstream: str, certificate: tuple[str, str] | None = None) -> None:
        self.program, self.folder, self.upstream, self.certificate = harness.tool("nginx"), folder, upstream, certificate
        self.process = None
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"

    def serve(self, *, http: str = "", server: str = "", location: str = "", upstream: str = "") -> None:
        """Directives of each level: "limit_rate 20k;", "if ($request_method = PUT) { return 503; }". upstream: another one."""
        self.stop()
        secure = "ssl; ssl_certificate {}; ssl_certificate_key {}".format(*self.certificate) if self.certificate else ""
        folders = " ".join(f"{name}_temp_path {self.folder}/{name};" for name in TEMPORARY)
        (self.folder / "nginx.conf").write_text(f"""
daemon off; master_process off; pid {self.folder}/pid; error_log {self.folder}/error.log;
events {{}}
http {{ access_log off; {folders} {"" if "client_max_body_size" in http + server else "client_max_body_size 0;"} {http}
  server {{ listen 127.0.0.1:{self.port} {secure}; proxy_http_version 1.1; proxy_set_header Host $http_host; {server}
    location / {{ {location} proxy_pass {upstream or self.upstream}; }} }} }}
""")
        with open(self.folder / "start.log", "wb") as log:
            self.process = subprocess.Popen([self.program, "-c", self.folder / "nginx.conf"], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, (self.folder / "start.log").read_text()
                time.sleep(0.02)
        raise AssertionError("nginx does not answer")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """SIGKILL: what is under way is reset."""
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None
