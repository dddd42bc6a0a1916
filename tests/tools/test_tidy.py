"""tools/tidy finds what it says it finds, and leaves good code alone."""

import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("tidy", str(ROOT / "tools" / "tidy"))
SPEC = importlib.util.spec_from_loader("tidy", LOADER)
tidy = importlib.util.module_from_spec(SPEC)
import sys  # noqa: E402

sys.modules["tidy"] = tidy
LOADER.exec_module(tidy)

TABLE = {
    "base": ("scheduler/base", [], []),
    "engine": ("scheduler/engine", ["base"], []),
    "aio": ("aio", ["base"], []),
    "net": ("net", ["aio"], []),
    "api": ("daemon/api", ["net"], ["engine"]),
}


def rules(path, code, unordered=frozenset()):
    return [rule for _, rule, _ in tidy.check_file(path, code.splitlines(), TABLE, set(unordered))]


class Bans(unittest.TestCase):
    def test_every_ban_has_an_example_that_it_finds(self):
        examples = {
            "clock": "auto t = std::chrono::steady_clock::now();",
            "rand": "std::mt19937 generator;",
            "thread": "std::mutex m;",
            "io": "#include <iostream>",
            "asio": "#include <boost/asio/post.hpp>",
            "logging": "spdlog::info(1);",
            "json": "nlohmann::json j;",
            "floating point": "double share = 0;",
            "function name": "usage.note(held, now);",
            "row cast": "auto& job = static_cast<JobRow&>(jobs_.base(id, {}));",
        }
        for rule, code in examples.items():
            with self.subTest(rule=rule):
                self.assertIn(rule, rules("scheduler/engine/x.cpp", code))

    def test_a_sentence_in_the_core_is_found(self):
        code = 'victim.why = "preempted by job " + name;'
        self.assertEqual(rules("scheduler/plan/x.cpp", code), ["English"])
        self.assertEqual(rules("wording/english/x.cpp", code), [])
        self.assertEqual(rules("scheduler/plan/x.cpp", 'out.name = "gpu_model";'), [])

    def test_a_check_and_a_comment_may_be_sentences(self):
        code = 'GPUCTL_CHECK(a > 0 &&\n                 b > 0,\n             "a weight is positive");\nf();  // "it is so"'
        self.assertEqual(rules("scheduler/plan/x.cpp", code), [])
        self.assertEqual(rules("scheduler/plan/x.cpp", code + '\nauto s = "it is";'), ["English"])

    def test_every_file_that_may_have_sentences_has_one(self):
        files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "scheduler").rglob("*.[ch]pp")]
        for allowed in tidy.ENGLISH_ALLOWED:
            with self.subTest(allowed=allowed):
                below = [path for path in files if path.startswith(allowed)]
                self.assertTrue(any(tidy.ENGLISH.search(text) for path in below
                                    for text in tidy.STRING.findall((ROOT / path).read_text())))

    def test_a_ban_holds_only_in_its_rooms(self):
        self.assertEqual(rules("net/x.cpp", "auto t = std::chrono::steady_clock::now();"), [])

    def test_comments_and_strings_are_not_code(self):
        self.assertEqual(rules("scheduler/engine/x.cpp", '// std::mutex\nauto s = "nlohmann";'), [])

    def test_co_spawn_lives_in_the_task_group_only(self):
        code = "boost::asio::co_spawn(executor, task(), token);"
        self.assertIn("detached", rules("net/x.cpp", code))
        self.assertEqual(rules("aio/task_group.cpp", code), [])

    def test_a_shell_is_never_used(self):
        self.assertIn("shell", rules("k8s/x.cpp", 'system("ls");'))

    def test_a_function_is_named_by_a_verb_and_an_object(self):
        for code in ("void take(int slot);", "FinishedJob FinishedJobs::take(const ObjectKey& key) {", "history.note(run);",
                     "const auto keep = [&](int x) { f(x); };", "Step step = look_at(path);", "what_if->ask(x);"):
            with self.subTest(code=code):
                self.assertIn("function name", rules("k8s/x.cpp", code))
        for code in ("take_vacancy(id);", "note_change(id);", "int keep = 0;", "give_back(slot);", "// take(x)", 'f("ask(1)");'):
            with self.subTest(code=code):
                self.assertEqual(rules("k8s/x.cpp", code), [])

    def test_a_seeded_fault_is_asked_for_in_no_header(self):
        code = "#pragma once\nif (has_fault(SeededFault::none)) return;"
        for path in ("scheduler/state/x.hpp", "sim/x.hpp", "bench/x.hpp"):
            self.assertIn("seeded fault", rules(path, code))
        self.assertEqual(rules("scheduler/state/x.cpp", code), [])
        self.assertEqual(rules("scheduler/base/seeded_faults.hpp", code), [])

    def test_a_cluster_backend_is_named_in_the_tables_of_backends_only(self):
        for code in ("if (config.cluster.mode == ClusterMode::embedded) return;",
                     "for (const auto& nodes : config_.cluster.embedded.nodes) add(nodes);",
                     "roots = config_.cluster.kubernetes.host_path_roots;"):
            self.assertIn("backend", rules("daemon/api/x.cpp", code))
            self.assertEqual(rules("daemon/config/cluster/backend_sections.cpp", code), [])
            self.assertEqual(rules("tests/unit/daemon/x.cpp", code), [])
        self.assertEqual(rules("daemon/api/x.cpp", "row = backend_of(config.cluster.mode);"), [])

    def test_a_checker_of_the_simulation_does_not_include_what_it_checks(self):
        for room in ("plan", "policy", "queue"):
            code = f'#include "scheduler/{room}/x.hpp"'
            self.assertIn("checker", rules("sim/swarm/checks/x.cpp", code))
            self.assertNotIn("checker", rules("sim/cluster.cpp", code))
        code = '#include "scheduler/state/cluster_state.hpp"\n#include "scheduler/engine/views.hpp"'
        self.assertEqual(rules("sim/swarm/checks/x.cpp", code), [])


