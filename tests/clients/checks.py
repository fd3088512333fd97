"""The checks, in the order of the table, for clients that are Python libraries.

A library is wrapped in an object with `version`, `tools`, `call`, `complete`, `resources`, `read`, `prompts` and
`prompt`; `call` gives (structured content, text of the error or None). Questions of the server go to `Answerer`.
"""

import anyio

from report import ANSWERS, ERA, VERSION, expect, expect_booking, expect_fortune, report, wire

LIMIT = 20  # Seconds for a check that should take one: a hanging client is a failure, not a hanging run.
ENDLESS = {"steps": 1000, "step_ms": 100}


class Answerer:
    """The user behind the client: fills in forms, or declines them."""

    declines = False
    asked = 0

    def answer(self, form):
        """The filled-in form, or None to decline."""
        self.asked += 1
        return None if self.declines else {name: ANSWERS[name] for name in form["properties"]}


async def connect(client, user):
    expect(client.version == VERSION, f"negotiated {client.version}, not {VERSION}")
    return client.version


async def list_tools(client, user):
    names = await client.tools()
    expect({"tell_fortune", "booking"} <= set(names), names)


async def call(client, user):
    fortune, error = await client.call("tell_fortune", {"category": "career"})
    expect(error is None, error)
    expect_fortune(fortune)


async def bad_call(client, user):
    _, error = await client.call("tell_fortune", {"category": "weather"})
    expect(error and "weather" in error and "career" in error, f"a wrong value gave: {error}")
    _, error = await client.call("no_such_tool", {})
    expect(error and "no_such_tool" in error, f"an unknown tool gave: {error}")


async def completion(client, user):
    values = await client.complete("fortune", "category", "c")
    expect(values == ["career"], values)


async def resources(client, user):
    uri = "fluxway://tools/tell_fortune"
    expect(uri in await client.resources(), "not listed")
    expect("tell_fortune" in await client.read(uri), "another text")


async def prompts(client, user):
    expect("fortune" in await client.prompts(), "not listed")
    expect("career" in await client.prompt("fortune", {"category": "career"}), "another text")


async def progress(client, user):
    values = []

    async def on_progress(value, total, message):
        values.append(value)

    _, error = await client.call("wait", {"steps": 3, "step_ms": 20}, on_progress)
    expect(error is None, error)
    expect(values == [1, 2], values)  # The third step ends the call: its progress is the answer.


async def cancel(client, user):
    started, finished = anyio.Event(), []

    async def on_progress(value, total, message):
        started.set()

    async def endless():
        finished.append(await client.call("wait", ENDLESS, on_progress))

    async with anyio.create_task_group() as calls:
        calls.start_soon(endless)
        await started.wait()  # Now there is something to cancel.
        calls.cancel_scope.cancel()
    expect(not finished, f"the cancelled call gave {finished}")

    with anyio.fail_after(5):
        await client.call("tell_fortune", {"category": "career"})
    # Lines come in order, so whoever answered that has read the cancellation. Give it the time to break its silence.
    heard = len(wire())
    await client.call("wait", {"steps": 3, "step_ms": 100})
    said = wire()
    endless = next(m for way, m in said if way == ">" and m.get("params", {}).get("arguments") == ENDLESS)
    told = [m for _, m in said if m.get("method") == "notifications/cancelled"]
    expect([m["params"]["requestId"] for m in told] == [endless["id"]], f"the client cancelled {told}")
    answers = [m for way, m in said if way == "<" and m.get("id") == endless["id"]]
    expect(not answers, f"the server answered the cancelled call: {answers}")
    token = endless["params"]["_meta"]["progressToken"]
    late = [m for way, m in said[heard:] if way == "<" and m.get("params", {}).get("progressToken") == token]
    expect(not late, f"the server went on with the cancelled call: {late}")


def questions(said):
    """How often the server asked: by a request of its own, by a result."""
    requests = sum(way == "<" and m.get("method") == "elicitation/create" for way, m in said)
    results = sum(way == "<" and m.get("result", {}).get("resultType") == "input_required" for way, m in said)
    return requests, results


async def book_asked(client, user):
    user.asked, before = 0, len(wire())
    booking, error = await client.call("booking", {})
    expect(error is None, error)
    expect_booking(booking)
    requests, results = questions(wire()[before:])
    expect((requests, results) == ((5, 0) if ERA == "legacy" else (0, 5)), f"asked by {requests}, {results}")
    expect(user.asked == 5, f"the user was asked {user.asked} times")
    return "elicitation/create" if ERA == "legacy" else "input_required"


async def book_declined(client, user):
    user.declines = True
    try:
        _, error = await client.call("booking", {})
    finally:
        user.declines = False
    expect(error and "declined" in error, error)


async def book_args(client, user):
    user.asked = 0
    booking, error = await client.call("booking", ANSWERS)
    expect(error is None, error)
    expect_booking(booking)
    expect(user.asked == 0, "the user was asked")


async def run(name, open_client):
    """Runs all checks over one connection. `open_client` takes an `Answerer` and gives an async context manager."""
    user = Answerer()
    checks = [connect, list_tools, call, bad_call, completion, resources, prompts, progress, cancel]
    checks += [book_asked, book_declined, book_args]
    try:
        async with open_client(user) as client:
            for check in checks:
                column = "list" if check is list_tools else check.__name__.replace("_", "-")
                try:
                    with anyio.fail_after(LIMIT):
                        note = await check(client, user)
                    report(name, column, "ok", note or "")
                except Exception as error:
                    report(name, column, "FAIL", f"{type(error).__name__}: {error}")
    except Exception as error:  # Or the end of the connection: the log tells.
        while getattr(error, "exceptions", None):  # What went wrong is inside of groups of one.
            error = error.exceptions[0]
        report(name, "connect", "FAIL", f"{type(error).__name__}: {error}")
