"""The tap for HTTP: starts the server, stands between it and its clients, and writes down every message.

`tap_http.py LOG SERVER` prints what clients have to know (`SERVED` in report.py), and ends the server when its own
stdin ends. Lines of the log that begin with `*` are what HTTP says: requests, answers, ends. SIGUSR1 breaks the newest
stream.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import h11
from websockets.frames import Opcode
from websockets.protocol import Protocol, Side

SCOPES = ["read,write", "admin", "read"]
PATIENCE = 60  # Seconds for the server to begin, and to end, which alone may take ten.


class Exchange:
    """One connection, as somebody reads it who only listens."""

    count = 0

    def __init__(self):
        Exchange.count += 1
        self.number = Exchange.count
        # One reads what the client says, one what the server says. Each is told what the other read, to keep in step.
        self.readers = {">": h11.Connection(h11.SERVER), "<": h11.Connection(h11.CLIENT)}
        self.sockets = None
        self.kind, self.body = {}, {}

    def is_stream(self):
        return self.sockets or self.kind.get("<") == "text/event-stream"

    def note(self, **facts):
        log.write(f"* {json.dumps({'connection': self.number, **facts})}\n".encode())

    def message(self, way, text):
        if text:  # The first event of a stream has none.
            log.write(f"{way} ".encode() + text + b"\n")

    def hear(self, way, data):
        if self.sockets:
            return self.hear_frames(way, data)
        reader, other = self.readers[way], self.readers["<" if way == ">" else ">"]
        reader.receive_data(data)
        while True:
            event = reader.next_event()
            if event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
                break
            other.send(event)
            self.take(way, event)
            if self.sockets:
                return self.hear_frames(way, reader.trailing_data[0])
            if reader.our_state is reader.their_state is h11.DONE:
                reader.start_next_cycle()
                other.start_next_cycle()

    def take(self, way, event):
        if isinstance(event, h11.Request | h11.Response | h11.InformationalResponse):
            headers = {name.decode(): value.decode() for name, value in event.headers}
            facts = {"session": headers.get("mcp-session-id"), "last_event": headers.get("last-event-id")}
            facts = {name: value for name, value in facts.items() if value}
            self.kind[way], self.body[way] = headers.get("content-type"), b""
            if isinstance(event, h11.Request):
                self.note(request=f"{event.method.decode()} {event.target.decode()}", **facts)
                return
            self.note(status=event.status_code, **facts)
            if event.status_code == 101:
                self.sockets = {">": Protocol(Side.SERVER), "<": Protocol(Side.CLIENT)}
        elif isinstance(event, h11.Data):
            self.body[way] += event.data
            while self.kind[way] == "text/event-stream" and b"\n\n" in self.body[way]:
                lines, self.body[way] = self.body[way].split(b"\n\n", 1)
                self.event(way, lines.split(b"\n"))
        elif self.kind[way] == "application/json":
            self.message(way, self.body[way])

    def event(self, way, lines):
        data = b"\n".join(line[len("data: ") :] for line in lines if line.startswith(b"data: "))
        if b"event: endpoint" in lines:
            self.note(endpoint=data.decode())
        else:
            self.message(way, data)

    def hear_frames(self, way, data):
        socket = self.sockets[way]
        socket.receive_data(data)
        for frame in socket.events_received():
            if frame.opcode is Opcode.TEXT:
                self.message(way, frame.data)
            elif frame.opcode is Opcode.CLOSE:
                self.note(closed=way)
        socket.data_to_send()  # It would answer pings. The real ends do.


async def relay(host, port, reader, writer):
    above = await asyncio.open_connection(host, port)
    exchange = Exchange()
    connection = (exchange, (writer.transport, above[1].transport))
    connections.append(connection)

    async def pump(way, source, sink):
        try:
            while data := await source.read(65536):
                try:
                    exchange.hear(way, data)  # Before it is passed on: whoever got an answer finds it in the log.
                except Exception as error:
                    exchange.note(broken=f"{way} {type(error).__name__}: {error}")
                    raise
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        exchange.note(end=way)

    pumps = [asyncio.create_task(pump(">", reader, above[1])), asyncio.create_task(pump("<", above[0], writer))]
    await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    for side in (writer, above[1]):
        side.close()
    await asyncio.wait(pumps)
    connections.remove(connection)


def break_newest_stream():
    exchange, ends = [(exchange, ends) for exchange, ends in connections if exchange.is_stream()][-1]
    exchange.note(broken_off=True)
    for end in ends:
        end.abort()


def keys(program, *arguments):
    return subprocess.run([program, "keys", *arguments], capture_output=True, check=True).stdout


async def main():
    program = sys.argv[2]
    config = Path.home() / "fluxway.toml"
    config.write_text('toolsets = ["integrate", "reference", "projects", "diagnostics"]\n')
    key, admin, old = (json.loads(keys(program, "create", "--json", "--scope", scope)) for scope in SCOPES)
    keys(program, "revoke", old["id"])
    command = [program, "serve", "--http", "127.0.0.1:0", "--config", config]
    server = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE, stdout=sys.stderr)
    greeting = ""
    # A warning may come first: the server is started in a home folder, which is no root.
    while "listens on" not in greeting and not server.stderr.at_eof():
        greeting = (await asyncio.wait_for(server.stderr.readline(), PATIENCE)).decode()
    sys.stderr.write(greeting)
    host, port = re.search(r"//([0-9.]+):([0-9]+)/mcp", greeting).groups()

    async def copy_log():
        while line := await server.stderr.readline():
            sys.stderr.buffer.write(line)
            sys.stderr.flush()

    copying = asyncio.create_task(copy_log())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, break_newest_stream)
    tap = await asyncio.start_server(lambda *ends: relay(host, port, *ends), "127.0.0.1", 0)
    address = "127.0.0.1:%d" % tap.sockets[0].getsockname()[1]
    served = {"tap": address, "server": f"{host}:{port}", "key": key["key"], "admin": admin["key"]}
    served |= {"old_key": old["key"], "config": str(config), "server_process": server.pid, "tap_process": os.getpid()}
    print(json.dumps(served), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.terminate()
    code = await asyncio.wait_for(server.wait(), PATIENCE)
    await copying
    os._exit(code)  # Not sys.exit: a client may still be connected, and would be waited for.


connections = []
log = open(sys.argv[1], "ab", buffering=0)
asyncio.run(main())
