"""Each room has a README whose file names exist, and whose arrows are those of the build, as in the architecture."""

import re
import unittest
from pathlib import Path

from test_tidy import ROOT, tidy

import rooms

FILE = re.compile(r"`([\w./-]+\.(?:hpp|cpp|md|py|txt|yaml))`")
ARROW = re.compile(r"(\w+) → (\w+(?:, \w+)*)")
SECTIONS = ("In", "Out", "May touch", "Start reading")


def room_readmes():
    """{room: path of its README}."""
    return {name: ROOT / path / "README.md" for name, (path, _, _) in tidy.rooms().items()}


def readmes():
    """Those of rooms, and of the folders that hold several."""
    folders = ("bench", "bench/print", "bench/reads", "bench/simulate", "daemon", "tests")
    more = [ROOT / folder / "README.md" for folder in folders]
    return sorted({*room_readmes().values(), *more})


def includes_of(text):
    match = re.search(r"^- \*\*May include\*\*: (.*)$", text, re.MULTILINE)
    return set(match.group(1).split(", ")) if match and not match.group(1).startswith("no room") else set()


class RoomReadmes(unittest.TestCase):
    def test_each_room_says_what_goes_in_and_out_and_where_to_start(self):
        for path in readmes():
            with self.subTest(path=str(path.relative_to(ROOT))):
                text = path.read_text()
                for section in SECTIONS:
                    self.assertIn(f"- **{section}**: ", text)
                self.assertLessEqual(len(text.splitlines()), 12)

    def test_each_named_file_exists(self):
        for path in readmes():
            names = FILE.findall(path.read_text())
            self.assertTrue(names, f"{path} names no file to start with")
            for name in names:
                with self.subTest(path=str(path.relative_to(ROOT)), name=name):
                    self.assertTrue((path.parent / name).is_file() or (ROOT / name).is_file())

    def test_the_rooms_a_room_may_include_are_those_it_links(self):
        table = tidy.rooms()
        for name, path in room_readmes().items():
            linked = {room for room in table[name][1] + table[name][2] if room in table}
            with self.subTest(room=name):
                self.assertEqual(includes_of(path.read_text()), linked)

    def test_the_sources_that_tools_check_examines_are_those_of_all_rooms(self):
        self.assertIn("tools/lib/rooms.py", (ROOT / "tools" / "check").read_text())
        sources = rooms.sources()
        for path in ("wording/wording.cpp", "policy_document/checks.cpp", "daemon/app/main.cpp", "sim/cluster.cpp"):
            self.assertIn(path, sources)
        tests_and_tools = ("tests/", "bench/")
        missing = [path for path in tidy.tracked_files()
                   if path.endswith(".cpp") and not path.startswith(tests_and_tools) and path not in sources]
        self.assertEqual(missing, [])

    def test_the_arrows_of_the_architecture_are_those_of_the_build(self):
        text = (ROOT / "docs" / "architecture.md").read_text()
        drawn = {room: set(arrows.split(", ")) for room, arrows in ARROW.findall(text)}
        table = tidy.rooms()
        linked = {name: {room for room in (*public, *private) if room in table}
                  for name, (_, public, private) in table.items()}
        self.assertEqual(drawn, {name: rooms for name, rooms in linked.items() if rooms})


if __name__ == "__main__":
    unittest.main()
