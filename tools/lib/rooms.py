"""The rooms (modules) that CMakeLists.txt declares. As a program it prints the tracked .cpp files of all rooms."""

import functools
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOM = re.compile(r"gpuctl_room\((\w+)\s+([\w/]+)\s*([^)]*)\)")


@functools.cache
def rooms():
    """{room: (path, public rooms, private rooms)} as CMakeLists.txt declares them."""
    text = (ROOT / "CMakeLists.txt").read_text()
    found = {}
    for name, path, rest in ROOM.findall(text):
        groups = {"PUBLIC": [], "PRIVATE": [], "PCH": [], "EXCLUDE": []}
        current = "PUBLIC"
        for word in rest.replace("FLAT", "", 1).split():
            if word in groups:
                current = word
            else:
                groups[current].append(word)
        found[name] = (path, groups["PUBLIC"], groups["PRIVATE"])
    return found


def room_of(path, table):
    best = None
    for name, (directory, _, _) in table.items():
        if path.startswith(directory + "/") and (best is None or len(directory) > len(table[best][0])):
            best = name
    return best


def sources():
    """The tracked .cpp files of all rooms."""
    listed = subprocess.run(["git", "ls-files", "*.cpp"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if room_of(path, rooms())]


if __name__ == "__main__":
    print("\n".join(sources()))
