#!/usr/bin/env bash
# Repeats the deterministic part of making the token table: `verify.sh FOLDER`
#
# The folder gets an environment with numpy and the downloaded wheel, and is used again when it is there.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="${1:?where the environment and the wheel go}"
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "NOT RUN: the token table needs python3 of version 3.11 or newer, as its numpy does"
  # In CI nothing that was not run passes for green.
  [ "${CI:-}" != true ]
  exit
fi
python="$work/venv/bin/python"
mkdir -p "$work"
[ -x "$python" ] || python3 -m venv "$work/venv"
"$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
# One thread, as when it was recorded: several add up in another order. -B: the clone stays as it is.
OPENBLAS_NUM_THREADS=1 TABLE_WORK="$work" exec "$python" -B "$here/verify.py"
