"""What FluxLoop calls: hands one input to the agent and gives back its answer as text."""

@JSON@@IMPORTS@import sys
from pathlib import Path
@PACKAGES@
# The program's own modules, from wherever FluxLoop is started.
@PLACE@
@SETUP@


@RUN@
@TEXT@
