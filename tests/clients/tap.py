"""Stands between a client and the server and writes down every line: `tap.py LOG SERVER [ARGUMENT]...`

Clients hide much of what is said (late answers, questions, probes), each in its own way. The checks read it here.
"""

import os
import subprocess
import sys
import threading


def copy(source, sink, mark):
    try:
        for line in source:
            log.write(mark + line)  # Before it is passed on, so that whoever got an answer finds it in the log.
            sink.write(line)
            sink.flush()
        sink.close()
    except BrokenPipeError:
        pass  # The other side is gone, and there is nobody left to tell.


log = open(sys.argv[1], "ab", buffering=0)
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
threading.Thread(target=copy, args=(sys.stdin.buffer, server.stdin, b"> "), daemon=True).start()
copy(server.stdout, sys.stdout.buffer, b"< ")
os._exit(server.wait())  # Not sys.exit: the other thread may still be reading, and would be waited for.
