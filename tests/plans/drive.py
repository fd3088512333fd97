"""Plans, applies, runs and takes back an integration for every sample application. Called by `run`."""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from answers import check_answers
from provision import HERE, provision
from servers import becomes_free, complete_chat, ports, serving, stand_in, started
from tree import differences, files_that_differ, remove, snapshot

LIMIT = 600  # Seconds for one command; 0.2 and 0.3 of FluxLoop never end by themselves if an agent hangs.
QUESTION = "Is anybody there?"


@dataclasses.dataclass(frozen=True)
class App:
    """A sample application: its route and the fields of it, if it has one, and how it is built, if it is."""

    route: str = ""
    ask: str = "message"
    reply: str = "reply"
    build: str = ""
    python_path: str | None = "."  # None: it is not written in Python.


APPS = {
    "fastapi": App("/chat"),
    "fastapi-inline": App("/ask"),
    "flask": App("/api/chat"),
    "django": App("/support/chat/"),
    "python-agent": App(python_path="src"),
    "python-class": App(),
    "langgraph": App(),
    "express": App("/chat", python_path=None),
    "nextjs": App("/api/chat", build="npm run build", python_path=None),
    "nestjs": App("/assistant/ask", "question", "answer", "npm run build", None),
    "sveltekit": App("/api/recipes", "prompt", "text", "npm run build", None),
    "remix": App("/api/chat", build="npm run build", python_path=None),
    "library": App(),
}
WITHOUT_AGENT = ["library"]
STAND_INS = ["nextjs", "nestjs", "sveltekit", "remix"]  # Their toolchains are only there with --long.


@dataclasses.dataclass(frozen=True)
class Case:
    app: str
    line: str = "0.4"
    variant: str = "auto"
    setting: str = ""  # "init": FluxLoop's own `init` was there first; "monorepo"; "toolchain": really built.

    def __str__(self):
        return " ".join(filter(None, [self.app, self.line, self.variant.replace("auto", ""), self.setting]))

    def is_served_for_real(self):
        return self.setting == "toolchain" or self.app not in STAND_INS

    def needs(self):
        """What has to be installed for it."""
        node = APPS[self.app].python_path is None and self.is_served_for_real()
        return [f"fluxloop-{self.line}"] + [f"node-{self.app}"] * node


CASES = [Case(app) for app in APPS]
CASES += [Case(app, line) for app in ["fastapi", "python-agent", "express"] for line in ["0.2", "0.3"]]
CASES += [Case("fastapi-inline", "0.2"), Case("python-class", "0.3")]
CASES += [Case("fastapi", "0.4", "bridge"), Case("fastapi-inline", "0.2", "bridge")]
CASES += [Case("fastapi", line, setting="init") for line in ["0.2", "0.3", "0.4"]]
CASES += [Case("fastapi", line, setting="monorepo") for line in ["0.2", "0.4"]]
LONG_CASES = [Case(app, setting="toolchain") for app in STAND_INS]

RESULTS = {  # Where each line of FluxLoop writes down how a run went.
    "0.2": "fluxloop/*/experiments/*/summary.json",
    "0.3": ".fluxloop/scenarios/*/experiments/*/summary.json",
    "0.4": ".fluxloop/results/*/summary.json",
}
LEFTOVERS = {  # What running and building may leave behind, and nothing else.
    *["__pycache__", "experiments", "results", ".state", "node_modules"],
    *[".next", "next-env.d.ts", "tsconfig.tsbuildinfo", "dist", ".svelte-kit", "build", "public"], "records"}


class NotRun(Exception):
    """Why a case could not be tried here."""


@dataclasses.dataclass
class Trial:
    """A case at work: the copy of its application, and the environment that everything runs in."""

    case: Case
    binary: str
    folder: Path
    scratch: Path
    env: dict

    @property
    def app(self):
        return APPS[self.case.app]

    @property
    def root(self):
        return self.scratch / "repository"

    @property
    def package(self):
        """The folder of the application in its repository."""
        return "services/support" if self.case.setting == "monorepo" else "."

    def snapshot(self):
        return snapshot(self.root, without=["node_modules"])

    def run(self, *command, **options):
        """Runs a command that has to succeed; returns what it printed."""
        options = {"cwd": self.root, "env": self.env, "timeout": LIMIT} | options
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )
        shown = " ".join(str(word) for word in command)[:200]
        said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}".strip()
        expect(done.returncode == 0, f"exit code {done.returncode} of: {shown}\n{said}")
        return done.stdout

    def fluxway(self, *arguments):
        return self.run(self.binary, *arguments, cwd=self.scratch)


