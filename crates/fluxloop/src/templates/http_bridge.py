"""Hands one input of FluxLoop to the running program, over HTTP, and gives back what it answers.

The program must be running. AGENT_URL says where; AGENT_TIMEOUT how many seconds to wait.
"""

import ast
import json
import os
import urllib.error
import urllib.parse
import urllib.request
@IMPORTS@
URL = os.environ.get("AGENT_URL", @URL@)
TIMEOUT = float(os.environ.get("AGENT_TIMEOUT", "60"))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # What it leads to, such as a login page, is no answer.


# The program is on this machine: no proxy.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def run(message: str) -> str:
    try:
        with _opener.open(_request(message), timeout=TIMEOUT) as answer:
            text = _read(answer)
    except urllib.error.HTTPError as error:
        to = error.headers.get("location")
        why = f" (a redirect to {to}; is a login needed?)" if to else ""
        detail = error.read().decode("utf-8", "replace")[:500]
        raise RuntimeError(f"{URL} answered {error.code}{why}: {detail}") from error
    except urllib.error.URLError as error:
        raise RuntimeError(f"{URL} cannot be reached: {error.reason}") from error
    return _reply(text)


def _read(answer) -> str:
    """A stream may stay open after its last piece: what has come by then is the answer."""
    pieces = []
    try:
        while piece := answer.read1(65536):
            pieces.append(piece)
    except TimeoutError:
        if not pieces:
            raise
    return b"".join(pieces).decode("utf-8", "replace")


def _request(message: str) -> urllib.request.Request:
@REQUEST@
@HELPERS@

def _reply(text: str) -> str:
    """The text of an answer: a field of a JSON object, the pieces of a stream, or all of it."""
@ANSWER@
