"""A document that cites code that is not there is found: tools/lib/citations.py."""

import unittest

from test_tidy import ROOT, tidy

from citations import Repository, check_citations, check_comments, defines, has_member, is_cited_from


REPOSITORY = Repository(ROOT, tidy.tracked_files())


def findings(text, path="docs/x.md"):
    return [what for _, _, what in check_citations(path, text.splitlines(), REPOSITORY)]


class Paths(unittest.TestCase):
    def test_a_file_or_folder_that_is_not_there_is_found(self):
        for text in ("`scheduler/engine/engine_that_was.hpp`", "see docs/adr/9999-none.md", "in `daemon/wire/`",
                     "./tools/no-such-tool", "[page](policies/none.md)", "`no_file_has_this_name.cpp`",
                     "`scheduler/nothing/*.cpp`"):
            with self.subTest(text=text):
                self.assertEqual(len(findings(text)), 1)

    def test_what_is_there_is_not(self):
        for text in ("`scheduler/engine/engine.hpp`", "see docs/adr/0031-reads.md.", "in `k8s/watch/`", "./tools/test",
                     "[page](policies/fair.md)", "`engine.hpp`", "`scheduler/engine/*.cpp`",
                     "https://host/k8s/none", "`GET /api/v1/jobs`", "build/release/gpuctld", "`gpuctld.yaml`"):
            with self.subTest(text=text):
                self.assertEqual(findings(text), [])

    def test_a_readme_may_name_files_of_its_folder(self):
        self.assertEqual(findings("`core/engine_loop.hpp: EngineLoop`", "daemon/README.md"), [])
        self.assertEqual(len(findings("`core/engine_loop.hpp: EngineLoop`", "docs/x.md")), 1)


    def test_a_path_that_lacks_its_first_folders_is_found(self):
        for text in ("`state/pods/pod_row.hpp`", "`state/quota.hpp`", "| free | idle | `nodes/capacity.hpp` |",
                     "`state/pods/pod_row.hpp: PodRow`", "(`plan/drain`)", "`core/engine_loop`", "`state/signals/`"):
            for path in ("docs/glossary.md", "docs/adr/0037-core-by-concept.md"):
                with self.subTest(text=text, path=path):
                    self.assertEqual(len(findings(text, path)), 1)

    def test_names_with_a_slash_that_are_no_paths_are_not(self):
        for text in ("`runwhere.ai/pool`", "`team-b/job-2`", "`nvidia.com/gpu.shared`", "`sched/backfill`"):
            with self.subTest(text=text):
                self.assertEqual(findings(text, "docs/glossary.md"), [])

    def test_the_drawing_of_a_readme_names_files_next_to_it(self):
        drawn = "    Plan ──> plan/cycle/{} ──> state/bindings: assume, engine/views_*"
        self.assertEqual(findings(drawn.format("planner"), "scheduler/README.md"), [])
        self.assertEqual(len(findings(drawn.format("settle_claim"), "scheduler/README.md")), 1)


class Comments(unittest.TestCase):
    def found(self, line):
        return [what for _, _, what in check_comments("scheduler/state/rows.hpp", [line], REPOSITORY)]

    def test_a_file_that_is_not_there_is_found(self):
        for line in ("// As in keys/queue_keys.cpp.", "int a;  // state/changes.hpp", "// see docs/adr/9999",
                     "// (net/http_guard)", "// whole_gangs.cpp has it"):
            with self.subTest(line=line):
                self.assertEqual(len(self.found(line)), 1)

    def test_a_file_that_is_there_is_not(self):
        for line in ("// As in policy_document/queue_keys.cpp.", "// docs/adr/0037, table.hpp", "// jobs/job_row.hpp",
                     "// k8s/workload as API objects, sim/ on the simulated cluster", '#include "x/y.hpp"  // x/y.hpp',
                     'return "keys/none.cpp";'):
            with self.subTest(line=line):
                self.assertEqual(self.found(line), [])


