"""Digests, and files that are either complete or not there."""
import hashlib
import os
import pathlib


def digest(data):
    if not isinstance(data, (bytes, bytearray)):
        data = pathlib.Path(data).read_bytes()
    return hashlib.sha256(data).hexdigest()


def check_digest(data, expected):
    found = digest(data)
    if found != expected:
        name = "data" if isinstance(data, (bytes, bytearray)) else data
        raise SystemExit(f"{name}: sha256 is {found}, expected {expected}")


def write_whole(path, data):
    """Writes beside the target and renames, so that a reader never sees half a file."""
    path = pathlib.Path(path)
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(data)
    os.replace(draft, path)