def expect(holds, what):
    """Like `assert`, but it always says what was wrong."""
    if not holds:
        raise AssertionError(what)


def expect_same(before, after, what):
    changes = differences(before, after)
    expect(not changes, f"{what}:\n  " + "\n  ".join(changes))


def check(trial):
    """The life of a plan, from the proposal to the last trace of it. Yields what was checked."""
    untouched = trial.snapshot()
    plan = propose(trial)
    expect_same(untouched, trial.snapshot(), "proposing a plan changed the application")
    if trial.case.app in WITHOUT_AGENT:
        expect(not plan["edits"] and plan["warnings"], f"nothing can be done, and that has to be said: {plan}")
        yield "refused, with a reason"
        return
    check_proposal(trial, plan)
    yield f"{len(plan['files'])} files planned"

    validate(trial, plan)
    plan_file = trial.scratch / "plan.json"
    plan_file.write_text(json.dumps(plan))
    trial.fluxway("apply", plan_file, "--root", trial.root)
    applied = trial.snapshot()
    check_files(trial, plan, untouched, applied)
    yield "applied"

    yield from check_application(trial)
    with served(trial, plan):
        for command in plan["postChecks"]:
            trial.run("bash", "-c", command)
    yield f"FluxLoop: {outcome(trial)}"
    check_records(trial)

    ran = trial.snapshot()
    said = trial.fluxway("apply", plan_file, "--root", trial.root)
    expect("already applied" in said.lower(), f"the second apply said: {said}")
    expect_same(ran, trial.snapshot(), "the second apply changed something")

    tidy(trial, applied)
    trial.fluxway("undo", "--root", trial.root, "--yes")
    expect_same(untouched, trial.snapshot(), "undo did not restore the application")
    yield "undone"


def propose(trial):
    options = ["--cli", trial.case.line, "--variant", trial.case.variant]
    if trial.package != ".":
        options += ["--package", trial.package]
    return json.loads(trial.fluxway("plan", trial.root, "--json", *options))


def check_proposal(trial, plan):
    expect(plan["edits"], f"the plan is empty: {plan['warnings']}")
    checks = plan["postChecks"]
    expect(checks and checks[-1].startswith("fluxloop "), f"the last check does not run FluxLoop: {checks}")
    if trial.case.setting == "init":
        expect("demo" in checks[-1].split(), f"there is a project already, but the plan runs: {checks[-1]}")


def validate(trial, plan):
    arguments = json.dumps({"plan": plan})
    verdict = json.loads(
        trial.fluxway("call", "validate_edit_plan", "--root", trial.root, "--json", "--args", arguments)
    )
    expect(verdict["valid"] is True and not verdict["issues"], f"the plan is not valid: {verdict}")


def check_files(trial, plan, untouched, applied):
    """What was written is what the plan showed, and can be committed."""
    planned = {file["path"] for file in plan["files"]}
    written = {path for path in files_that_differ(untouched, applied) if not path.startswith(".fluxway/")}
    expect(written == planned, f"planned were {sorted(planned)}, written were {sorted(written)}")
    if trial.case.variant == "bridge" or agent_url(trial):
        changed = [line for line in differences(untouched, applied) if not line.startswith("new: ")]
        expect(not changed, f"a bridge changes nothing that was there, but: {changed}")
    for path in written:
        text = (trial.root / path).read_text()
        expect(str(trial.scratch) not in text, f"{path} names a folder of this machine:\n{text}")


def check_application(trial):
    """The application itself still works, without FluxLoop."""
    if trial.case.setting == "toolchain":
        trial.run(*shlex.split(trial.app.build), timeout=5 * LIMIT)
        yield "built"
    if trial.app.python_path is None:
        return
    trial.run("python", "-m", "compileall", "-q", ".")
    env = trial.env | {"PYTHONPATH": str(trial.root / trial.package / trial.app.python_path)}
    answer = trial.run("python", "-P", HERE / "probes.py", trial.case.app, QUESTION, env=env).strip()
    expect(answer == f"stub: {QUESTION}", f"the application answered: {answer}")
    yield "application answers"