class Functions(unittest.TestCase):
    def test_a_function_that_the_file_does_not_define_is_found(self):
        for text in ("`k8s/write/binder.cpp: read_forth`", "`k8s/write/binder.cpp: run, read_forth`",
                     "`k8s/write/binder.cpp: Evictor::run`", "`k8s/write/gone.cpp: run`", "`tools/tidy: no_such`"):
            with self.subTest(text=text):
                self.assertEqual(len(findings(text)), 1)

    def test_a_function_type_or_constant_that_it_defines_is_not(self):
        for text in ("`k8s/write/binder.cpp: run, read_back`", "`k8s/write/binder.cpp: Binder::run`",
                     "`scheduler/model/event.hpp: BindResult`", "`daemon/app/backends.cpp: kBackends`",
                     "`scheduler/model/reason.hpp: GPUCTL_REASONS`", "`tools/tidy: check_words`",
                     "`tests/scenario/preemption.txt: one_gpu_costs_one_small_job`"):
            with self.subTest(text=text):
                self.assertEqual(findings(text), [])

    def test_a_member_that_no_class_has_is_found(self):
        self.assertEqual(findings("`Bindings::assume()`, `BindResult::elsewhere`, `Session::request_wake`"), [])
        for text in ("`Bindings::presume()`", "`ClusterState::settle_unsure`", "`gpuctl::NoClass::run`"):
            with self.subTest(text=text):
                self.assertEqual(len(findings(text)), 1)

    def test_a_member_that_the_class_lacks_is_found(self):
        for text in ("`ClusterState::assume()`", "`Engine::no_such_step`", "`gpuctl::core::EngineLoop::no_such(a, b)`",
                     "`LogObserver::on_nothing`", "`ClusterMode::no_such_mode`", "`PodFacts::no_such_fact`"):
            with self.subTest(text=text):
                self.assertEqual(len(findings(text)), 1)

    def test_a_member_that_it_has_and_a_name_of_a_namespace_is_not(self):
        for text in ("`Bindings::assume()`", "`Engine::step`", "`gpuctl::core::EngineLoop::observe()`",
                     "`LogObserver::on_phase`", "`ClusterMode::embedded`", "`PodFacts::run_time_max`",
                     "`std::variant`", "`wording::sentence()`", "`asio::ssl::stream`", "`EngineLoop::~EngineLoop`"):
            with self.subTest(text=text):
                self.assertEqual(findings(text), [])

    def test_a_use_of_a_name_in_a_class_is_no_member(self):
        body = "    void run() {\n        other.assume();\n        return assume(a);\n    }\n    int count_ = 0;\n    Rows rows;\n"
        for name, is_member in (("run", True), ("count_", True), ("rows", True), ("assume", False), ("other", False)):
            with self.subTest(name=name):
                self.assertEqual(has_member(body, name), is_member)

    def test_a_test_that_is_not_there_is_found(self):
        self.assertEqual(findings("`RouteTable.every_route_is_complete` and `Every/Help.is_what_the_golden_file_says`"), [])
        self.assertEqual(len(findings("`RouteTable.no_route_is_complete`")), 1)

    def test_a_bare_name_on_a_page_of_the_architecture_is_in_a_file_that_the_page_cites(self):
        cited = "`k8s/write/binder.cpp: run`"
        for path in ("docs/architecture/pod.md", "docs/tour.md"):
            self.assertEqual(findings(f"{cited} calls `read_back`, it is `elsewhere`", path), [])
            self.assertEqual(len(findings(f"{cited} calls\n`read_forth`", path)), 1)
        self.assertEqual(findings(f"{cited} calls `read_forth`", "docs/limits.md"), [])

    def test_a_call_is_no_definition(self):
        for use in ("    return find_room(state);", "    if (!find_room(state)) return;", "    placer.find_room(a);",
                    "    const bool has = find_room(state);", "// find_room() finds it", "    co_await find_room(a);"):
            with self.subTest(use=use):
                self.assertFalse(defines(use, "find_room"))

    def test_a_definition_or_declaration_is(self):
        for text in ("bool find_room(const ClusterState& state) {", "aio::Task<void> Planner::find_room(int a,",
                     "    [[nodiscard]] bool find_room(int a);", "Planner::find_room(ObjectKey a,",
                     "std::vector<std::pair<int, int>> find_room();"):
            with self.subTest(text=text):
                self.assertTrue(defines(text, "find_room"))


class Documents(unittest.TestCase):
    def test_the_changelog_is_not_checked(self):
        self.assertFalse(is_cited_from("CHANGELOG.md"))
        for path in ("README.md", "CONTRIBUTING.md", "docs/tour.md", "docs/policies/fair.md", "k8s/README.md",
                     "docs/adr/0031-reads.md"):
            self.assertTrue(is_cited_from(path))

    def test_every_citation_of_the_documents_is_there(self):
        for path in filter(is_cited_from, tidy.tracked_files()):
            with self.subTest(path=path):
                self.assertEqual(findings((ROOT / path).read_text(), path), [])


if __name__ == "__main__":
    unittest.main()
