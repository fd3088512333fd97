"""What every Python script of the matrix has in common: its command line, its report, and the log of the tap."""

import json
import os
import sys
import urllib.request

ERA, LOG, *SERVER = sys.argv[1:]
VERSION = "2025-11-25" if ERA == "legacy" else "2026-07-28"

# Over HTTP, SERVER is an address; tap_http.py says what else there is to know.
SERVED = json.loads(os.environ.get("SERVED", "null"))

ANSWERS = {
    "destination": "Lisbon",
    "departure": "2035-05-01",
    "return": "2035-05-08",
    "travellers": 2,
    "class": "business",
    "confirm": True,
}

PROJECT = {"name": "Matrix", "description": "Made by a client.", "template": "landing"}
HEADING = {"type": "heading", "props": {"text": "Hello", "level": 2}}


def report(client, check, status, note=""):
    note = " ".join(str(note).split())
    print(json.dumps({"client": client, "era": ERA, "check": check, "status": status, "note": note}), flush=True)


def log(marks):
    with open(LOG, "rb") as lines:
        return [(chr(line[0]), json.loads(line[2:])) for line in lines if chr(line[0]) in marks]


def wire():
    """Everything said so far, as (">" or "<", message): ">" is from the client."""
    return log("><")


def traffic():
    """What HTTP said so far: requests, answers, ends of connections."""
    return [facts for _, facts in log("*")]


def ask_server(method, path, key, **headers):
    """A request that does not go through the tap: (status, text)."""
    headers |= {"Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"http://{SERVED['server']}{path}", method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.read().decode()


def figure(name):
    """One of the server's figures. What was not counted yet is none."""
    _, page = ask_server("GET", "/metrics", SERVED["admin"])
    values = [line.rpartition(" ")[2] for line in page.splitlines() if line.rpartition(" ")[0] == name]
    return int(values[0]) if values else 0


def expect(holds, what):
    """Like `assert`, but says what was wrong."""
    if not holds:
        raise AssertionError(what)


def expect_fortune(fortune):
    expect(fortune and fortune.keys() == {"category", "mood", "fortune"}, f"structured content: {fortune}")
    expect(fortune["category"] == "career", f"category: {fortune}")


def expect_booking(booking):
    wanted = {name: answer for name, answer in ANSWERS.items() if name != "confirm"}
    expect(booking and wanted.items() <= booking.items() and booking["reference"], f"structured content: {booking}")
