"""What FluxLoop calls: sends one input through the program's route, in this process, and gives back the answer."""

import json
@IMPORTS@import sys
from pathlib import Path

# The program's own modules, from wherever FluxLoop is started.
sys.path.insert(0, str(Path(__file__).resolve().parents[@UP@]@FOLDER@))

@SETUP@


@RUN@


def _reply(status: int, text: str) -> str:
    if status >= 400:
        raise RuntimeError(f"@ROUTE@ answered {status}: {text[:500]}")
    try:
        answer = json.loads(text)
    except ValueError:
        return _joined(text) or text
    reply = @PICK@
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
