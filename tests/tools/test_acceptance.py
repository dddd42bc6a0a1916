"""The page of acceptance cases names exactly the tests that there are: a case cannot get lost, nor a test of one.
GPUCTL_UPDATE_GOLDEN=1 writes the names of the files into the page."""

import collections
import os
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "acceptance.md"
ROW = re.compile(r"(?m)^\| ((?:[A-M]|SC-)\d+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$")
ID = re.compile(r"(?<![A-Za-z0-9])([A-M]\d{1,2}|SC_\d)(?=_)")
# Numbers that are left out are no cases.
CASES = {"A": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17), "B": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21),
         "C": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15), "D": (1, 2, 3, 5, 6, 7, 9), "E": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18),
         "F": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13), "G": (1, 2, 3, 5, 6, 7, 9, 10), "H": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15),
         "I": (1, 2, 3, 5, 6, 7), "J": (1, 2, 3, 5, 6, 7), "K": (1, 2, 3, 5, 6, 7, 9), "L": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19),
         "M": (1, 2, 3), "SC-": (1, 2, 3, 4, 5)}


def tests_of_cases():
    """{id: files with a test that has it in its name}."""
    found = collections.defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("*")):
        if path.suffix == ".cpp":
            names = re.findall(r"TEST(?:_F|_P)?\(\s*Acceptance\w*,\s*(\w+)\s*\)", path.read_text())
        elif path.match("integration/test_acceptance_*.py"):
            names = re.findall(r"def test_(\w+)\(", path.read_text())
        else:
            continue
        for name in names:
            for case in ID.findall(name):
                found[case.replace("_", "-")].add(str(path.relative_to(ROOT)))
    return found


def write_page(tests):
    def row(found):
        case, what, files, more = found.groups()
        names = ", ".join(f"`{name}`" for name in sorted(tests.get(case, ())))
        return f"| {case} | {what} | {names or files} |{more}|"

    PAGE.write_text(ROW.sub(row, PAGE.read_text()))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("GPUCTL_UPDATE_GOLDEN"):
            write_page(tests_of_cases())

    def setUp(self):
        self.rows = {case: (files, more) for case, _, files, more in ROW.findall(PAGE.read_text())}

    def test_it_has_every_case_once(self):
        cases = [f"{group}{number}" for group, numbers in CASES.items() for number in numbers]
        self.assertEqual(sorted(case for case, *_ in ROW.findall(PAGE.read_text())), sorted(cases))
        self.assertEqual(len(cases), 134)

    def test_each_row_names_the_files_with_tests_of_its_id(self):
        tests = tests_of_cases()
        for case, (files, more) in self.rows.items():
            with self.subTest(case):
                named = set(re.findall(r"`([^`]+)`", files))
                self.assertEqual(named, tests.get(case, set()), "the files whose tests have it in their names")
                if not named:
                    self.assertEqual(files.strip(), "open")
                    self.assertTrue(more.strip(), "an open case says what it waits for")

    def test_no_test_has_the_id_of_a_case_that_is_none(self):
        self.assertEqual(set(tests_of_cases()) - set(self.rows), set())


if __name__ == "__main__":
    unittest.main()
