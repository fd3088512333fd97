"""Writes advisories of a table (advisories.tsv) as a git repository in the layout of the RustSec database.

usage: database.py TABLE CARGO_LOCK FOLDER
"""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

OLD = 180  # days
KINDS = {"vulnerability", "unmaintained", "unsound", "notice"}


def read(table):
    """The day of the snapshot, the crates that were looked for, and the rows."""
    head, rows = {}, []
    for number, line in enumerate(table.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) == 2:
            head[fields[0]] = fields[1]
        elif len(fields) == 6 and fields[3] in KINDS:
            rows.append(fields)
        else:
            sys.exit(f"{table}:{number}: want id, crate, date, kind, patched and unaffected, separated by tabs")
    return datetime.date.fromisoformat(head["date"]), set(head["crates"].split()), rows


def ranges(text):
    return json.dumps([] if text == "-" else text.split(" | "))


def advisory(row):
    """One file of the database."""
    name, crate, date, kind, patched, unaffected = row
    lines = ["```toml", "[advisory]", f'id = "{name}"', f'package = "{crate}"', f'date = "{date}"']
    if kind != "vulnerability":
        lines.append(f'informational = "{kind}"')
    lines += ["", "[versions]", f"patched = {ranges(patched)}", f"unaffected = {ranges(unaffected)}", "```", ""]
    lines += [f"# {crate}: {kind}", "", f"See https://rustsec.org/advisories/{name}.html.", ""]
    return "\n".join(lines)


def commit(folder):
    # Neither the name of the user nor their settings (signatures, hooks) matter.
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        settings |= {f"GIT_{role}_NAME": "check", f"GIT_{role}_EMAIL": "check@localhost"}
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "snapshot"]):
        subprocess.run(["git", *arguments], cwd=folder, env=os.environ | settings, check=True)


def main(table, lock, folder):
    day, looked_for, rows = read(table)
    shutil.rmtree(folder, ignore_errors=True)
    for row in rows:
        file = folder / "crates" / row[1] / f"{row[0]}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(advisory(row))
    commit(folder)
    print(f"advisories: snapshot of {day} ({len(rows)} entries)")
    age = (datetime.date.today() - day).days
    if age > OLD:
        print(f"warning: the snapshot is {age} days old; renew tests/deps/advisories.tsv")
    locked = {package["name"] for package in tomllib.loads(lock.read_text())["package"] if "source" in package}
    if unknown := sorted(locked - looked_for):
        print(f"warning: newer than the snapshot, and not looked for in it: {' '.join(unknown)}")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
