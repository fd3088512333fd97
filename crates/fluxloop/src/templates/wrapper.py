"""What FluxLoop calls: hands one input to the agent and gives back its answer as text."""

import json
@IMPORTS@import sys
from pathlib import Path

# The program's own modules, from wherever FluxLoop is started.
sys.path.insert(0, str(Path(__file__).resolve().parents[@UP@]@FOLDER@))

@SETUP@


@RUN@
@TEXT@