class Sizes(unittest.TestCase):
    def test_a_function_longer_than_a_screen_is_found(self):
        code = "void f() {\n" + "    g();\n" * (tidy.FUNCTION_LINES_MAX + 1) + "}\n"
        self.assertIn("function length", rules("scheduler/engine/x.cpp", code))

    def test_a_function_that_fits_a_screen_is_not(self):
        code = "void f() {\n" + "    g();\n" * tidy.FUNCTION_LINES_MAX + "}\n"
        self.assertEqual(rules("scheduler/engine/x.cpp", code), [])

    def test_a_method_in_a_class_and_a_test_have_the_same_limit(self):
        long = "    g();\n" * (tidy.FUNCTION_LINES_MAX + 1)
        fits = "    g();\n" * tidy.FUNCTION_LINES_MAX
        heads = ("class A : public B {\npublic:\n    int f() const override {\n%s    }\n};\n",
                 "namespace x {\nstruct A {\n    A() : a_{1} {\n%s    }\n};\n}\n",
                 "std::vector<int> f(int a,\n                   int b = {}) {\n%s}\n",
                 "template <typename T, int N = 3>\nA& operator=(const A& other) {\n%s}\n")
        for head in heads:
            with self.subTest(head=head):
                self.assertIn("function length", rules("scheduler/engine/x.cpp", head % long))
                self.assertEqual(rules("scheduler/engine/x.cpp", head % fits), [])
        for head in ("TEST(A, b) {\n%s}\n", "TEST_F(A, b) {\n%s}\n"):
            self.assertIn("function length", rules("tests/unit/x_test.cpp", head % long))

    def test_what_is_no_function_may_be_longer(self):
        rows = "    {1, 2},\n" * (tidy.FUNCTION_LINES_MAX + 1)
        members = "    int a = 0;\n" * (tidy.FUNCTION_LINES_MAX + 1)
        for code in ("const Row kRows[] = {\n%s};\n" % rows, "inline constexpr auto kRows = std::to_array<Row>({\n%s});\n" % rows,
                     "BOOST_DESCRIBE_STRUCT(B, (), (a))\n\nclass A {\n%s};\n" % members,
                     "enum class E : std::uint8_t {\n%s};\n" % ("    a,\n" * 80),
                     'const char* k = R"(void f() {\n%s})";\n' % members, "// void f() {\n%s// }\n" % members):
            with self.subTest(code=code[:30]):
                self.assertEqual(rules("net/x.cpp", code), [])

    def test_a_folder_with_too_many_files_is_found(self):
        files = [f"k8s/x{i}.cpp" for i in range(tidy.FOLDER_FILES_MAX + 1)]
        self.assertEqual([folder for folder, *_ in tidy.check_folders(files)], ["k8s"])


