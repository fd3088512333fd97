"""A handler as web applications have it: a request, a session, and a callback that sends the answer."""

import fluxloop


async def handle(data: dict, session_id: str, send_message_callback) -> None:
    fluxloop.record_call_args(
        "desk.handler:handle", data=data, session_id=session_id, send_message_callback=send_message_callback
    )
    if not data["content"].strip("?! "):
        raise ValueError("nothing to answer")
    await send_message_callback(f"{session_id}: {data['content']} is noted.")
