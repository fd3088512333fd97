#!/usr/bin/env bash
# Repeats the deterministic part of making the token table, with numpy in an environment of its own.
# The folder for the environment and the downloaded wheel may be given; it is used again when it is there.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="${1:-${TMPDIR:-/tmp}/fluxway-table}"
mkdir -p "$work"
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
TABLE_WORK="$work" PYTHONDONTWRITEBYTECODE=1 exec "$work/venv/bin/python" "$here/make.py" verify
