"""What a folder holds, down to the byte and the mode, and how two such states differ."""

import hashlib
import os
import shutil
from pathlib import PurePosixPath


def snapshot(root, without=()):
    """Everything below the folder by its path: files with mode and digest, folders with mode, links with target."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in without]
        for name in folders + files:
            path = os.path.join(folder, name)
            found[PurePosixPath(os.path.relpath(path, root))] = state(path)
    return found


def state(path):
    mode = os.lstat(path).st_mode
    if os.path.islink(path):
        return "link", os.readlink(path)
    if os.path.isdir(path):
        return "folder", oct(mode)
    with open(path, "rb") as file:
        return "file", oct(mode), hashlib.sha256(file.read()).hexdigest()


def differences(before, after):
    """One line for each path that is not as it was."""
    lines = [f"new: {path}" for path in after.keys() - before.keys()]
    lines += [f"gone: {path}" for path in before.keys() - after.keys()]
    lines += [f"changed: {path}" for path in before.keys() & after.keys() if before[path] != after[path]]
    return sorted(lines)


def files_that_differ(before, after):
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return {str(path) for path in paths if (after.get(path) or before[path])[0] == "file"}


def remove(root, paths):
    for path in paths:
        target = root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        elif os.path.lexists(target):  # Its folder may have gone before it.
            target.unlink()
