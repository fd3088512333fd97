"""Runs a FluxLoop CLI with a clock, ids and models that are the same each time: `python steady.py run ...`

It is started by `make` with the Python of a virtualenv that has the CLI. The CLI's own code does all the work and
writes all the files. Only what it asks of the world is answered from here, so that the files of two runs of `make` are
equal, and every number in them fits every other one (an average is the average of the durations beside it).

STEADY_START    where the clock starts, in local time
STEADY_REPLIES  a JSON list of what the model says that plays the user (0.4 has no scripted one of its own)
"""

import datetime
import functools
import importlib
import json
import os
import pkgutil
import random
import sys
import threading
import time
import types
import uuid

START = os.environ["STEADY_START"]


class Clock:
    """Goes on by some milliseconds whenever FluxLoop looks, and by what anybody sleeps."""

    def __init__(self):
        self.chance = random.Random(START)
        self.milliseconds = round(datetime.datetime.fromisoformat(START).timestamp() * 1000)

    def look(self, longest=9):
        if not in_background():
            self.milliseconds += self.chance.randint(1, longest)
        return self.milliseconds / 1000

    def sleep(self, seconds):
        if in_background():
            real_sleep(seconds)
        else:
            self.milliseconds += round(seconds * 1000)


def in_background():
    """The SDK's thread that saves events. It looks and sleeps as often as it likes; for it no time passes."""
    return threading.current_thread().daemon


real_sleep = time.sleep
clock = Clock()
ids = random.Random(START)


class Datetime(datetime.datetime):
    """What the modules of FluxLoop get for `datetime`."""

    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(clock.look(), tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.timezone.utc).replace(tzinfo=None)


def replace_for_all():
    """What the agent uses too. To sleep takes no time, but the clock goes on."""
    time.sleep = clock.sleep
    uuid.uuid4 = lambda: uuid.UUID(int=ids.getrandbits(128), version=4)


def modules_of_fluxloop():
    for name in ["fluxloop", "fluxloop_cli"]:
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError:  # 0.4 does without the SDK.
            continue
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith(("__main__", "pytest_plugin")):
                yield importlib.import_module(found.name)


def replace_names(module):
    """The clock is for FluxLoop alone. Libraries look at theirs as often as their version likes."""
    if getattr(module, "datetime", None) is datetime.datetime:
        module.datetime = Datetime
    if getattr(module, "time", None) is time:
        # 0.4 measures with `monotonic` how long a process takes, which is longer than a call.
        stopwatch = functools.partial(clock.look, longest=250)
        module.time = types.SimpleNamespace(time=clock.look, monotonic=stopwatch, sleep=clock.sleep)


def replace_models():
    """0.4 asks a model of OpenAI to play the user, and Claude to follow a skill. Both answer from a list."""
    replies = iter(json.loads(os.environ.get("STEADY_REPLIES", "[]")))

    async def complete(self, prompt):
        return next(replies)

    async def query(*, prompt, options):
        for message in skill_messages(next(replies)):
            yield message

    from fluxloop_cli.core import user_simulator

    user_simulator.UserSimulator._complete = complete
    import claude_agent_sdk

    claude_agent_sdk.query = query


def be_patient():
    """0.4 gives each regular expression of a contract half a second, which on a busy machine decides the verdict."""
    from fluxloop_cli.contract.safe_regex import safe_regex_search

    safe_regex_search.__kwdefaults__["timeout_ms"] = 60_000


def skill_messages(reply):
    """The messages of Claude's own SDK for one reply: a tool that is used, what it gives back, and a text."""
    from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, ToolResultBlock, ToolUseBlock

    if "error" in reply:
        raise RuntimeError(reply["error"])
    used = ToolUseBlock(id="tool_1", name=reply["tool"], input={"file_path": "orders.txt"})
    given = ToolResultBlock(tool_use_id="tool_1", content="4711 shipped", is_error=False)
    yield AssistantMessage(content=[used, given], model="scripted")
    yield AssistantMessage(content=[TextBlock(text=reply["text"])], model="scripted")
    yield ResultMessage(
        subtype="success", duration_ms=0, duration_api_ms=0, is_error=False, num_turns=2, session_id="s",
        total_cost_usd=reply["cost"], usage={"input_tokens": 812, "output_tokens": 64},
    )


def main():
    replace_for_all()
    for module in list(modules_of_fluxloop()):
        replace_names(module)
    ids.seed(START)  # Whoever was imported may have taken some.
    if "fluxloop_cli.core.skill_executor" in sys.modules:
        replace_models()
        be_patient()
    from fluxloop_cli.main import app

    sys.argv[0] = "fluxloop"
    app()


if __name__ == "__main__":
    main()
