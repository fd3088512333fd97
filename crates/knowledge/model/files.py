"""Where work files lie, digests, and files that are either complete or not there."""
import hashlib
import io
import os
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
WORK = pathlib.Path(os.environ.get("TABLE_WORK", HERE / "work"))


def digest(data):
    """The SHA-256 of bytes, or of the file at a path."""
    if not isinstance(data, (bytes, bytearray)):
        data = pathlib.Path(data).read_bytes()
    return hashlib.sha256(data).hexdigest()


def check_digest(data, expected):
    found = digest(data)
    if found != expected:
        name = "data" if isinstance(data, (bytes, bytearray)) else pathlib.Path(data).name
        raise SystemExit(f"{name}: sha256 is {found}, expected {expected}")


def write_whole(path, data):
    """Writes beside the target and renames, so that a reader never sees half a file."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(data)
    os.replace(draft, path)


def write_array(path, array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    write_whole(path, buffer.getvalue())


def cached(name, compute):
    """An array of the work folder, computed when it is not there."""
    path = WORK / name
    if not path.exists():
        write_array(path, compute())
    return np.load(path)
