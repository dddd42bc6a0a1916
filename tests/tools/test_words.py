"""tools/lib/words.py refuses the words of the old dialect, in every kind of file, and leaves good English alone."""

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lib"))
import words  # noqa: E402

# Texts of the dialect and what they are to say, one at least for each phrase.
DIALECT = {
    "The room is claimed for the job.": "nominated",
    "It claims capacity on two nodes.": "nominates",
    "Which limits are kept for a head?": "quota reservations",
    "The limit holds until then.": "applies",
    "What is kept back for other queues.": "reserved",
    "It keeps none back.": "reserves none",
    "Behind a head elsewhere.": "the head-of-line job of another pool",
    "The job that is first in line.": "at the head of the line",
    "The work that is left.": "remaining work",
    "All that is left to do.": "remaining work",
    "Pods that are leaving.": "terminating",
    "A pod on its way out.": "terminating",
    "Jobs that are pushed out.": "preempted",
    "What it was stopped for.": "evicted for",
    "Guarantees are taken back.": "reclaimed",
    "A queue takes its GPUs back.": "reclaims",
    "At most so many of them.": "this many",
    "As so much is held.": "this amount",
    "Sizes by gain.": "marginal-speedup sizing",
    "It waits for others.": "other jobs",
    "Others may go.": "other pods",
    "One that waits is counted.": "a waiting job",
    "Of one that runs: its end.": "of a running job",
    "The end; one that has none.": "a job without an end",
    "The checker has books of its own.": "a reference model",
    "No beat for ten seconds.": "health probe",
    "It is theirs.": "the queue's",
    "What of it is idle.": "the idle part",
}
GOOD = (
    "The volume claim of the pod.", "The job leaves its queue, instead of leaving the cost to the next reader.",
    "Jobs without limits hold all GPUs.", "Entering and leaving queues is fast.", "The first two start, the others wait.",
    "All others do not.", "Kueue, Volcano and others.", "The job and the one that follows it.", "A new one that was not created.",
    "No one thatched the roof.", "The line is first in the file.", "It keeps a backup.", "It stops forever.", "Bookshelf, heartbeat.",
)


def found(path, text):
    return [number for number, *_ in words.check_words(path, text.splitlines())]


class Words(unittest.TestCase):
    def test_every_listed_word_is_found_in_names_comments_and_strings(self):
        for word in words.WORDS:
            for text in (f"int {word}_at = 0;", f"int was_{word}_ = 0;", f"struct {word.capitalize()}Job {{}};",
                         f"// It is {word}.", f'log("is {word}: ", n);'):
                with self.subTest(text=text):
                    self.assertEqual(found("k8s/x.cpp", text), [1])

    def test_the_good_form_is_not(self):
        for text in ("Instant reported_at;", "// The job that holds the GPUs; no other job waits.",
                     'log("reservation of the head-of-line job: ", n);', "std::promise<int> answer;",
                     "auto at = file.tellg();", "std::string whole, stand, besides, momentum, foretold;"):
            with self.subTest(text=text):
                self.assertEqual(found("k8s/x.cpp", text), [])

    def test_an_allowed_text_is_allowed_where_it_is_needed_and_nowhere_else(self):
        text = "nodes, pods, run_times, promises, limits_kept"
        self.assertEqual(found("scheduler/state/image/image.hpp", text), [])
        for path in ("scheduler/state/image/image.cpp", "scheduler/plan/x.hpp", "docs/x.md"):
            self.assertEqual(found(path, text), [1], path)
        self.assertEqual(found("scheduler/plan/x.hpp", "// It keeps its promises, always."), [1])

    def test_every_allowed_text_is_in_use(self):
        library = {"std::promise", "tellg", "tellp", "whoami"}
        for text, places in words.WORDS_ALLOWED.items():
            if text in library:
                continue
            with self.subTest(text=text):
                search = ["git", "grep", "-lF", "-e", text, "--", *places, ":!tools/lib/words.py", ":!tests/tools"]
                self.assertEqual(subprocess.run(search, cwd=ROOT, capture_output=True, check=False).returncode, 0)

    def test_a_claim_in_the_core_is_a_nomination_also_in_names(self):
        for code in ("bool has_claims = false;", "void drop_claim(JobId id);", '"gpus_claimed"', "// Room that it claims."):
            with self.subTest(code=code):
                self.assertEqual(found("scheduler/plan/x.cpp", code), [1] if "//" not in code else [1, 1])
        self.assertEqual(found("k8s/x.cpp", "void set(ClaimReading claim);  // a claim is read"), [])
        self.assertEqual(found("scheduler/model/job/job_spec.hpp", "std::vector<VolumeClaim> claims;"), [])
        self.assertEqual(found("scheduler/state/image/image.hpp", "Instant claim_until;"), [])


class Phrases(unittest.TestCase):
    def test_a_phrase_of_the_dialect_is_found_in_every_kind_of_file(self):
        for text in DIALECT:
            for path, line in (("k8s/x.cpp", f"int a = 0;  // {text}"), ("k8s/x.hpp", f'f("{text}");'), ("docs/x.md", f"- {text}"),
                               ("tests/x.py", f"a = 1  # {text}"), ("tests/x.py", f'"""{text}"""'), ("tests/x.py", f'f("{text}")'),
                               ("tools/x", f"# {text}"), ("config/x.yaml", f"# {text}"), ("cmake/x.cmake", f"# {text}"),
                               ("tests/scenario/x.txt", f"# {text}")):
                with self.subTest(path=path, text=text):
                    self.assertEqual(found(path, line), [1])

    def test_every_phrase_has_an_example(self):
        for rule in words.PHRASES:
            with self.subTest(pattern=rule.pattern.pattern):
                self.assertTrue(any(rule.pattern.search(text) for text in DIALECT))

    def test_ordinary_english_is_not_the_dialect(self):
        for text in GOOD:
            for path, line in (("k8s/x.cpp", f"// {text}"), ("docs/x.md", text)):
                with self.subTest(text=text):
                    self.assertEqual(found(path, line), [])

    def test_identifiers_and_code_in_documents_are_not_sentences(self):
        for path, line in (("k8s/x.cpp", "const Address theirs = others.front();"), ("tests/x.cpp", 'pod("theirs", "", 6);'),
                           ("docs/x.md", "See `state/theirs.cpp`."), ("tests/x.py", "theirs = others[0]"),
                           ("tests/scenario/x.txt", "job     theirs g pods 1x1 tenant others")):
            with self.subTest(line=line):
                self.assertEqual(found(path, line), [])

    def test_names_of_tests_and_scenarios_are_sentences(self):
        for path, line in (("tests/x_test.cpp", "TEST(Engine, a_job_waits_for_others) {"),
                           ("tests/x_test.cpp", "TEST_F(EngineTest, one_that_waits_is_counted) {"),
                           ("tests/x_test.cpp", "RC_GTEST_PROP(Engine, so_many_fit, ()) {"),
                           ("tests/integration/test_x.py", "    def test_a_job_preempts_others(self):"),
                           ("tests/scenario/x.txt", "scenario a_job_waits_for_others")):
            with self.subTest(line=line):
                self.assertEqual(found(path, line), [1])

    def test_a_docstring_of_several_lines_is_reported_at_its_line(self):
        self.assertEqual(found("tests/x.py", '"""First.\n\nIt waits for others.\n"""\n'), [3])


if __name__ == "__main__":
    unittest.main()
