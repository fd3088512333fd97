"""What the bridges make of an answer: the text that a person would read, or an error.

Each body is what a real kind of program sends. The Python bridge and the Node bridge have to agree on all of them.
"""

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def lines(*texts):
    return "\n".join(texts) + "\n"


def events(*values, done="[DONE]"):
    """A stream of server-sent events."""
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values) + (f"data: {done}\n\n" if done else "")


# The body of the answer, and the text that FluxLoop has to get. `None`: the call has to fail.
ANSWERS = [
    # JSON: the field that an answer usually is in, at any depth.
    ({"answer": "Hi."}, "Hi."),
    ({"final_answer": "Hi.", "steps": ["a"]}, "Hi."),
    ({"botReply": "Hi.", "session": "s"}, "Hi."),
    ({"data": {"response": {"content": "Hi."}}, "message": "ok"}, "Hi."),
    ({"value": "Hi.", "annotations": []}, "Hi."),
    ({"messages": [{"role": "user", "content": "Ho."}, {"role": "assistant", "content": "Hi."}]}, "Hi."),
    ({"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}, "Hi."),
    ({"content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i."}]}, "Hi."),
    ([{"generated_text": "Hi."}], "Hi."),
    ("Hi.", "Hi."),
    # Nothing says which of several is the answer: all of it, as JSON.
    ({"sky": "blue", "sea": "green"}, '{"sky": "blue", "sea": "green"}'),
    ({"error": "no key"}, None),
    ({"success": False, "reason": "no key"}, None),
    # Plain text.
    (b"Hi.", "Hi."),
    (b"One: two.\nThree.", "One: two.\nThree."),
    # Streams.
    (events({"delta": "H"}, {"delta": "i."}), "Hi."),
    (events({"choices": [{"delta": {"content": "H"}}]}, {"choices": [{"delta": {"content": "i."}}]}), "Hi."),
    (events({"choices": [{"delta": {"role": "assistant"}}]}, {"choices": [{"delta": {"content": "Hi."}}]}), "Hi."),
    (lines("data: H", "", "data: i.", "", "data: [DONE]"), "Hi."),
    (lines("data: In ", "", "data: 2024", "", "data: .", "", "data: [END]"), "In 2024."),
    (events("H", "i."), "Hi."),
    (events({"text": "H"}, {"text": "Hi"}, {"text": "Hi."}), "Hi."),
    (events({"token": "H"}, {"token": "i"}, {"token": "."}, {"done": True, "answer": "Hi."}), "Hi."),
    (
        events(
            {"type": "status", "content": "thinking"},
            {"type": "token", "content": "H"},
            {"type": "token", "content": "i."},
            {"type": "sources", "content": ["a"]},
            {"type": "done", "content": "Hi."},
        ),
        "Hi.",
    ),
    (
        events(
            {"type": "start", "messageId": "1"},
            {"type": "reasoning-delta", "id": "0", "delta": "hm"},
            {"type": "text-start", "id": "0"},
            {"type": "text-delta", "id": "0", "delta": "H"},
            {"type": "text-delta", "id": "0", "delta": "i."},
            {"type": "finish"},
        ),
        "Hi.",
    ),
    (
        lines(
            "event: message_start",
            'data: {"type": "message_start", "message": {"content": []}}',
            "",
            "event: content_block_delta",
            'data: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi."}}',
            "",
            "event: message_stop",
            'data: {"type": "message_stop"}',
        ),
        "Hi.",
    ),
    (lines("event: progress", "data: searching", "", "event: answer", "data: Hi.", ""), "Hi."),
    (lines('0:"H"', '0:"i."', 'd:{"finishReason":"stop"}'), "Hi."),
    (lines('3:"An error occurred."'), None),
    (events({"type": "error", "errorText": "no key"}), None),
    (events({"error": "no key"}), None),
    (lines('{"response": "H", "done": false}', '{"response": "i.", "done": true}'), "Hi."),
]
# What only programs in Python send: dictionaries as Python prints them.
PYTHON_ANSWERS = [(lines("data: {'content': 'H'}", "", "data: {'content': 'i.'}"), "Hi.")]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the body whose number is the message."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = (ANSWERS + PYTHON_ANSWERS)[int(request["message"])][0]
        is_stream = isinstance(body, str) and "\n" in body
        text = body if isinstance(body, bytes) else (body if is_stream else json.dumps(body)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def bridge(binary, line, work):
    """The file that a plan for the Express application writes: in Python for the older lines of FluxLoop."""
    root = work / f"answers-{line}"
    shutil.copytree(HERE / "apps" / "express", root)
    env = {**os.environ, "XDG_DATA_HOME": str(work / "data"), "HOME": str(work)}
    plan = str(work / f"answers-{line}.json")
    subprocess.run([binary, "plan", str(root), "--cli", line, "--out", plan], env=env, check=True, capture_output=True)
    subprocess.run([binary, "apply", plan], env=env, cwd=root, check=True, capture_output=True)
    return next(path for name in ("bridge.mjs", "http_bridge.py") for path in root.rglob(name))


def ask_node(file, env):
    inputs = "".join(json.dumps({"input_text": str(number)}) + "\n" for number in range(len(ANSWERS)))
    done = subprocess.run(["node", str(file)], input=inputs, env=env, text=True, capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [answer["output"] if answer["success"] else None for answer in answers]


def ask_python(file, env):
    program = (
        "import json, http_bridge\n"
        f"for number in range({len(ANSWERS + PYTHON_ANSWERS)}):\n"
        "    try:\n        answer = http_bridge.run(str(number))\n"
        "    except RuntimeError:\n        answer = None\n"
        "    print(json.dumps(answer))\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=file.parent, env=env, text=True, capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_answers(binary, work):
    """How many of the answers came back as something else. Prints each of them."""
    start = time.monotonic()
    failed = 0
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {**os.environ, "AGENT_URL": f"http://127.0.0.1:{server.server_port}/"}
        asked = [("python", ANSWERS + PYTHON_ANSWERS, ask_python(bridge(binary, "0.3", work), env))]
        if shutil.which("node"):
            asked.append(("node", ANSWERS, ask_node(bridge(binary, "0.4", work), env)))
        server.shutdown()
    for name, cases, answers in asked:
        for (body, expected), answer in zip(cases, answers, strict=True):
            if not is_same(expected, answer):
                failed += 1
                print(f"FAIL    answers {name}: {body!r}\n  expected {expected!r}\n  got      {answer!r}")
    status = "FAIL" if failed else "ok"
    what = " and ".join(name for name, *_ in asked)
    print(f"{status:8}{'answers':28}{time.monotonic() - start:6.1f} s  {len(ANSWERS)} bodies, {what}", flush=True)
    return failed


def is_same(expected, answer):
    if expected and answer and expected.startswith("{"):
        return json.loads(expected) == json.loads(answer)
    return expected == answer
