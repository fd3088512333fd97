"""The checks, in the order of the table, for clients that are Python libraries.

A library is wrapped in an object with `version`, `tools`, `call`, `complete`, `resources`, `read`, `prompts` and
`prompt`; `call` gives (structured content, text of the error or None). Questions of the server go to `Answerer`.
Over HTTP there is also `hear`, which brings about a change of the tools and waits until the client has heard of it.
"""

import json
import os
import signal

import anyio

from report import ANSWERS, ERA, HEADING, PROJECT, SERVED, VERSION
from report import ask_server, expect, expect_booking, expect_fortune, figure, report, traffic, wire

LIMIT = 120  # Seconds for a check that should take one: a hanging client is a failure, not a hanging run.
PATIENCE = 60  # Seconds for something that comes at once, if the machine has nothing else to do.
ENDLESS = {"steps": 1000, "step_ms": 100}


class NotApplicable(Exception):
    """The client cannot do this, or there is no such thing in its era."""


class Answerer:
    """The user behind the client: fills in forms, or declines them."""

    declines = False
    asked = 0
    answers = ANSWERS

    def answer(self, form):
        """The filled-in form, or None to decline."""
        self.asked += 1
        return None if self.declines else {name: self.answers[name] for name in form["properties"]}


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

    with anyio.fail_after(PATIENCE):
        await client.call("tell_fortune", {"category": "career"})
    # Lines come in order, so whoever answered that has read the cancellation. Give it the time to break its silence.
    if SERVED:  # Requests over HTTP come in no order.
        await until_figure('fluxway_requests_total{method="tools/call",tool="wait",outcome="cancelled"}', 1)
        await client.call("tell_fortune", {"category": "career"})  # What was said before this, the tap has heard.
    heard = len(wire())
    await client.call("wait", {"steps": 3, "step_ms": 100})
    said = wire()
    endless = next(m for way, m in said if way == ">" and m.get("params", {}).get("arguments") == ENDLESS)
    told = [m["params"]["requestId"] for _, m in said if m.get("method") == "notifications/cancelled"]
    hangs_up = SERVED and ERA != "legacy"  # Then that is all there is to say.
    expect(told == ([] if hangs_up else [endless["id"]]), f"the client cancelled {told}")
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


async def projects(client, user):
    """From making a project to deleting it, as its user and an agent would."""
    user.asked, before = 0, len(wire())
    made = await done(client, "create_project", PROJECT)
    expect(user.asked == 0, "the user was asked for what was said")
    home, id = f"codefluss://design-system/{made['id']}", made["id"]
    listed = await done(client, "list_projects", {"fields": ["name"]})
    expect(listed["projects"] == [{"id": id, "name": PROJECT["name"]}], listed)
    page = (await done(client, "get_blocks", {"projectId": id, "depth": 1}))["blocks"][0]["id"]
    heading = {"projectId": id, "action": "create", "parentId": page, "blocks": [HEADING]}
    written = await done(client, "edit_blocks", heading | {"ifRevision": made["revision"]})
    expect(written["revision"] == made["revision"] + 1, written)
    _, error = await client.call("edit_blocks", heading | {"ifRevision": made["revision"]})
    expect(error and "revision" in error, f"a revision of yesterday gave: {error}")
    expect({"codefluss://projects", home} <= set(await client.resources()), "not listed")
    expect("color" in json.loads(await client.read(home)), "no design tokens")
    expect(":root" in await client.read(f"{home}/css"), "no stylesheet")
    user.answers = {"name": PROJECT["name"]}
    try:
        gone = await done(client, "delete_project", {"projectId": id})
    finally:
        user.answers = ANSWERS
    expect(gone["deleted"] and user.asked == 1, f"the user was asked {user.asked} times, and it gave {gone}")
    listed = await done(client, "list_projects", {})
    expect(listed["projects"] == [], listed)
    if ERA == "legacy":
        await until(lambda: changed_resources(wire()[before:]) == 2, "the list of resources changed twice")


async def done(client, tool, arguments):
    """What a tool gave, which must not be an error."""
    given, error = await client.call(tool, arguments)
    expect(error is None, f"{tool}: {error}")
    return given


def changed_resources(said):
    return sum(m.get("method") == "notifications/resources/list_changed" for way, m in said if way == "<")


async def until(holds, what):
    for _ in range(PATIENCE * 10):
        if holds():
            return
        await anyio.sleep(0.1)
    raise AssertionError(f"it never came: {what}")


async def until_figure(name, wanted):
    """Waits until one of the server's figures is as it should be."""
    for _ in range(PATIENCE * 10):
        found = figure(name)
        if found == wanted:
            return
        await anyio.sleep(0.1)
    raise AssertionError(f"{name} is {found}, not {wanted}")


