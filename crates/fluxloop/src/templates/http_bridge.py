"""Hands one input of FluxLoop to the running program, over HTTP, and gives back what it answers.

The program must be running. AGENT_URL says where; AGENT_TIMEOUT how many seconds to wait.
"""

import json
import os
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("AGENT_URL", @URL@)
TIMEOUT = float(os.environ.get("AGENT_TIMEOUT", "60"))
# The program is on this machine: no proxy.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def run(message: str) -> str:
    try:
        with _opener.open(_request(message), timeout=TIMEOUT) as answer:
            text = answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        detail = error.read().decode("utf-8", "replace")[:500]
        raise RuntimeError(f"{URL} answered {error.code}: {detail}") from error
    except urllib.error.URLError as error:
        raise RuntimeError(f"{URL} cannot be reached: {error.reason}") from error
    return _reply(text)


def _request(message: str) -> urllib.request.Request:
@REQUEST@


def _reply(text: str) -> str:
    """The text of an answer: a field of a JSON object, the pieces of a stream, or all of it."""
    try:
        answer = json.loads(text)
    except ValueError:
        return _joined(text) or text
    reply = @PICK@
    if reply is answer and isinstance(answer, dict) and (answer.get("error") or answer.get("success") is False):
        raise RuntimeError(f"the program answered: {text[:500]}")
    return _plain(reply)


def _plain(reply) -> str:
    """The text in a reply: itself, a message's content, or all of it as JSON."""
    if isinstance(reply, dict) and isinstance(reply.get("choices"), list) and reply["choices"]:
        reply = reply["choices"][0].get("message", reply)
    if isinstance(reply, dict):
        texts = [reply.get(key) for key in ("content", "text")]
        reply = next((text for text in texts if isinstance(text, str)), reply)
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def _joined(text: str) -> str:
    """Pieces of text in a stream of events: `data: {"type": "text-delta", "delta": "…"}`, or `0:"…"`."""
    pieces = []
    for line in text.splitlines():
        kind, _, rest = line.partition(":")
        try:
            event = json.loads(rest)
        except ValueError:
            continue
        if kind == "0" and isinstance(event, str):
            pieces.append(event)
        elif kind == "data" and isinstance(event, dict):
            piece = event.get("delta", event.get("text"))
            if isinstance(piece, str):
                pieces.append(piece)
    return "".join(pieces)
