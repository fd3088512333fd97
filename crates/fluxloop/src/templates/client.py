"""What FluxLoop calls: sends one input through the program's route, in this process, and gives back the answer."""

import ast
import json
@IMPORTS@import sys
from pathlib import Path
@PACKAGES@
# The program's own modules, from wherever FluxLoop is started.
@PLACE@
@SETUP@


@RUN@
@HELPERS@

def _reply(status: int, text: str) -> str:
    if status >= 300:
        why = " (a redirect; is a login needed?)" if status < 400 else ""
        raise RuntimeError(f"@ROUTE@ answered {status}{why}: {text[:500]}")
@ANSWER@
