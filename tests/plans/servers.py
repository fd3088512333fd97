"""What listens while a case runs: the stub of the model, the stand-in for an application, and real applications."""

import contextlib
import errno
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections import defaultdict

START_LIMIT = 300  # Seconds until an application has to listen; development servers compile first.
PATIENCE = 120  # Seconds for a port to become free.
ports = defaultdict(threading.Lock)  # Plans name fixed ports: cases that share one take turns.


class Refused(Exception):
    """The status to answer with, and why."""


class JsonHandler(http.server.BaseHTTPRequestHandler):
    """Answers POST with what `answer` of the server makes of the path and the body."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        try:
            status, answer = 200, self.server.answer(self.path, body)
        except Refused as error:
            status, answer = error.args[0], {"error": error.args[1]}
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(answer, port=0):
    """Serves `answer(path, body)` on a loopback port; yields the port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), JsonHandler) as server:
        server.answer = answer
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def complete_chat(path, body):
    """The model: an OpenAI-compatible endpoint that repeats what the user said last."""
    if path != "/v1/chat/completions":
        raise Refused(404, f"no such path: {path}")
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    message = {"role": "assistant", "content": f"stub: {said[-1]}"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}


def stand_in(app):
    """Answers like the route of an application whose toolchain is not there, and takes nothing else."""

    def answer(path, body):
        if path != app.route:
            raise Refused(404, f"the application has {app.route}, not {path}")
        if not isinstance(body.get(app.ask), str):
            raise Refused(400, f"the application takes a text in {app.ask}, not {body}")
        return {app.reply: f"stub: {body[app.ask]}"}

    return answer


@contextlib.contextmanager
def started(command, url, cwd, env, log):
    """Runs a program until the end of the block, which begins when the program listens at the address."""
    with open(log, "wb") as out:
        program = subprocess.Popen(command, cwd=cwd, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        wait_for(url, program, log)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)  # Its children too: npm leaves its own behind.
        program.wait()


def wait_for(url, program, log):
    ended = lambda: program.poll() is not None
    if not until(START_LIMIT, lambda: ended() or listens(url)) or ended():
        raise AssertionError(f"the application does not listen at {url.netloc}:\n{log.read_text()[-2000:]}")


def listens(url):
    with contextlib.suppress(OSError), socket.create_connection((url.hostname, url.port), timeout=1):
        return True
    return False


def becomes_free(port):
    """Whether nobody holds the port, or only for a short while: somebody else may run this stage as well."""
    return until(PATIENCE, lambda: is_free(port))


def is_free(port):
    for family, host in [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]:
        try:
            with socket.create_server((host, port), family=family):
                pass
        except OSError as error:
            if error.errno == errno.EADDRINUSE:  # Anything else: this machine has no such address.
                return False
    return True


def until(seconds, holds):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