class Arrows(unittest.TestCase):
    def test_the_core_must_not_include_the_network(self):
        self.assertEqual(rules("scheduler/engine/x.cpp", '#include "net/http/http_client.hpp"'), ["arrow"])

    def test_an_arrow_may_be_followed_through_public_rooms(self):
        self.assertEqual(rules("net/x.cpp", '#include "scheduler/base/result.hpp"'), [])

    def test_a_private_arrow_is_not_passed_on(self):
        table = dict(TABLE, app=("daemon/app", ["api"], []))
        findings = list(tidy.check_arrows("daemon/app/x.cpp", ['#include "scheduler/engine/engine.hpp"'], table))
        self.assertEqual(len(findings), 1)

    def test_the_real_table_has_the_rooms_of_the_build(self):
        self.assertLessEqual({"base", "model", "engine", "sim", "aio", "net", "k8s", "cli"}, set(tidy.rooms()))


class Unordered(unittest.TestCase):
    def test_iteration_in_hash_order_is_found(self):
        names = tidy.declared_unordered(["std::unordered_map<int, int> by_name_;"])
        code = "for (const auto& [k, v] : by_name_) use(k, v);"
        self.assertIn("unordered", rules("scheduler/engine/x.cpp", code, names))

    def test_lookup_is_fine(self):
        self.assertEqual(rules("scheduler/engine/x.cpp", "by_name_.find(k);", {"by_name_"}), [])


class Coroutines(unittest.TestCase):
    def test_a_capturing_coroutine_lambda_is_found(self):
        code = "auto f = [&x]() -> aio::Task<void> {\n  co_await x.run();\n};"
        self.assertIn("coroutine lambda", rules("net/x.cpp", code))

    def test_a_capturing_plain_lambda_is_fine(self):
        self.assertEqual(rules("net/x.cpp", "auto f = [&x](int i) { return x + i; };"), [])

    def test_a_coroutine_without_captures_is_fine(self):
        self.assertEqual(rules("net/x.cpp", "auto f = []() -> aio::Task<void> { co_return; };"), [])


class Shape(unittest.TestCase):
    def test_a_file_of_many_ideas_is_found(self):
        self.assertIn("length", rules("net/x.cpp", "\n" * (tidy.LINES_MAX + 2)))

    def test_a_header_without_guard_is_found(self):
        self.assertIn("header", rules("net/x.hpp", "int x;"))


class Descriptions(unittest.TestCase):
    def test_a_member_that_is_not_described_is_found(self):
        code = "#pragma once\nstruct Job {\n    int a = 0;  // first\n    std::string b;\n};\nBOOST_DESCRIBE_STRUCT(Job, (), (%s))"
        self.assertIn("description", rules("scheduler/model/x.hpp", code % "a"))
        self.assertEqual(rules("scheduler/model/x.hpp", code % "a, b"), [])

    def test_functions_and_their_variables_are_no_members(self):
        code = ("#pragma once\nstruct Job {\n    int a = 0;\n    [[nodiscard]] bool has() const {\n        const int b = a;\n"
                "        return b > 0;\n    }\n    friend auto operator<=>(const Job&, const Job&) = default;\n};\n"
                "BOOST_DESCRIBE_STRUCT(Job, (), (a))\nstruct None {};\nBOOST_DESCRIBE_STRUCT(None, (), ())\n"
                "struct Next {\n    int c = 0;\n};")
        self.assertEqual(rules("scheduler/model/x.hpp", code), [])


class Prose(unittest.TestCase):
    def test_documents_scripts_configuration_and_scenarios_are_prose(self):
        for path in ("tests/integration/test_x.py", "tools/x", "tools/x.sh", "net/README.md", "config/x.yaml",
                     "tests/scenario/x.txt", "cmake/x.cmake", "CMakeLists.txt", "bench/bind/main.go"):
            with self.subTest(path=path):
                self.assertTrue(tidy.is_prose(path))

    def test_what_programs_have_written_and_the_tables_of_words_are_not(self):
        for path in ("tests/golden/metrics.txt", "tests/fixtures/x.txt", "tools/tidy", "tools/lib/words.py"):
            with self.subTest(path=path):
                self.assertFalse(tidy.is_prose(path))

    def test_words_and_sources_are_checked_in_code(self):
        self.assertIn("word", rules("k8s/x.cpp", "// It waits for others."))
        self.assertIn("source", rules("k8s/x.cpp", "// As ruling 12 says."))


if __name__ == "__main__":
    unittest.main()
