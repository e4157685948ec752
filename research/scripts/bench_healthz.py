"""How long /healthz takes while ten bodies of 19.8 MB arrive: python research/scripts/bench_healthz.py

The sender is a process of its own, so that it does not hold up the clock. Three turns.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

BODIES, TURNS = 10, 3


def body() -> bytes:
    return json.dumps({"text": "word [http://a.example x] " * 760_000, "title": "T"}).encode()


def send(url: str) -> None:
    """Send the bodies at once and print the status of each reply."""
    content, found = body(), []

    def post() -> None:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/api/v1/verify", content, headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                found.append(reply.status)
        except urllib.error.HTTPError as error:
            found.append(error.code)

    threads = [threading.Thread(target=post) for _ in range(BODIES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*found)


def asked(url: str) -> float:
    began = time.perf_counter()
    with urllib.request.urlopen(f"{url}/healthz", timeout=30) as reply:
        reply.read()
    return time.perf_counter() - began


def main() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, folder = f"http://127.0.0.1:{port}", tempfile.mkdtemp()
    environment = os.environ | {"XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder}
    command = [sys.executable, "-m", "pincite", "serve", "--port", str(port)]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                asked(url)
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        for _ in range(TURNS):
            sender = subprocess.Popen(
                [sys.executable, __file__, url], stdout=subprocess.PIPE, text=True
            )
            times = []
            while sender.poll() is None:
                times.append(asked(url) * 1000)
                time.sleep(0.01)
            times.sort()
            assert sender.stdout
            print(f"p50 {times[len(times) // 2]:.0f} ms, most {times[-1]:.0f} ms", end="; replies ")
            print(sender.stdout.read().strip())
    finally:
        server.terminate()


if __name__ == "__main__":
    send(sys.argv[1]) if len(sys.argv) > 1 else main()
