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
