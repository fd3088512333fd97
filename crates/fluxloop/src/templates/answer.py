    try:
        answer = json.loads(text)
    except ValueError:
        return _joined(text)
    reply = @PICK@
    fields = answer if isinstance(answer, dict) else {}
    failed = fields.get("error") or fields.get("success") is False or fields.get("type") == "error"
    if failed and (reply is answer or not _holds(reply)):
        raise RuntimeError(f"the program answered: {text[:500]}")
    return _text(reply)


def _joined(text: str) -> str:
    """Pieces of text in a stream: `data: {"delta": "…"}`, `data: …`, `0:"…"`, or a JSON object on each line."""
    pieces, errors, event_name = [], [], ""
    lines = text.replace("\r\n", "\n").split("\n")
    starts = ("data:", "event:", "id:", "retry:", ":", "{")
    is_stream = text.startswith(starts[:2]) or all(not line or line.startswith(starts) or line[1:2] == ":" for line in lines)
    for line in lines if is_stream else ():
        field, _, rest = line.partition(":")
        rest = rest.removeprefix(" ") if field in ("data", "event") else rest
        event_name = rest if field == "event" else event_name if line else ""
        body = line if line.startswith("{") else rest if field in ("data", "0", "3") else ""
        if not body or body[0] + body[-1] == "[]" and body[1:-1].isalpha():  # such as [DONE]
            continue
        event = _parsed(body)
        fields = event if isinstance(event, dict) else {}
        kinds = (fields.get("type"), fields.get("event"), event_name)
        kind = next((kind for kind in kinds if kind and isinstance(kind, str)), "")
        if any(who in ("user", "human", "system", "tool") for who in (fields.get("role"), kind)):
            continue  # What others say.
        if kind == "error" or set(fields) == {"error"} or field == "3" and isinstance(event, str):
            errors.append(body)
        elif isinstance(event, dict):
            alone = [name for name in event if len(event) == 1 and name not in ("type", "event")]
            likely = [name for name in event if isinstance(event[name], str) and (_is_answer(name) or name in alone)]
            name = next((name for name in (*_PIECES, *likely) if _holds(event.get(name))), None)
            said = _text(event[name]) if name else ""
            if said and (isinstance(event[name], str) or not isinstance(_parsed(said), (dict, list))):  # JSON holds no text
                pieces.append((kind, name, said))
        elif isinstance(event, str) or field == "data":
            pieces.append((kind, "", event if isinstance(event, str) else body))
    if errors and not pieces:
        raise RuntimeError(f"the program answered: {errors[0][:500]}")
    if not pieces and text.startswith(("data:", "event:")):
        raise RuntimeError(f"no text was found in the stream: {text[:500]}")
    if not pieces:
        return text
    texts = _spoken(pieces)
    if len(texts) > 1 and all(after.startswith(before) for before, after in zip(texts, texts[1:])):
        return texts[-1]  # Each is the whole text so far.
    if len(texts) > 2 and texts[-1] == "".join(texts[:-1]):
        return texts[-1]  # At the end all of it comes once more.
    return "".join(texts)


def _parsed(body: str):
    for parse in (json.loads, ast.literal_eval) if body.startswith("{") else (json.loads,):
        try:
            return parse(body)
        except (ValueError, SyntaxError):
            pass
    return None


def _spoken(pieces: list) -> list:
    """What is said, not what is told about it: events of kinds such as `token`, before others."""
    asides = ("reason", "think", "tool", "argument", "status", "error", "progress", "source", "citation", "metadata", "context")
    said = [piece for piece in pieces if not any(word in piece[0].lower() for word in asides)] or pieces
    for words in (("delta", "token", "chunk"), ("text", "content", "answer", "message", "response")):
        found = [piece for piece in said if any(word in piece[0].lower() for word in words)]
        if found:
            said = found
            break
    # All of them in the field that most likely holds the answer; another field tells of the stream.
    names = sorted({name for _, name, _ in said if name}, key=lambda name: (*_PIECES, name).index(name))
    return [text for _, name, text in said if not name or name == names[0]]
@TEXT@


_PIECES = ("delta", "token", "chunk", *_ANSWERS)
