# SPDX-License-Identifier: Apache-2.0
"""
A page in headless Chromium, driven through chromedriver's HTTP interface by the
standard library alone.  Nothing is fetched: pages are files.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]


class Browser:
    def __init__(self, width=1280, height=800, dark=False):
        self.profile = tempfile.mkdtemp(prefix="krtsan-page-")
        self.process = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TMPDIR": self.profile},
        )
        self.session = None
        try:
            for line in self.process.stdout:
                if "successfully on port" in line:
                    self.base = f"http://127.0.0.1:{line.rsplit(None, 1)[1].strip('.')}"
                    break
            flags = FLAGS + [
                f"--user-data-dir={self.profile}/data",
                f"--window-size={width},{height}",
            ]
            if dark:
                flags.append("--force-dark-mode")
            caps = {
                "browserName": "chrome",
                "goog:chromeOptions": {"args": flags, "binary": shutil.which("chromium")},
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": caps}})[
                "sessionId"
            ]
            if dark:
                self.cdp(
                    "Emulation.setEmulatedMedia",
                    features=[{"name": "prefers-color-scheme", "value": "dark"}],
                )
            self.cdp(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=height,
                deviceScaleFactor=1,
                mobile=False,
            )
        except BaseException:
            self.close()
            raise

    def call(self, method, path, body=None):
        if self.session:
            path = f"/session/{self.session}{path}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(f"{method} {path}: {json.load(e)['value']['message']}") from None

    def cdp(self, cmd, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": cmd, "params": params})

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def js(self, text, *args):
        return self.call("POST", "/execute/sync", {"script": text, "args": list(args)})

    def find(self, css):
        return self.call("POST", "/elements", {"using": "css selector", "value": css})

    def click(self, css, nth=0):
        self.call("POST", f"/element/{self.find(css)[nth][ELEMENT]}/click", {})

    def type(self, css, text):
        self.call("POST", f"/element/{self.find(css)[0][ELEMENT]}/value", {"text": text})

    def text(self, css):
        return self.js(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", css
        )

    def at(self, x, y, kind="click"):
        """A real pointer at a place of the window."""
        do = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]
        if kind == "click":
            do += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call(
            "POST",
            "/actions",
            {
                "actions": [
                    {
                        "type": "pointer",
                        "id": "mouse",
                        "parameters": {"pointerType": "mouse"},
                        "actions": do,
                    }
                ]
            },
        )

    def wheel(self, x, y, delta):
        self.call(
            "POST",
            "/actions",
            {
                "actions": [
                    {
                        "type": "wheel",
                        "id": "wheel",
                        "actions": [
                            {
                                "type": "scroll",
                                "x": int(x),
                                "y": int(y),
                                "deltaX": 0,
                                "deltaY": delta,
                                "duration": 0,
                            }
                        ],
                    }
                ]
            },
        )

    def log(self):
        """What the page complained of: errors of scripts, refused loads."""
        return [e["message"] for e in self.call("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            if self.session:
                self.call("DELETE", "")
        except Exception:
            pass
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
