"""Drives Chromium without a window through its DevTools protocol, over pipes: no port, no driver, no library.

One message is one line of JSON that ends with NUL; https://chromedevtools.github.io/devtools-protocol lists them.
"""

import base64
import json
import os
import pathlib
import select
import subprocess
import time

import harness

PROGRAM = "chromium-headless-shell"
TIMEOUT_S = 60
KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), " ": (32, " "), "ArrowLeft": (37, ""), "ArrowUp": (38, ""),
        "ArrowRight": (39, ""), "ArrowDown": (40, "")}


class Browser:
    """A process of its own, with a profile in `folder`. Use as a context."""

    def __init__(self, folder: pathlib.Path):
        program = harness.tool(PROGRAM)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        flags = ["--remote-debugging-pipe", f"--user-data-dir={folder}", "--disable-gpu", "--hide-scrollbars", "--mute-audio"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium refuses to make its sandbox as root
        # The protocol has to be at the descriptors 3 and 4.
        self._process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", program, *flags],
                                         pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._last_id = 0
        self.contexts: list[str] = []
        self.events: list[dict] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            harness.kill_all(self._process)
            self._process.wait()

    def new_target(self) -> str:
        """An empty page that shares no storage with others."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        self.contexts.append(context)
        return self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]

    def close_pages(self) -> None:
        """All pages are closed, and their events forgotten."""
        for context in self.contexts:
            self.call("Target.disposeBrowserContext", browserContextId=context)
        self.contexts.clear()
        self.events.clear()

    def _message(self, deadline: float) -> dict:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            block = os.read(self._read, 1 << 20) if ready else b""
            if not block:
                raise AssertionError("the browser ended" if ready else f"the browser says nothing for {TIMEOUT_S} s")
            self._rest += block
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, session: str | None = None, **params):
        """The result of one call; events that come meanwhile go to `events`."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)


class Page:
    """A file, shown in a window of this size."""

    def __init__(self, browser: Browser, path: pathlib.Path, width: int, height: int = 1000, dark: bool = False):
        self.browser = browser
        target = browser.new_target()
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}, {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("Boolean(document.documentElement?.dataset.state)")

    def call(self, method: str, **params):
        return self.browser.call(method, self.session, **params)

    def value(self, expression: str):
        """What the expression, or the promise that it is, gives."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, expression: str):
        deadline = time.monotonic() + TIMEOUT_S
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {TIMEOUT_S} s: {expression}")
            time.sleep(0.02)

    def _drawn(self):
        """Observers of sizes and of what is in sight have been called."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def click(self, selector: str):
        """The mouse, in the middle of the first such element."""
        place = self.value(f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
                           "if (!one) return null; one.scrollIntoView({block: 'center'});"
                           "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()")
        if place is None:
            raise AssertionError(f"nothing is '{selector}'")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left" if kind != "mouseMoved" else "none", clickCount=1)
        self._drawn()

    def press(self, key: str):
        code, text = KEYS[key]
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self._drawn()

    def type(self, selector: str, text: str):
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)
        self._drawn()

    def scroll(self, selector: str):
        self.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView()")
        self._drawn()

    def screenshot(self, path: pathlib.Path):
        """Of the whole page, not of the window alone."""
        height = self.value("document.documentElement.scrollHeight")
        width = self.value("window.innerWidth")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))

    def problems(self) -> list[str]:
        """Errors and warnings of the console, and what no code caught."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", params["exceptionDetails"]["text"]))
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(f"console: {params['args']}")
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        return [event["params"]["request"]["url"] for event in self.browser.events
                if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"]