def agent_url(trial):
    """Where the bridge expects the application to listen, if the plan has one."""
    folders = (".fluxloop", "fluxloop")
    for file in (file for folder in folders for file in trial.root.glob(f"{folder}/**/*bridge.*")):
        if found := re.search(r"""AGENT_URL\W[^"]*"(http[^"]+)\"""", file.read_text()):
            return urlsplit(found[1])
    return None


@contextlib.contextmanager
def served(trial, plan):
    """The application, if the plan goes over HTTP: the real one or, without its toolchain, a stand-in."""
    url = agent_url(trial)
    if url is None:
        yield
        return
    expect(url.path == trial.app.route, f"the bridge asks {url.path}, the application has {trial.app.route}")
    command = start_command(plan, url.geturl())
    with ports[url.port]:
        if not becomes_free(url.port):
            raise NotRun(f"something else listens on port {url.port}, where the plan expects the application")
        if trial.case.is_served_for_real():
            with started(command, url, trial.root, trial.env, trial.scratch / "app.log"):
                yield
        else:
            with serving(stand_in(trial.app), url.port):
                yield


def start_command(plan, url):
    """How the plan tells its reader to start the application, which has to end up where the bridge looks for it."""
    for line in plan["prerequisites"]:
        if found := re.search(rf": (\S.*) \({re.escape(url)}\)", line):
            return shlex.split(found[1])
    raise AssertionError(f"the plan does not say how to start the application: {plan['prerequisites']}")


def outcome(trial):
    """What the one run answered. FluxLoop ends with 0 whatever happens: only its files say how it went."""
    summaries = list(trial.root.glob(RESULTS[trial.case.line]))
    expect(len(summaries) == 1, f"not one summary, but {summaries}")
    summary = json.loads(summaries[0].read_text())
    counts = summary.get("results", summary)
    found = [counts["total_runs"], counts.get("successful", counts.get("success_count"))]
    expect(found == [1, 1], f"runs and successes: {found}\n{errors(summaries[0].parent)}")
    run = json.loads((summaries[0].parent / "trace_summary.jsonl").read_text().splitlines()[0])
    expect(run["output"] == f"stub: {run['input']}", f"asked {run['input']!r}, answered {run['output']!r}")
    return run["output"]


def check_records(trial):
    """Where the plan opens the trace, the SDK has recorded the run of the agent, with its answer."""
    for wrapper in trial.root.glob(".fluxloop/scenarios/*/fluxloop_target.py"):
        if "fluxloop.instrument(" not in wrapper.read_text():
            continue
        records = wrapper.parent / "records" / "observations.jsonl"
        kept = [json.loads(line) for line in records.read_text().splitlines()]
        agents = [record for record in kept if record["type"] == "agent"]
        expect(agents and "stub: " in json.dumps(agents), f"no agent was recorded in {records}: {kept}")


def errors(folder):
    file = folder / "errors.json"
    return file.read_text() if file.exists() else ""


def tidy(trial, applied):
    """Removes what running created, which has to be in places where that belongs."""
    created = trial.snapshot().keys() - applied.keys()
    strays = [str(path) for path in created if not LEFTOVERS & set(path.parts)]
    expect(not strays, f"running left these behind: {strays}")
    remove(trial.root, created)


def environment(folder, line, home, model_port):
    """What the application, FluxLoop and fluxway see: nothing of this user's settings, and the stub as the model."""
    foreign = ("FLUXWAY_", "FLUXLOOP_", "OPENAI_", "XDG_", "PYTHON", "VIRTUAL_ENV", "LANG", "LC_")
    foreign += ("DJANGO_", "FLASK_", "PORT", "HOST", "NODE_", "npm_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    own = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(folder / f"fluxloop-{line}" / "bin"), env["PATH"]]),
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "test",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "NEXT_TELEMETRY_DISABLED": "1",
        "npm_config_update_notifier": "false",
        "FLUXLOOP_FLUSH_INTERVAL": "0.1",  # Otherwise it waits for two seconds at its end.
        "FLUXLOOP_USE_COLLECTOR": "false",
    }
    return env | own


