"""Installs the pinned packages once, outside of the clone: three FluxLoops, and what the Node applications need."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "packages"
OLDEST_NODE = 20


def provision(node_apps):
    """Installs what is missing. Returns the folder, and why each thing that is not there is not there."""
    folder = cache() / f"plans-{digest_of_locks()}"
    folder.mkdir(parents=True, exist_ok=True)
    missing = {}
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Two runs may start at once.
        for line in ["0.2", "0.3", "0.4"]:
            install_once(folder / f"fluxloop-{line}", lambda target: install_python(target, line), missing)
        for app in node_apps:
            if node_is_missing():
                missing[f"node-{app}"] = node_is_missing()
            else:
                install_once(folder / f"node-{app}", lambda target: install_node(target, app), missing)
    return folder, missing


def cache():
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # Not FLUXWAY_…: the binary refuses settings that it does not know.
    return Path(os.environ.get("CHECK_CACHE") or user / "fluxway").absolute()


def digest_of_locks():
    files = sorted([*PACKAGES.glob("*.txt"), *HERE.glob("apps/*/package-lock.json")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def node_is_missing():
    """Why the machine's Node does not do; nothing if it does."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "there is no node and npm"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    major = int(re.search(r"\d+", version)[0])
    return None if major >= OLDEST_NODE else f"node is {version.strip()}, and has to be {OLDEST_NODE} or newer"


def install_once(target, install, missing):
    done = target / "complete"
    for attempt in range(1, 4):
        if done.exists():
            return
        print(f"installing {target} (attempt {attempt} of 3)", file=sys.stderr)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        try:
            install(target)
            done.touch()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"not installed: {error}", file=sys.stderr)
            missing[target.name] = f"{target.name} could not be installed"
            time.sleep(5 * attempt)  # Networks fail for a moment.
    if done.exists():
        missing.pop(target.name, None)


def install_python(target, line):
    venv.create(target, with_pip=True)
    pip = [target / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = ["-r", PACKAGES / "apps.txt", "-r", PACKAGES / f"fluxloop-{line}.txt"]
    subprocess.run([*pip, *wanted, "-c", PACKAGES / f"lock-{line}.txt"], stdout=sys.stderr, check=True)


def install_node(target, app):
    for file in [PACKAGES / ".npmrc", HERE / "apps" / app / "package.json", HERE / "apps" / app / "package-lock.json"]:
        shutil.copy(file, target)
    # Not `npm ci`: it insists on optional packages for other platforms, which not every mirror has.
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(["npm", "install", *options], cwd=target, stdout=sys.stderr, check=True)
