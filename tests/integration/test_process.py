"""gpuctld as a process: signals, reload, a second one on the same port or journal, the journal after a crash."""

import json
import os
import pathlib
import subprocess
import unittest
import urllib.request

from support import BINARIES, REPOSITORY, RUNNING_S, Daemon, free_port, merged, wait_for

JOB = """kind: training
job: {name: %s}
environment: {image: example/train}
resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}
"""


def run(*arguments, environment=None):
    return subprocess.run([str(BINARIES / "gpuctld"), *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=60, stdin=subprocess.DEVNULL, env=environment)


class Signals(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.stop)

    def test_sigterm_ends_it_with_0(self):
        self.daemon.rest("POST", "/api/v1/jobs", JOB % "a")
        self.assertEqual(self.daemon.stop(), 0)

    def test_sigint_ends_it_with_0(self):
        self.daemon.process.send(2)
        self.assertEqual(self.daemon.process.wait(25), 0)

    def test_sighup_applies_a_good_configuration(self):
        wanted = merged(self.daemon.configuration, {"policy": {"pools": [
            {"name": "training-pool", "queues": [{"name": "research", "weight": 3}]}]}})
        self.daemon.write_configuration(wanted)
        self.daemon.process.send(1)
        wait_for(lambda: any(queue["name"] == "research" and queue["weight"] == 3 for queue in self.daemon.items("/api/v1/queues")),
                 10, "the new queue")
        self.assertEqual(self.daemon.rest("GET", "/readyz")[0], 200)

    def test_sighup_with_a_bad_one_changes_nothing_and_says_so(self):
        before = self.daemon.items("/api/v1/queues")
        (self.daemon.folder / "gpuctld.yaml").write_text("expert: {scheduling: {podsReservedPerNod: 3}}\n")
        self.daemon.process.send(1)
        wait_for(lambda: "podsReservedPerNode" in self.daemon.process.log(), 10, "the log names the nearest right key")
        self.assertEqual(self.daemon.items("/api/v1/queues"), before)
        counted = [line for line in self.daemon.rest("GET", "/metrics")[1].splitlines() if line.startswith("gpuctld_config_reloads")]
        self.assertIn('gpuctld_config_reloads_total{result="refused"} 1', counted)

    def test_sighup_with_a_pipe_in_the_place_of_the_file_stops_nothing(self):
        file = self.daemon.folder / "gpuctld.yaml"
        file.unlink()
        os.mkfifo(file)
        self.daemon.process.send(1)
        wait_for(lambda: "not a regular file" in self.daemon.process.log(), 10, "the log says what is wrong with it")
        self.assertEqual(self.daemon.rest("GET", "/livez")[0], 200)
        file.unlink()
        self.assertEqual(self.daemon.stop(), 0)

    def test_sighup_with_a_change_that_needs_a_restart_is_refused_whole(self):
        wanted = merged(self.daemon.configuration, {"server": {"port": free_port()}, "expert": {"scheduling": {"podsReservedPerNode": 5}}})
        self.daemon.write_configuration(wanted)
        self.daemon.process.send(1)
        wait_for(lambda: "port" in self.daemon.process.log(), 10, "the log names what cannot change")
        self.assertEqual(self.daemon.rest("GET", "/health")[0], 200)


class Second(unittest.TestCase):
    def setUp(self):
        self.first = Daemon().start()
        self.addCleanup(self.first.stop)

    def ends(self, second, word):
        second.start(wait=False)
        self.addCleanup(second.stop)
        self.assertNotEqual(second.process.wait(20), 0)
        self.assertIn(word, second.process.log())
        self.assertEqual(self.first.rest("GET", "/readyz")[0], 200, "the first one is not disturbed")

    def test_on_the_same_port_ends_with_a_clear_message(self):
        self.ends(Daemon({"server": {"port": self.first.port}}), str(self.first.port))

    def test_on_the_same_journal_ends_with_a_clear_message(self):
        self.ends(Daemon({"journal": {"directory": str(self.first.folder / "journal")}}), "journal")


class Configuration(unittest.TestCase):
    def test_the_shipped_file_is_good(self):
        done = run("--check-config", "--config", REPOSITORY / "config" / "gpuctld.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mistakes_are_named_with_file_line_and_the_nearest_right_name(self):
        file = Daemon().folder / "wrong.yaml"
        for text, words in (("server:\n  prot: 1\n", ("wrong.yaml", "2", "port")), ("server:\n  port: many\n", ("2", "port")),
                            ("server:\n  port: 70000\n", ("port", "65535")), ("server: [1\n", ("wrong.yaml",)),
                            ("cluster:\n  mode: embedded\n  kubernetes: {}\n", ("kubernetes",))):
            with self.subTest(text):
                file.write_text(text)
                done = run("--check-config", "--config", file)
                self.assertNotEqual(done.returncode, 0)
                for word in words:
                    self.assertIn(word, done.stdout + done.stderr)

    def test_the_environment_may_name_the_file(self):
        file = Daemon().folder / "named.yaml"
        file.write_text("server: {port: 4711}\n")
        done = run("--print-config", environment={**os.environ, "GPUCTLD_CONFIG": str(file)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"port: 4711  # {file}:1:10\n", done.stdout)

    def test_a_printed_value_names_the_flag_that_set_it(self):
        done = run("--print-config", "--listen", "127.0.0.2:4712")
        self.assertIn("port: 4712  # flag --listen\n", done.stdout)
        self.assertIn("metricsRequireToken: false  # default\n", done.stdout)

    def test_an_open_address_without_tls_and_tokens_does_not_start(self):
        file = Daemon().folder / "open.yaml"
        file.write_text(f"server: {{address: 0.0.0.0, port: {free_port()}}}\n")
        done = run("--config", file)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("tls", (done.stdout + done.stderr).lower())

    def test_a_missing_file_is_named(self):
        done = run("--config", "/nowhere/gpuctld.yaml")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nowhere/gpuctld.yaml", done.stdout + done.stderr)


class Replay(unittest.TestCase):
    def test_its_json_document_has_the_content_of_its_text(self):
        with Daemon() as daemon:
            self.assertEqual(daemon.rest("POST", "/api/v1/jobs", JOB % "a")[0], 201)
            folder = next(pathlib.Path(daemon.folder, "journal").rglob("journal-*.log")).parent
            daemon.process.send(15)
            self.assertEqual(daemon.process.wait(25), 0)
            above = daemon.gpuctl("replay", str(folder.parent), check=False)
            text = daemon.gpuctl("replay", str(folder), "--verify").stdout
            document = json.loads(daemon.gpuctl("replay", str(folder), "--verify", "--events", "-o", "json").stdout)
        self.assertEqual(above.returncode, 3)
        self.assertIn(f"there is one in {folder}", above.stderr)
        self.assertIn(f"state hash     {document['state_hash']}\n", text)
        self.assertIn(f"inputs         {document['inputs']}\n", text)
        self.assertEqual(len(document["events"]), document["inputs"])
        self.assertEqual(document["events"][-1]["sequence"], document["last_sequence"])
        self.assertEqual(document["violations"], [])

    def test_a_replay_of_a_running_server_gives_the_state_that_it_has(self):
        with Daemon() as daemon:
            for name in "abc":
                self.assertEqual(daemon.rest("POST", "/api/v1/jobs", JOB % name)[0], 201)
            folder = next(pathlib.Path(daemon.folder, "journal").rglob("journal-*.log")).parent

            def running_state():
                with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/debug/snapshot", timeout=10) as response:
                    return response.headers["X-State-Hash"]

            def replayed():
                return json.loads(daemon.gpuctl("replay", str(folder), "-o", "json").stdout)["state_hash"]

            # Between two equal hashes nothing came in, so that what was read lies between them.
            def both():
                before, hashed, after = running_state(), replayed(), running_state()
                return (before, hashed) if before == after else None

            before, hashed = wait_for(both, RUNNING_S, "two equal hashes around a replay")
            self.assertEqual(hashed, before)

    def test_a_folder_without_a_journal_is_reported_in_the_document_too(self):
        daemon = Daemon()
        done = daemon.gpuctl("replay", str(daemon.folder), "--json", check=False)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(json.loads(done.stdout)["code"], "NotFound")
        self.assertIn("there is no journal", daemon.gpuctl("replay", str(daemon.folder), check=False).stderr)


class Crash(unittest.TestCase):
    def test_acknowledged_jobs_survive_kill_9(self):
        daemon = Daemon().start()
        acknowledged = []
        for number in range(20):
            self.assertEqual(daemon.rest("POST", "/api/v1/jobs", JOB % f"kept-{number}")[0], 201)
            acknowledged.append(f"kept-{number}")
        daemon.process.kill()
        again = Daemon(folder=daemon.folder).start()
        self.addCleanup(again.stop)
        for name in acknowledged:
            self.assertEqual(again.rest("GET", f"/api/v1/jobs/{name}?namespace=default")[0], 200, name)
        wait_for(lambda: all(again.job(name, "default")["status"] in ("Running", "Succeeded") for name in acknowledged),
                 RUNNING_S, "they all run")

    def journal_files(self, daemon):
        files = [file for file in pathlib.Path(daemon.folder, "journal").rglob("*") if file.is_file() and file.stat().st_size > 64]
        return sorted(files, key=lambda file: file.stat().st_size)

    def test_a_torn_tail_is_cut(self):
        daemon = Daemon().start()
        self.assertEqual(daemon.rest("POST", "/api/v1/jobs", JOB % "kept")[0], 201)
        daemon.process.kill()
        largest = self.journal_files(daemon)[-1]
        with open(largest, "ab") as file:
            file.write(b"\x40\0\0\0half a record")
        again = Daemon(folder=daemon.folder).start()
        self.addCleanup(again.stop)
        self.assertEqual(again.rest("GET", "/api/v1/jobs/kept?namespace=default")[0], 200)

    def test_damage_in_the_middle_refuses_to_start(self):
        daemon = Daemon().start()
        for number in range(5):
            self.assertEqual(daemon.rest("POST", "/api/v1/jobs", JOB % f"kept-{number}")[0], 201)
        daemon.process.kill()
        largest = self.journal_files(daemon)[-1]
        data = bytearray(largest.read_bytes())
        data[len(data) // 2] ^= 0xFF
        largest.write_bytes(data)
        again = Daemon(folder=daemon.folder)
        again.start(wait=False)
        self.addCleanup(again.stop)
        self.assertNotEqual(again.process.wait(20), 0)
        self.assertIn(largest.name, again.process.log())


if __name__ == "__main__":
    unittest.main()