def prepare(case, binary, folder, model_port, parent):
    scratch = Path(tempfile.mkdtemp(prefix=f"{case}-".replace(" ", "-"), dir=parent))
    (scratch / "home").mkdir()
    trial = Trial(case, binary, folder, scratch, environment(folder, case.line, scratch / "home", model_port))
    shutil.copytree(HERE / "apps" / case.app, trial.root / trial.package, symlinks=True)
    if case.setting == "monorepo":
        shutil.copytree(HERE / "apps" / "python-class", trial.root / "services" / "desk")
    if case.setting == "init":
        set_up_fluxloop(trial)
    if f"node-{case.app}" in case.needs():
        bring_packages(trial)
    return trial


def set_up_fluxloop(trial):
    """What a user has who followed FluxLoop's own first steps: a project, and the key in its .env file."""
    what = "project --name" if trial.case.line == "0.2" else "scenario"
    trial.run("bash", "-c", f"yes | fluxloop init {what} demo")
    for file in trial.root.glob("**/.env"):
        file.write_text(file.read_text().replace("OPENAI_API_KEY=\n", "OPENAI_API_KEY=test\n"))


def bring_packages(trial):
    packages = trial.folder / f"node-{trial.case.app}" / "node_modules"
    if trial.case.setting == "toolchain":
        # Bundlers do not follow links out of the project; a hard link is a file of its own to them.
        shutil.copytree(packages, trial.root / "node_modules", symlinks=True, copy_function=link_or_copy)
    else:
        (trial.scratch / "node_modules").symlink_to(packages)  # Node looks there too, and the application stays alone.


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def attempt(case, missing, **prepared):
    """Tries one case; returns "ok", "NOT RUN" or "FAIL" and prints its line."""
    start = time.monotonic()
    notes, status, trial = [], "ok", None
    try:
        if lacking := [missing[need] for need in case.needs() if need in missing]:
            raise NotRun("; ".join(lacking))
        trial = prepare(case, **prepared)
        for note in check(trial):
            notes.append(note)
    except NotRun as reason:
        status, notes = "NOT RUN", [str(reason)]
    except Exception as error:  # Whatever it was, the other cases are still worth trying.
        status = "FAIL"
        place = trial.scratch if trial else prepared["parent"]
        notes.append(f"then {type(error).__name__}: {error}\n  in {place}")
    print(f"{status:8}{str(case):28}{time.monotonic() - start:6.1f} s  {', '.join(notes)}", flush=True)
    return status


def main():
    parser = argparse.ArgumentParser(prog="tests/plans/run")
    parser.add_argument("binary", help="the fluxway to try")
    parser.add_argument("--long", action="store_true", help="also with the toolchains of the Node frameworks")
    parser.add_argument("--only", default="", help="only cases with these words, e.g. 'fastapi 0.2'")
    options = parser.parse_args()
    if not os.access(options.binary, os.X_OK):
        parser.error(f"there is no program {options.binary}")
    cases = [case for case in CASES + LONG_CASES * options.long if set(options.only.split()) <= set(str(case).split())]
    folder, missing = provision([app for app in APPS if any(f"node-{app}" in case.needs() for case in cases)])
    sys.exit(drive(cases, os.path.abspath(options.binary), folder, missing))


def drive(cases, binary, folder, missing):
    start = time.monotonic()
    # Not below the user's home: FluxLoop looks for its folder upwards, and would find the user's own.
    work = Path(tempfile.mkdtemp(prefix="fluxway-plans-")).resolve()
    answers_failed = check_answers(binary, work)
    with serving(complete_chat) as model_port, concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        prepared = {"binary": binary, "folder": folder, "model_port": model_port, "parent": work}
        statuses = list(pool.map(lambda case: attempt(case, missing, **prepared), cases))
    failed, not_run = statuses.count("FAIL"), statuses.count("NOT RUN")
    if not failed and not answers_failed:
        shutil.rmtree(work)
    print(f"{time.monotonic() - start:.0f} s")
    print(f"{statuses.count('ok')} passed, {failed} failed, {not_run} skipped")
    # In CI nothing that was not run passes for green.
    return bool(answers_failed or failed or not_run and os.environ.get("CI") == "true")


if __name__ == "__main__":
    main()
