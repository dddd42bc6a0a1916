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
    "aio": ("daemon/aio", ["base"], []),
    "net": ("daemon/net", ["aio"], []),
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
        }
        for rule, code in examples.items():
            with self.subTest(rule=rule):
                self.assertIn(rule, rules("scheduler/engine/x.cpp", code))

    def test_a_ban_holds_only_in_its_rooms(self):
        self.assertEqual(rules("daemon/net/x.cpp", "auto t = std::chrono::steady_clock::now();"), [])

    def test_comments_and_strings_are_not_code(self):
        self.assertEqual(rules("scheduler/engine/x.cpp", '// std::mutex\nauto s = "nlohmann";'), [])

    def test_co_spawn_lives_in_the_task_group_only(self):
        code = "boost::asio::co_spawn(executor, task(), token);"
        self.assertIn("detached", rules("daemon/net/x.cpp", code))
        self.assertEqual(rules("daemon/aio/task_group.cpp", code), [])

    def test_a_shell_is_never_used(self):
        self.assertIn("shell", rules("k8s/x.cpp", 'system("ls");'))


class Arrows(unittest.TestCase):
    def test_the_core_must_not_include_the_network(self):
        self.assertEqual(rules("scheduler/engine/x.cpp", '#include "daemon/net/http_client.hpp"'), ["arrow"])

    def test_an_arrow_may_be_followed_through_public_rooms(self):
        self.assertEqual(rules("daemon/net/x.cpp", '#include "scheduler/base/result.hpp"'), [])

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
        self.assertIn("coroutine lambda", rules("daemon/net/x.cpp", code))

    def test_a_capturing_plain_lambda_is_fine(self):
        self.assertEqual(rules("daemon/net/x.cpp", "auto f = [&x](int i) { return x + i; };"), [])

    def test_a_coroutine_without_captures_is_fine(self):
        self.assertEqual(rules("daemon/net/x.cpp", "auto f = []() -> aio::Task<void> { co_return; };"), [])


class Shape(unittest.TestCase):
    def test_a_file_of_many_ideas_is_found(self):
        self.assertIn("length", rules("daemon/net/x.cpp", "\n" * (tidy.LINES_MAX + 2)))

    def test_a_header_without_guard_is_found(self):
        self.assertIn("header", rules("daemon/net/x.hpp", "int x;"))


if __name__ == "__main__":
    unittest.main()
