"""What every Python script of the matrix has in common: its command line, its report, and the log of the tap."""

import json
import sys

ERA, LOG, *SERVER = sys.argv[1:]
VERSION = "2025-11-25" if ERA == "legacy" else "2026-07-28"

ANSWERS = {
    "destination": "Lisbon",
    "departure": "2035-05-01",
    "return": "2035-05-08",
    "travellers": 2,
    "class": "business",
    "confirm": True,
}


def report(client, check, status, note=""):
    note = " ".join(str(note).split())
    print(json.dumps({"client": client, "era": ERA, "check": check, "status": status, "note": note}), flush=True)


def wire():
    """Everything said so far, as (">" or "<", message): ">" is from the client."""
    with open(LOG, "rb") as log:
        return [(chr(line[0]), json.loads(line[2:])) for line in log]


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
