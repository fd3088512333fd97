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
@HELPERS@

def _reply(text: str) -> str:
    """The text of an answer: a field of a JSON object, the pieces of a stream, or all of it."""
@ANSWER@