async def news(client, user):
    expect("analyze_repository" in await client.tools(), "not listed")
    before = len(wire())

    async def change():
        with open(SERVED["config"], "w") as config:
            config.write('toolsets = ["reference", "diagnostics"]\n')
        os.kill(SERVED["server_process"], signal.SIGHUP)

    await client.hear(change)
    expect("analyze_repository" not in await client.tools(), "the list is still the old one")
    said = [m for way, m in wire()[before:] if way == "<" and m.get("method", "").endswith("/list_changed")]
    kinds = [m["method"].split("/")[1] for m in said]
    # In the modern era, only what the client has asked for.
    expect(kinds == (["tools", "resources", "prompts"] if ERA == "legacy" else ["tools"]), f"the server said {said}")
    is_tagged = ["io.modelcontextprotocol/subscriptionId" in m.get("params", {}).get("_meta", {}) for m in said]
    expect(all(tagged == (ERA != "legacy") for tagged in is_tagged), f"the server said {said}")
    return "on /mcp" if ERA == "legacy" else "subscriptions/listen"


async def wrong_key(client, user):
    before = len(traffic())
    try:
        async with client.again(user, SERVED["old_key"]) as other:
            await other.tools()  # Before this, some say nothing.
        said = "welcome"
    except Exception as error:
        said = str(innermost(error))
    said_since = traffic()[before:]
    # The first client has a session, and may ask for something in between.
    others = {facts["connection"] for facts in said_since if "request" in facts and "session" not in facts}
    statuses = {facts["status"] for facts in said_since if "status" in facts and facts["connection"] in others}
    expect(statuses == {401}, f"the server answered {statuses}")
    expect("invalid API key or token" in said or "401" in said, f"the client said {said}")


async def lost_session(client, user):
    if ERA != "legacy":
        raise NotApplicable("there are no sessions")
    async with client.again(user, SERVED["key"]) as other:
        await other.tools()
        # The newest that was given out: requests of the first client may come at any time.
        session = [facts["session"] for facts in traffic() if "session" in facts and "status" in facts][-1]
        status, _ = ask_server("DELETE", "/mcp", SERVED["key"], **{"Mcp-Session-Id": session})
        expect(status == 204, f"DELETE gave {status}")
        before = len(wire())
        fortune, error = await other.call("tell_fortune", {"category": "career"})
        if any(m.get("method") == "initialize" for _, m in wire()[before:]):
            expect_fortune(fortune)
            return "begun anew"
        expect(error and "session" in error, f"the client said {error}")
        return f"reported: {error}"


async def quiet(client, user):
    if ERA != "legacy":
        raise NotApplicable("there are no streams to come back to")
    # A call was cancelled: its stream is over without an answer. A client may ask for the rest of it, but not for ever.
    for _ in range(PATIENCE // 3):
        before = len(traffic())
        await anyio.sleep(3)
        asked = [facts for facts in traffic()[before:] if "request" in facts]
        if not asked:
            return
    raise AssertionError(f"the client keeps coming back: {asked}")


async def close():
    for name in ["fluxway_streams", "fluxway_sessions"]:
        await until_figure(name, 0)
    broken = [facts for facts in traffic() if "broken" in facts]
    expect(not broken, f"not HTTP: {broken}")


def innermost(error):
    while getattr(error, "exceptions", None):  # What went wrong is inside of groups of one.
        error = error.exceptions[0]
    return error


async def attempt(name, column, check, *arguments):
    try:
        with anyio.fail_after(LIMIT):
            note = await check(*arguments)
        report(name, column, "ok", note or "")
    except NotApplicable as why:
        report(name, column, "n/a", why)
    except Exception as error:
        report(name, column, "FAIL", f"{type(error).__name__}: {error}")


async def run(name, open_client):
    """Runs all checks over one connection. `open_client` takes an `Answerer` and a key, if there is one, and gives an
    async context manager."""
    user = Answerer()
    checks = [connect, list_tools, call, bad_call, completion, resources, prompts, progress, cancel]
    checks += [book_asked, book_declined, book_args]
    if SERVED:
        checks += [projects, news, wrong_key, lost_session, quiet]
    try:
        async with open_client(user, SERVED and SERVED["key"]) as client:
            client.again = open_client
            for check in checks:
                column = "list" if check is list_tools else check.__name__.replace("_", "-")
                await attempt(name, column, check, client, user)
        if SERVED:
            await attempt(name, "close", close)
    except Exception as error:  # Or the end of the connection: the log tells.
        error = innermost(error)
        report(name, "connect", "FAIL", f"{type(error).__name__}: {error}")
