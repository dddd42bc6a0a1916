"""What tools/test concludes from the report of a program: tools/lib/run_tests.py."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lib"))
from run_tests import Tally, compare_decisions, problem_with_decisions  # noqa: E402

GOLDEN = "1..20 aa\n21..40 bb\n41..60 cc\n"


class Decisions(unittest.TestCase):
    def test_hashes_as_recorded_are_no_problem(self):
        self.assertEqual(problem_with_decisions({"1..20": "aa", "21..40": "bb"}, GOLDEN), "")

    def test_the_first_block_with_another_hash_is_named(self):
        problem = problem_with_decisions({"1..20": "aa", "21..40": "xx", "41..60": "yy"}, GOLDEN)
        self.assertEqual(problem, "decisions differ from tests/golden/decisions.txt, first in seeds 21..40")

    def test_a_block_that_is_not_recorded_is_a_problem(self):
        self.assertEqual(problem_with_decisions({"1..20": "aa", "61..80": "dd"}, GOLDEN),
                         "tests/golden/decisions.txt lacks seeds 61..80")
        self.assertEqual(problem_with_decisions({"1..20": "aa"}, ""), "tests/golden/decisions.txt lacks seeds 1..20")

    def test_a_hash_that_is_recorded_twice_is_the_hash_of_nothing(self):
        problem = problem_with_decisions({"1..20": "aa"}, GOLDEN + "61..80 ee\n81..100 ee\n")
        self.assertIn("has one hash for seeds 61..80 and 81..100", problem)

    def test_a_run_that_lists_nothing_is_a_problem(self):
        self.assertEqual(problem_with_decisions({}, GOLDEN), "the run listed no decisions")

    def test_the_recorded_list_has_no_hash_twice(self):
        recorded = (ROOT / "tests" / "golden" / "decisions.txt").read_text()
        blocks = dict(line.split() for line in recorded.splitlines())
        self.assertEqual(problem_with_decisions(blocks, recorded), "")

    def test_a_violation_is_not_reported_twice(self):
        tally = Tally()
        compare_decisions(tally, {"violations": [{"seed": 7}], "decisionBlocks": {}})
        self.assertEqual((tally.passed, tally.failed), (0, []))


if __name__ == "__main__":
    unittest.main()
