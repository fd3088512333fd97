"""The MCP Inspector on the command line: a person or a script at a terminal. A new connection for every request."""

import json
import os
import subprocess

from report import ANSWERS, ERA, HEADING, PROJECT, SERVED, SERVER, VERSION
from report import expect, expect_booking, expect_fortune, figure, report, traffic, wire

PACKAGES = os.environ["CLIENT_PACKAGES"] + "/node_modules/"
INSPECTOR = [os.environ["NODE"], PACKAGES + "@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli"]


def ask(method, *options, key=SERVED and SERVED["key"]):
    """The result and the error, as the Inspector prints them: on stdout, and as the last line of stderr."""
    # With a header that does not open the door it would start a browser.
    over_http = ["--header", f"Authorization: Bearer {key}", "--stored-auth-only"] if key else []
    command = [*INSPECTOR, *SERVER, *over_http, "--protocol-era", ERA, "--format", "json", "--method", method, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    result = json.loads(done.stdout)["result"] if done.stdout else None
    error = json.loads(done.stderr.splitlines()[-1])["error"] if done.returncode else None
    expect(result or error, f"exit code {done.returncode}, {done.stderr}")
    return result, error


def connect():
    result, error = ask("initialize")
    expect(error is None, error)
    expect(result["protocolVersion"] == VERSION, f"negotiated {result['protocolVersion']}, not {VERSION}")
    first = next(message["method"] for way, message in wire() if way == ">")
    expect(first == ("initialize" if ERA == "legacy" else "server/discover"), f"it began with {first}")
    return VERSION


def list_tools():
    # `--strict` fails for a schema that some clients or models cannot take.
    result, error = ask("tools/list", "--strict")
    expect(error is None, error)
    expect({"tell_fortune", "booking"} <= {tool["name"] for tool in result["tools"]}, result)


def call():
    result, error = ask("tools/call", "--tool-name", "tell_fortune", "--tool-arg", "category=career")
    expect(error is None, error)
    expect_fortune(result["structuredContent"])


def bad_call():
    result, error = ask("tools/call", "--tool-name", "tell_fortune", "--tool-arg", "category=weather")
    expect(error and error["code"] == "tool_is_error", f"a wrong value gave: {error}")
    text = result["content"][0]["text"]
    expect("weather" in text and "career" in text, text)
    _, error = ask("tools/call", "--tool-name", "no_such_tool")
    expect(error and error["code"] == "tool_not_found", f"an unknown tool gave: {error}")
    return "it does not ask the server for a tool that is not listed"


def resources():
    uri = "fluxway://tools/tell_fortune"
    listed, error = ask("resources/list")
    expect(error is None and uri in [resource["uri"] for resource in listed["resources"]], error or listed)
    read, error = ask("resources/read", "--uri", uri)
    expect(error is None and "tell_fortune" in read["contents"][0]["text"], error or read)


def prompts():
    listed, error = ask("prompts/list")
    expect(error is None and "fortune" in [prompt["name"] for prompt in listed["prompts"]], error or listed)
    got, error = ask("prompts/get", "--prompt-name", "fortune", "--prompt-args", "category=career")
    expect(error is None and "career" in got["messages"][0]["content"]["text"], error or got)


def book_args():
    result, error = ask("tools/call", "--tool-name", "booking", "--tool-args-json", json.dumps(ANSWERS))
    expect(error is None, error)
    expect_booking(result["structuredContent"])


def done(tool, **arguments):
    """What a tool gave, which must not be an error."""
    result, error = ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
    expect(error is None, f"{tool}: {error}, {result}")
    return result["structuredContent"]


def projects():
    made = done("create_project", **PROJECT)
    home, id = f"codefluss://design-system/{made['id']}", made["id"]
    listed = done("list_projects", fields=["name"])
    expect(listed["projects"] == [{"id": id, "name": PROJECT["name"]}], listed)
    page = done("get_blocks", projectId=id, depth=1)["blocks"][0]["id"]
    done("edit_blocks", projectId=id, action="create", parentId=page, blocks=[HEADING], ifRevision=made["revision"])
    read, error = ask("resources/read", "--uri", home)
    expect(error is None and "color" in json.loads(read["contents"][0]["text"]), error or read)
    gone = done("delete_project", projectId=id, confirm=PROJECT["name"])
    expect(gone["deleted"], gone)
    expect(done("list_projects")["projects"] == [], "still there")
    return "it confirms by an argument"


def wrong_key():
    before = len(traffic())
    _, error = ask("tools/list", key=SERVED["old_key"])
    statuses = {facts["status"] for facts in traffic()[before:] if "status" in facts}
    expect(statuses == {401}, f"the server answered {statuses}")
    expect(error and error["code"] == "auth_required", f"the client said {error}")


def close():
    expect(figure("fluxway_streams") == 0, "a stream is still open")
    begun = sum("status" in facts and "session" in facts for facts in traffic())
    expect(figure("fluxway_sessions") == begun, f"{figure('fluxway_sessions')} of {begun} sessions are left")
    broken = [facts for facts in traffic() if "broken" in facts]
    expect(not broken, f"not HTTP: {broken}")
    return f"it deletes none of its {begun} sessions" if begun else ""


CHECKS = {
    "connect": connect,
    "list": list_tools,
    "call": call,
    "bad-call": bad_call,
    "completion": "--cli has no such method",
    "resources": resources,
    "prompts": prompts,
    "progress": "--cli shows none",
    "cancel": "--cli makes one request and ends",
    "book-asked": "--cli declares no elicitation",
    "book-declined": "--cli declares no elicitation",
    "book-args": book_args,
}
if SERVED:
    CHECKS |= {
        "projects": projects,
        "news": "--cli makes one request and ends",
        "wrong-key": wrong_key,
        "lost-session": "--cli makes one request and ends",
        "quiet": "--cli makes one request and ends",
        "close": close,
    }

for name, check in CHECKS.items():
    if isinstance(check, str):
        report("inspector", name, "n/a", check)
        continue
    try:
        report("inspector", name, "ok", check() or "")
    except Exception as error:
        report("inspector", name, "FAIL", f"{type(error).__name__}: {error}")
