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


class OpenStream(str):
    """A stream that the program does not end."""


def events(*values, done="[DONE]"):
    """A stream of server-sent events."""
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values) + (f"data: {done}\n\n" if done else "")


# The body of the answer, or its status, and the text that FluxLoop has to get. `None`: the call has to fail.
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
    ({"response": {"id": "1"}, "output": "Hi."}, "Hi."),
    ({"delta": {}, "messages": [], "message": "Hi."}, "Hi."),
    # A conversation as pairs; lines.
    ({"messages": [[0, "Ho."], [1, "<p>Hi.</p>"]]}, "<p>Hi.</p>"),
    ([["user", "Ho."], ["assistant", "Hi."]], "Hi."),
    ([["Ho.", "Hi."]], "Hi."),
    ({"choices": [{"message": {"content": "Ho."}}, {"message": {"content": "Hi."}}]}, "Hi."),
    (["H", "i."], "H\ni."),
    ({"answer": ["H", "i."]}, "H\ni."),
    # A stream of one line is JSON.
    ({"token": "Hi."}, "Hi."),
    ({"delta": "Hi."}, "Hi."),
    ({"chunk": {"text": "Hi."}}, "Hi."),
    ({"type": "text", "text": "Hi."}, "Hi."),
    ({"token": "abc", "message": "Hi."}, "Hi."),
    # The field for the answer is empty.
    ({"role": "assistant", "content": "", "image": None}, ""),
    ({"content": "", "text": "Hi."}, "Hi."),
    ({"content": "", "final_answer": "Hi."}, "Hi."),
    ([{"role": "user", "content": "Ho."}, {"role": "assistant", "content": ""}], ""),
    # Nothing says which of several is the answer: all of it, as JSON.
    ({"sky": "blue", "sea": "green"}, '{"sky": "blue", "sea": "green"}'),
    ({"error": "no key"}, None),
    ({"status": "blocked", "report": None, "next_action": "wait"}, None),
    ({"success": False, "reason": "no key"}, None),
    ({"type": "error", "content": "no key"}, None),
    (None, None),
    # A failure, or a redirect such as to a login page, is no answer.
    (500, None),
    (302, None),
    (307, None),
    (303, None),
    # Values that are no text.
    ([], "[]"),
    ([None], "[null]"),
    (True, "true"),
    (b"42", "42"),
    ([{"sky": "blue"}, {"sea": "green"}], '[{"sky": "blue"}, {"sea": "green"}]'),
    # Plain text.
    (b"Hi.", "Hi."),
    (b"One: two.\nThree.", "One: two.\nThree."),
    (b"0: none\n3: three", "0: none\n3: three"),
    (b"{not JSON}\n{nor this}", "{not JSON}\n{nor this}"),
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
    (lines('{"token": "H"}\r', '{"token": "\u2028i."}\r'), "H\u2028i."),
    (lines("data: H\u2028", "", "data: i."), "H\u2028i."),
    (lines("data: [Hi", "", "data: ](x)"), "[Hi](x)"),
    (events({"choices": [{"delta": {"content": "{"}}]}, {"choices": [{"delta": {"content": "}"}}]}), "{}"),
    (events({"sources": ["a"]}, {"choices": [{"x": 1}]}, {"delta": "Hi."}, [1], done=None), "Hi.[1]"),
    (lines("event: error", 'data: {"message": "no key"}', ""), None),
    (lines("event: error", "data: no key", ""), None),
    # What others say, and all of the answer so far in each line.
    (lines('{"role": "user", "content": "Ho."}', '{"role": "model", "content": "Hi."}'), "Hi."),
    (
        lines(
            '{"role": "user", "timestamp": "1", "content": "Hi"}',
            '{"role": "model", "timestamp": "2", "content": "Hi"}',
            '{"role": "model", "timestamp": "2", "content": "Hi."}',
        ),
        "Hi.",
    ),
    (
        events(
            {"type": "system", "content": "v1"},
            {"type": "human", "content": "Ho."},
            {"type": "message", "role": "tool", "content": "x"},
            {"type": "ai", "content": "Hi."},
        ),
        "Hi.",
    ),
]
# A field that only this program has; one of several fields holds the text, and ids are none.
ANSWERS += [
    (events({"promptResponse": "H"}, {"promptResponse": "i."}, {}, done=None), "Hi."),
    (events({"chars": "H"}, {"chars": "i."}), "Hi."),
    (lines('{"content": "H"}', '{"content": "i."}', '{"message": "Stream complete"}'), "Hi."),
    (
        events(
            {"type": "message_start", "message": {"reply_to": "9f1c", "model": "m"}},
            {"type": "message_content", "content": {"type": "text", "text": "Hi."}},
        ),
        "Hi.",
    ),
    ({"query": "Ho.", "summary": "Hi.", "findings": [], "session_id": "s"}, "Hi."),
    ({"reply_to": "9f1c", "bot_reply": "Hi."}, "Hi."),
    (events({"sources": ["a"]}, {"done": True}), None),
    ({"data": {"session_id": "s", "review": "Looks good.", "severity": "low"}}, "Looks good."),
    ({"messages": [{"role": "user", "text": "Ho."}, {"role": "assistant", "text": "Hi."}]}, "Hi."),
    (
        {"id": 7, "summary": {"score": 8, "found": "By name and place"}, "rows": [1]},
        '{"id": 7, "summary": {"score": 8, "found": "By name and place"}, "rows": [1]}',
    ),
    # A text with a line that looks like one of a stream.
    (b"Use this:\ndata: hello\nand restart.", "Use this:\ndata: hello\nand restart."),
    (b'Send this:\n{"name": "bob"}\nto it.', 'Send this:\n{"name": "bob"}\nto it.'),
    (b"data: In\nlines.\n\ndata:  two", "In two"),
    (lines("event: done", "data: {}", ""), None),
    (OpenStream(events({"delta": "H"}, {"delta": "i."}, done=None)), "Hi."),
]
# What only programs in Python send: dictionaries as Python prints them.
PYTHON_ANSWERS = [(lines("data: {'content': 'H'}", "", "data: {'content': 'i.'}"), "Hi.")]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the body whose number is the message, or with the status that stands in its place."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = (ANSWERS + PYTHON_ANSWERS)[int(request["message"])][0]
        status = body if type(body) is int else 200
        if isinstance(body, OpenStream):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())
            self.wfile.flush()
            self.server.is_over.wait()
            return
        is_stream = isinstance(body, str) and "\n" in body
        text = body if isinstance(body, bytes) else (body if is_stream else json.dumps(body)).encode()
        self.answer(status, text)

    def do_GET(self):
        self.answer(200, b"Please log in.")

    def answer(self, status, text):
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("location", "/login")
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
    # Not `splitlines`: an answer may have other line separators in it.
    answers = [json.loads(line) for line in done.stdout.strip().split("\n")]
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
        server.is_over = threading.Event()
        server.daemon_threads = True
        env = {**os.environ, "AGENT_URL": f"http://127.0.0.1:{server.server_port}/", "AGENT_TIMEOUT": "3"}
        asked = [("python", ANSWERS + PYTHON_ANSWERS, ask_python(bridge(binary, "0.3", work), env))]
        if shutil.which("node"):
            asked.append(("node", ANSWERS, ask_node(bridge(binary, "0.4", work), env)))
        server.is_over.set()
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
    if expected == answer or not expected or not answer:
        return expected == answer
    try:
        return json.loads(expected) == json.loads(answer)
    except ValueError:
        return False
