"""What FluxLoop calls: sends one input through the program's route, in this process, and gives back the answer."""

import ast
import json
@IMPORTS@import sys
from pathlib import Path

# The program's own modules, from wherever FluxLoop is started.
sys.path.insert(0, str(Path(__file__).resolve().parents[@UP@]@FOLDER@))

@SETUP@


@RUN@
@HELPERS@

def _reply(status: int, text: str) -> str:
    if status >= 400:
        raise RuntimeError(f"@ROUTE@ answered {status}: {text[:500]}")
@ANSWER@
