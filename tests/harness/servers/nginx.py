"""nginx in front of a double or another server, as the front that people have: with limits, timeouts and errors of its own."""

import pathlib
import signal

import harness
from servers.ports import Port

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Nginx:
    """One process on one port. serve() takes the place of what it served before; what is set there comes on top of a plain proxy.

    upstream: "http://host:port". certificate: of faults.certificates(); with it, https is spoken.
    """

    def __init__(self, folder: pathlib.Path, upstream: str, certificate: tuple[str, str] | None = None) -> None:
        self.program, self.folder, self.upstream, self.certificate = harness.tool("nginx"), folder, upstream, certificate
        self.process, self.port = None, Port()
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port.number}"

    def serve(self, *, http: str = "", server: str = "", location: str = "", upstream: str = "") -> None:
        """Directives of each level: "limit_rate 20k;", "if ($request_method = PUT) { return 503; }". upstream: another one."""
        self.stop()
        secure = "ssl; ssl_certificate {}; ssl_certificate_key {}".format(*self.certificate) if self.certificate else ""
        folders = " ".join(f"{name}_temp_path {self.folder}/{name};" for name in TEMPORARY)
        (self.folder / "nginx.conf").write_text(f"""
daemon off; master_process off; pid {self.folder}/pid; error_log {self.folder}/error.log;
events {{}}
http {{ access_log off; {folders} {"" if "client_max_body_size" in http + server else "client_max_body_size 0;"} {http}
  server {{ listen 127.0.0.1:{self.port.number} {secure}; proxy_http_version 1.1; proxy_set_header Host $http_host; {server}
    location / {{ {location} proxy_pass {upstream or self.upstream}; }} }} }}
""")
        self.process = self.port.serve([self.program, "-c", self.folder / "nginx.conf"], self.folder / "start.log")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """SIGKILL: what is under way is reset."""
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def close(self) -> None:
        self.stop()
        self.port.close()
