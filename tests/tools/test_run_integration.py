"""Classes in several processes: every test is reported once, also when its process ends early."""

import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "lib")]
import run_integration  # noqa: E402

SUPPORT = "_shared = {}\ndef stop_shared(): pass\n"
GOOD = "import unittest\nclass A(unittest.TestCase):\n    def test_one(self): pass\n    def test_two(self): pass\n"
BAD = "import unittest\nclass B(unittest.TestCase):\n    def test_wrong(self): self.fail('as it should')\n    def test_left_out(self): self.skipTest('no')\n"
BROKEN = ("import unittest\nclass C(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): raise OSError('no room')\n"
          "    def test_never(self): pass\n")
GONE = "import os, unittest\nclass D(unittest.TestCase):\n    def test_dies(self): os._exit(3)\n"
LAST = "import time, unittest\nclass Z(unittest.TestCase):\n    def test_end(self): pass\n"


class Workers(unittest.TestCase):
    def run_files(self, count, **files):
        kept = list(sys.path), {name: sys.modules.pop(name, None) for name in ("support", *files)}, run_integration.FOLDER
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"support": SUPPORT, **files}.items():
                pathlib.Path(folder, f"{name}.py").write_text(text)
            run_integration.FOLDER = pathlib.Path(folder)
            lines = []
            try:
                total = run_integration.run([], count, lambda *line: lines.append(line))
            finally:
                sys.path[:] = kept[0]
                for name, module in kept[1].items():
                    sys.modules.pop(name, None)
                    if module:
                        sys.modules[name] = module
                run_integration.FOLDER = kept[2]
        return total, [(test, wrong) for test, _, wrong in lines]

    def test_every_test_is_reported_of_once(self):
        total, reported = self.run_files(2, test_x_good=GOOD, test_x_bad=BAD)
        self.assertEqual(total, 4)
        self.assertEqual(sorted(test for test, _ in reported), ["test_x_bad.B.test_left_out", "test_x_bad.B.test_wrong",
                                                           "test_x_good.A.test_one", "test_x_good.A.test_two"])
        wrong = dict(reported)
        self.assertIn("as it should", wrong["test_x_bad.B.test_wrong"])
        self.assertIn("proves nothing", wrong["test_x_bad.B.test_left_out"])
        self.assertIsNone(wrong["test_x_good.A.test_one"])

    def test_a_class_that_cannot_be_set_up_is_reported(self):
        _, reported = self.run_files(1, test_x_broken=BROKEN)
        self.assertEqual(len(reported), 1)
        self.assertIn("no room", reported[0][1])

    def test_a_process_that_dies_is_reported_and_so_is_what_it_left(self):
        _, reported = self.run_files(1, test_x_gone=GONE, test_x_good=GOOD)
        wrong = dict(reported)
        self.assertIn("is gone", wrong["test_x_gone.D"])
        self.assertIn("2 tests were not run", wrong["test_x_good.A"])

    def test_the_last_one_runs_when_all_others_are_through(self):
        _, reported = self.run_files(2, test_x_good=GOOD, test_zz_rbac=LAST)
        self.assertEqual(reported[-1], ("test_zz_rbac.Z.test_end", None))


if __name__ == "__main__":
    unittest.main()
