"""What FluxLoop calls: hands one input to the agent and gives back its answer as text."""

import json
@IMPORTS@import sys
from pathlib import Path

# The program's own modules, from wherever FluxLoop is started.
sys.path.insert(0, str(Path(__file__).resolve().parents[@UP@]@FOLDER@))

@SETUP@


@RUN@


def _text(result) -> str:
    if isinstance(result, str):
        return result
    if hasattr(result, "model_dump"):
        result = result.model_dump()
    if isinstance(result, (dict, list)):
        return json.dumps(result, ensure_ascii=False, default=str)
    return str(result)
