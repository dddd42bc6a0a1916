"""tools/lib/sources.py refuses what cites a text that is not in the repository."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lib"))
import sources  # noqa: E402


def found(path, text):
    return [number for number, *_ in sources.check_sources(path, text.splitlines())]


class Sources(unittest.TestCase):
    def test_a_document_that_is_not_here_is_found(self):
        for text in ("// Ruling 9. The queue that it names.", "// As ruling 12 says.", "// (ruling 30)", "// See rulings 3.",
                     "// quality.md asks for it.", "// See spec/contract.md.", "// ../shared/spec says so."):
            with self.subTest(text=text):
                self.assertEqual(found("scheduler/x.cpp", text), [1])
        self.assertEqual(found("tests/x.py", '"""config/rbac.yaml (ruling 16)."""'), [1])
        self.assertEqual(found("docs/x.md", "As [the contract](../shared/spec/contract.md) says."), [1])

    def test_an_acceptance_test_carries_the_id_of_its_case(self):
        self.assertEqual(found("tests/unit/x_test.cpp", "TEST(Acceptance, H9_delete_waits) {"), [])
        self.assertEqual(found("tests/unit/x_test.cpp", "TEST(Delete, H9_delete_waits) {"), [1])

    def test_a_code_that_nothing_defines_is_found(self):
        for text in ("// It listens (S28).", "// G4, at the deadline.", "// (G6, G12)", "// DaemonSets (S14b)."):
            with self.subTest(text=text):
                self.assertIn(1, found("scheduler/x.cpp", text))
        self.assertEqual(found("tests/x_test.cpp", "TEST(Engine, M6_a_pod_bound_elsewhere_is_dropped) {"), [1])
        self.assertEqual(found("tests/scenario/x.txt", "# Free when they are gone (G12)."), [1])
        self.assertEqual(found("docs/x.md", "By rule S9."), [1])

    def test_an_invariant_a_gpu_model_and_a_switch_are_no_such_codes(self):
        for text in ("// I14: it fits.", "// I1 and I25.", "// A T4 and an A30.", "// Compiled with -O2.", "// K8s, V100, H100.",
                     "// [V6]:PORT", 'auto s = "H9";'):
            with self.subTest(text=text):
                self.assertEqual(found("scheduler/x.cpp", text), [])
        self.assertEqual(found("docs/x.md", "See `S28` in `docs/x.md`."), [])

    def test_ordinary_words_are_not_documents(self):
        for text in ("// The ruling class.", "// The quality of service.", "// A contract."):
            self.assertEqual(found("scheduler/x.cpp", text), [])


if __name__ == "__main__":
    unittest.main()
