"""The server on a pipe, with a database of its own, and what is asked of it."""

import itertools
import json
import os
import subprocess

PAGE = 1000  # Tokens in one answer, so that large files need several.


class Refused(Exception):
    """A tool said no, and why."""


class Server:
    def __init__(self, binary, home):
        hidden = ("FLUXWAY_", "XDG_")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        command = [binary, "serve", "--toolsets", "projects", "--database", f"sqlite:{home / 'tokens.db'}"]
        self.process = subprocess.Popen(
            command,
            cwd=home,
            env=variables | {"HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=open(home / "server.err", "wb"),
        )
        self.ids = itertools.count(1)
        client = {"name": "tokens", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        self.ask("initialize", hello)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        number = next(self.ids)
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == number:
                if "error" in answer:
                    raise Refused(answer["error"]["message"])
                return answer["result"]
        raise ChildProcessError("the server ended")

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise Refused(result["content"][0]["text"])
        return result["structuredContent"]

    def stop(self):
        self.process.stdin.close()
        if self.process.wait(timeout=120):
            raise ChildProcessError(f"the server ended with exit code {self.process.returncode}")


class Project:
    """A project without a design system, and the one that it gets."""

    def __init__(self, server, name):
        self.server = server
        answer = server.call("create_project", name=name, description="", template="bare")
        self.id = answer["id"]

    def take(self, op, source):
        """Imports a text. Returns what was said about it."""
        change = {"op": op, "source": source}
        return self.server.call("edit_design_system", projectId=self.id, changes=[change])["findings"]

    def see(self, view, **more):
        return self.server.call("get_design_system", projectId=self.id, view=view, **more)

    def problems(self):
        return self.see("problems")["findings"]

    def written(self):
        return self.see("tokens")["tokens"]

    def modes(self):
        return self.see("problems")["modes"]

    def export(self, format):
        return self.see("export", format=format)["export"]

    def resolved(self, mode=None):
        """Type and value of every token by its path, page by page."""
        found, more = {}, {} if mode is None else {"mode": mode}
        while True:
            page = self.see("resolved", limit=PAGE, **more)
            for token in page["resolved"]:
                if token["path"] in found:
                    raise AssertionError(f"{token['path']} came twice")
                found[token["path"]] = (token.get("type"), token["value"])
            if "nextCursor" not in page:
                return found
            more["cursor"] = page["nextCursor"]

    def delete(self, name):
        self.server.call("delete_project", projectId=self.id, confirm=name)
