"""ptpkg, twine and uv publish to the package indexes that people run, pypiserver and devpi: the same is there at the end, the same
file again is success, other bytes are a conflict, what is cut is made good; and pip and uv install from it.
"""

import pathlib
import shutil
import subprocess
import tempfile

import harness
import servers_test
from servers import faults, real_indexes
from servers.real_indexes import PASSWORD, USER, Devpi, Pypiserver

CUTS = {
    "cut before the body": lambda n: faults.Cut(when="head", number=n),
    "cut in the middle of the body": lambda n: faults.CutInBody(number=n),
    "carried out, no answer": lambda n: faults.Cut(when="answer", number=n),
    "answer 500": lambda n: faults.Status(500, when="answer", number=n),
    "answer cut in its middle": lambda n: faults.TruncatedAnswer(None, number=n),
}


class Case(servers_test.Clients):
    def flags(self, index, front=None) -> list[str]:
        """front: a proxy before it."""
        upload, simple = index.upload_url, index.simple_url
        if front:
            upload, simple = (front.url + url.removeprefix(index.url if isinstance(index, Pypiserver) else self.devpi.url)
                              for url in (upload, simple))
        return ["--to", "pypi:ours", "--server", upload, "--check-url", simple]

    def publish(self, index, wheel, *more, front=None, exit_code=0, password=PASSWORD) -> str:
        done = self.ptpkg("publish", wheel, *self.flags(index, front), *more, exit_code=exit_code, HOME=str(self.scratch),
                          TWINE_USERNAME=USER, TWINE_PASSWORD=password)
        self.assertNotIn(PASSWORD, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def twine(self, index, wheel) -> None:
        self.client(harness.peer_program("twine"), "upload", "--non-interactive", "--disable-progress-bar", "-u", USER, "-p", PASSWORD,
                    "--repository-url", index.upload_url, wheel)

    def uv(self, index, wheel) -> None:
        self.client(harness.peer_program("uv"), "publish", "--trusted-publishing", "never", "--username", USER, "--password", PASSWORD,
                    "--publish-url", index.upload_url, "--check-url", index.simple_url, wheel)

    def folder(self) -> pathlib.Path:
        return pathlib.Path(tempfile.mkdtemp(dir=self.scratch))


class Indexes:
    """The tests of both; index() gives an empty index."""

    def test_the_same_as_twine_and_uv_leave_and_it_installs(self):
        wheel, states = self.wheel(), []
        for client in (self.twine, self.uv, self.publish):
            index = self.index()
            client(index, wheel)
            states.append(index.state())
        self.assertEqual(states[0]["files"], {wheel.name: harness.sha256(wheel)})
        self.assertEqual(states[2], states[0])
        self.assertEqual(states[2], states[1])
        self.assert_installs_from(index, wheel)

    def test_once_and_only_once(self):
        wheel, other, index = self.wheel(), self.wheel("x = 2\n"), self.index()
        with faults.Proxy(self.root(index)) as front:
            self.assertIn(": sent", self.publish(index, wheel, front=front))
            asked = len(front.requests)
            self.assertIn(": there already", self.publish(index, wheel, front=front))
            said = self.publish(index, other, front=front, exit_code=7)
            self.assertIn(harness.sha256(wheel), said)
            self.assertIn(harness.sha256(other), said)
            self.assertNotIn("POST", {one.method for one in front.requests[asked:]})
        self.assertEqual(index.files(), {wheel.name: harness.sha256(wheel)})

    def test_a_name_that_is_taken_meanwhile(self):
        """The page is older than the upload: the server itself says that there is a file."""
        wheel, other = self.wheel(), self.wheel("x = 2\n")
        for sent, exit_code in ((wheel, 0), (other, 7)):
            with self.subTest(exit_code=exit_code):
                index = self.index()
                self.twine(index, wheel)
                with faults.Proxy(self.root(index), faults=[faults.Status(404, method="GET")]) as front:
                    said = self.publish(index, sent, front=front, exit_code=exit_code)
                    self.assertEqual([one.method for one in front.requests], ["GET", "POST", "GET"])
                self.assertEqual(harness.sha256(other) in said, exit_code == 7)
                self.assertEqual(index.files(), {wheel.name: harness.sha256(wheel)})

    def test_a_wrong_password(self):
        index = self.index()
        self.assertIn("ptpkg explain publishing", self.publish(index, self.wheel(), exit_code=7, password="wrong"))
        self.assertEqual(index.files(), {})

    def test_each_request_is_cut_in_turn(self):
        print(flush=True)
        wheel = self.wheel()
        for name, fault in CUTS.items():
            at_once = 0
            for number in (1, 2, 3):
                with self.subTest(name, request=number):
                    index = self.index()
                    if name == "cut in the middle of the body" and number != 2:
                        continue
                    with faults.Proxy(self.root(index), faults=[fault(number)]) as front:
                        self.assertIn(": sent", self.publish(index, wheel, front=front).replace("there already", "sent"))
                        self.assertEqual([one.number for one in front.requests if one.fault], [number])
                        at_once += 1
                    self.assertEqual(index.files(), {wheel.name: harness.sha256(wheel)})
                    self.assertIn(": there already", self.publish(index, wheel))
            print(f"{type(self).__name__}: {name}: {at_once} went well at once", flush=True)

    def test_two_publishers_of_the_same_file(self):
        wheel, index = self.wheel(), self.index()
        running = [subprocess.Popen([harness.Settings.ptpkg, "publish", wheel, *self.flags(index)], cwd=self.scratch, text=True,
                                    env=self.environment(HOME=str(self.scratch), TWINE_USERNAME=USER, TWINE_PASSWORD=PASSWORD),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(2)]
        for process in running:
            said = process.communicate()[0]
            self.assertEqual(process.returncode, 0, said)
        self.assertEqual(index.files(), {wheel.name: harness.sha256(wheel)})


class PypiserverTest(Indexes, Case):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = tempfile.mkdtemp(prefix="ptpkg-pypiserver-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.server = Pypiserver(pathlib.Path(folder))
        cls.addClassCleanup(cls.server.stop)

    def index(self) -> Pypiserver:
        self.server.empty()
        return self.server

    def other(self, *flags: str, **options) -> Pypiserver:
        server = Pypiserver(self.folder(), *flags, **options)
        self.addCleanup(server.stop)
        return server

    def root(self, index) -> str:
        return index.url

    def test_pages_that_tell_no_sha256(self):
        for flag in ("md5", "off"):
            with self.subTest(flag):
                wheel, index = self.wheel(), self.other("--hash-algo", flag)
                self.assertIn(": sent", self.publish(index, wheel))
                self.assertNotIn("sha256", real_indexes.ask(index.simple_url + "toy-pure/").decode())
                self.assertIn(": there already", self.publish(index, wheel))
                for code in ("x = 2\n", "x = 1000\n"):
                    self.assertIn("has a different", self.publish(index, self.wheel(code), exit_code=7))

    def test_what_the_index_behind_it_has_is_not_there(self):
        wheel = self.wheel()
        behind = self.index()
        self.publish(behind, wheel)
        index = self.other(fallback=behind.url + "/simple")
        self.assertIn(wheel.name, real_indexes.ask(index.simple_url + "toy-pure/").decode())
        self.assertIn(": sent", self.publish(index, wheel))
        self.assertEqual(index.files(), {wheel.name: harness.sha256(wheel)})


class DevpiTest(Indexes, Case):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = tempfile.mkdtemp(prefix="ptpkg-devpi-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.devpi = Devpi(pathlib.Path(folder))
        cls.addClassCleanup(cls.devpi.stop)

    def index(self, **options) -> real_indexes.DevpiIndex:
        return self.devpi.index(**options)

    def root(self, index) -> str:
        return self.devpi.url

    def test_an_index_that_is_missing(self):
        index = real_indexes.DevpiIndex(f"{self.devpi.url}/{USER}/none")
        self.assertIn("404", self.publish(index, self.wheel(), exit_code=4))

    def test_two_publishers_of_other_bytes(self):
        """One of them wins, and the other one is told what is there."""
        index = self.index()
        wheels = [self.wheel(f"x = {number}\n") for number in (1, 2)]
        running = [subprocess.Popen([harness.Settings.ptpkg, "publish", wheel, *self.flags(index)], cwd=self.scratch, text=True,
                                    env=self.environment(HOME=str(self.scratch), TWINE_USERNAME=USER, TWINE_PASSWORD=PASSWORD),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for wheel in wheels]
        said = [process.communicate()[0] for process in running]
        codes = [process.returncode for process in running]
        self.assertEqual(sorted(codes), [0, 7], said)
        won = wheels[codes.index(0)]
        self.assertEqual(index.files(), {won.name: harness.sha256(won)})
        for wheel in wheels:
            self.assertIn(harness.sha256(wheel), said[codes.index(7)])


if __name__ == "__main__":
    harness.main()
