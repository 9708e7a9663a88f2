#!/usr/bin/env python3
"""Opens one page from two origins in headless Chromium and compares what each could do with a relay.

usage: pages.py RELAY_URL SECRET PORT PROFILE_DIRECTORY
"""
import http.server
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading

RELAY, SECRET, PORT, PROFILE = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
DEADLINE = 75  # seconds for Chromium to start and for one page
PAGE = pathlib.Path(__file__).with_name("page.html").read_text()

BLOCKED = {"blocked": True}
# What a page of a listed origin can do; the last two events exceed the limit of two a minute.
ALLOWED = {
    "event": {"status": 200, "sent": 1, "id": "page-1"},
    "health": {"status": 200, "id": "page-2"},
    "initialize": {"status": 200, "version": "2025-06-18"},
    "large": {"status": 413, "code": "body_too_large"},
    "unknown": {"status": 404, "code": "not_found"},
    "limited": {"status": 429, "code": "rate_limited", "retries": True},
    "cookies": BLOCKED,
}
results: "queue.Queue[dict]" = queue.Queue()


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = PAGE.replace("RELAY_URL", json.dumps(RELAY)).replace("RELAY_SECRET", json.dumps(SECRET)).encode()
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if self.path == "/":
            self.wfile.write(page)

    def do_POST(self):
        results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def visit(host: str) -> dict:
    """Opens the page under a host name and returns what its script reports."""
    command = [
        "chromium", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", f"--user-data-dir={PROFILE}-{host}",
        "--host-resolver-rules=MAP *.example 127.0.0.1", "--no-proxy-server",
    ]
    if os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium's sandbox doesn't work as root
    log = open(f"{PROFILE}-{host}.log", "w+")
    browser = subprocess.Popen(
        command + [f"http://{host}:{PORT}/"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        return results.get(timeout=DEADLINE)
    except queue.Empty:
        log.seek(0)
        sys.exit(f"The page at {host} reported nothing within {DEADLINE} s. Chromium printed:\n{log.read()[-2000:]}")
    finally:
        os.killpg(browser.pid, signal.SIGTERM)
        try:
            browser.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait(timeout=10)


def main() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = False
    for host, expected in [
        ("foreign.example", {name: BLOCKED for name in ALLOWED}), ("listed.example", ALLOWED),
    ]:
        got = visit(host)
        for name, value in expected.items():
            if got.get(name) != value:
                failed = True
                print(f"{host}: {name}: expected {value}, got {got.get(name)}", file=sys.stderr)
    server.shutdown()
    if failed:
        sys.exit(1)
    print("A page of a listed origin can use the API and MCP; one of another origin can't.")


main()
