"""The journal's disk full, read-only or missing: the error is a sentence, and no acknowledged job is lost.

The journal lies on a tmpfs of a megabyte; docs/adr/0006-journal.md says what holds when a write fails."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from processes import Process
from support import READY_S, Daemon, wait_for

DISK_BYTES = 1 << 20
LEFT_BYTES = 64 << 10  # free space when the disk starts to fill up; some dozens of jobs
SUBMITS_MAX = 2000
REFUSED_AFTERWARDS = 5
FULL = "No space left on device"
JOB = """kind: training
job: {name: %s}
environment: {image: example/train}
resources: {pool: training-pool, gpu: 1, cpu: 1, memory: 1Gi}
"""


class SmallDisk:
    """A tmpfs: mounted by root, else in a namespace of our own that a waiting process keeps alive."""

    def __init__(self, size=DISK_BYTES):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-disk-"))
        self._holder = None
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "gpuctl-test", str(self._folder)]
        if os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            self.path = self._folder
            return
        script = f"{' '.join(mount)} && touch {self._folder}/.up && exec sleep 600"
        self._holder = Process("small-disk", ["unshare", "-rm", "sh", "-c", script], self._folder.with_suffix(".log"))
        self.path = pathlib.Path(f"/proc/{self._holder.pid}/root{self._folder}")
        wait_for(lambda: (self.path / ".up").exists() or not self._holder.alive, 10, "a tmpfs in a namespace")
        if not self._holder.alive:
            raise AssertionError("these tests mount a tmpfs: run them as root, or where `unshare -rm` is allowed: "
                                 + self._holder.log())

    def fill(self, left=0):
        """A file that takes all but `left` bytes, in whole pages."""
        with open(self.path / "ballast", "wb", buffering=0) as file:
            room = os.statvfs(self.path)
            pages = room.f_bavail - left // room.f_bsize
            for _ in range(pages):
                file.write(bytes(room.f_bsize))

    def free(self):
        (self.path / "ballast").unlink()

    def make_read_only(self):
        target = str(self._folder)
        inside = [] if self._holder is None else [
            "nsenter", "-t", str(self._holder.pid), "-U", "-m", "--preserve-credentials"]
        subprocess.run([*inside, "mount", "-o", "remount,ro", target], check=True, capture_output=True)

    def remove(self):
        if self._holder is None:
            subprocess.run(["umount", "-l", str(self._folder)], check=True, capture_output=True)
        else:
            self._holder.kill()
            self._folder.with_suffix(".log").unlink()
        shutil.rmtree(self._folder, ignore_errors=True)


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.disk = SmallDisk()
        self.addCleanup(self.disk.remove)
        self.daemon = self.daemon_on_disk()
        self.addCleanup(self.discard, self.daemon)
        self.daemon.start()
        self.acknowledged = []

    def daemon_on_disk(self, **options):
        return Daemon({"journal": {"directory": str(self.disk.path)}}, **options)

    @staticmethod
    def discard(daemon):
        """A daemon that cannot seal its journal has no good end to wait for."""
        daemon.process.kill()
        shutil.rmtree(daemon.folder, ignore_errors=True)

    def submit(self, name):
        status, body = self.daemon.rest("POST", "/api/v1/jobs", JOB % name)
        if status == 201:
            self.acknowledged.append(name)
        return status, body

    def run_full(self):
        """Submits until the disk refuses; the first refusal. Afterwards nothing is taken any more."""
        self.disk.fill(left=LEFT_BYTES)
        for number in range(SUBMITS_MAX):
            status, body = self.submit(f"job-{number}")
            if status != 201:
                return status, body
        raise AssertionError(f"{SUBMITS_MAX} submits, and the disk of {DISK_BYTES} bytes is not full")

    def lost(self, daemon):
        return [name for name in self.acknowledged
                if daemon.rest("GET", f"/api/v1/jobs/{name}?namespace=default")[0] != 200]

    def test_submits_are_refused_with_a_sentence_that_names_the_disk(self):
        status, body = self.run_full()
        self.assertGreater(len(self.acknowledged), 5, "there was room for some")
        for number in range(REFUSED_AFTERWARDS + 1):
            with self.subTest(refusal=number):
                self.assertEqual(status, 507, body)
                self.assertEqual(body["error"], "JournalFailed")
                self.assertEqual(body["type"], "urn:gpuctl:error:JournalFailed")
                self.assertIn(FULL, body["message"])
                self.assertIn("journal", body["message"])
                self.assertIn("restart", body["message"], "what the reader can do")
            status, body = self.submit(f"late-{number}")
        done = self.daemon.gpuctl("create", "-f", "-", stdin=JOB % "by-hand", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(FULL, done.stderr)
        self.assertIn("journal", done.stderr)

    def test_readyz_gives_the_cause_and_queries_are_still_answered(self):
        self.run_full()
        status, body = self.daemon.rest("GET", "/readyz")
        self.assertEqual(status, 500)
        self.assertRegex(body, rf"\[-\]journal failed: .*{FULL}")
        status, body = self.daemon.rest("GET", "/livez")
        self.assertEqual(status, 500, "only a restart resolves it: the liveness probe fails")
        self.assertRegex(body, rf"\[-\]journal failed: .*{FULL}")
        self.assertIn("gpuctld_journal_failed 1", self.daemon.rest("GET", "/metrics")[1])
        self.assertEqual(self.lost(self.daemon), [])

    def test_a_delete_is_refused_too(self):
        self.run_full()
        status, body = self.daemon.rest("DELETE", f"/api/v1/jobs/{self.acknowledged[0]}?namespace=default")
        self.assertEqual((status, body["error"]), (507, "JournalFailed"), body)

    def test_free_space_needs_a_restart_which_keeps_every_acknowledged_job(self):
        self.run_full()
        self.submit("late")
        self.disk.free()
        status, body = self.submit("with-room-again")
        self.assertEqual((status, body["error"]), (507, "JournalFailed"), "a failed write is final until the restart")
        self.assertNotEqual(self.daemon.stop(), 0, "it could not seal its journal")
        again = self.daemon_on_disk()
        again.start()
        self.addCleanup(again.stop)
        self.assertEqual(self.lost(again), [], "acknowledged, and lost")
        for name in ("late", "with-room-again"):
            self.assertEqual(again.rest("GET", f"/api/v1/jobs/{name}?namespace=default")[0], 404, f"{name} was refused")
        self.assertEqual(again.rest("POST", "/api/v1/jobs", JOB % "after")[0], 201)

    def test_killed_with_a_full_disk_it_loses_nothing_acknowledged(self):
        self.run_full()
        self.daemon.process.kill()
        self.disk.free()
        again = self.daemon_on_disk(folder=self.daemon.folder)
        again.start()
        self.addCleanup(again.stop)
        self.assertEqual(self.lost(again), [])

    def test_started_on_a_full_disk_it_says_so_and_harms_nothing(self):
        self.run_full()
        self.daemon.process.kill()
        self.disk.free()
        self.disk.fill()
        second = self.daemon_on_disk()
        second.start(wait=False)
        self.addCleanup(self.discard, second)
        # The last page of its files may have just enough room to start; then /readyz reports it.
        wait_for(lambda: second.process.exit_code or FULL in str(second.readiness()), READY_S,
                 lambda: f"it ends or says why: {second.readiness()}\n{second.process.log()}")
        self.assertIn(FULL, second.process.log())
        self.assertIn(str(self.disk.path), second.process.log())
        second.process.kill()
        self.disk.free()
        third = self.daemon_on_disk()
        third.start()
        self.addCleanup(third.stop)
        self.assertEqual(self.lost(third), [])


class UselessDirectory(unittest.TestCase):
    def ends(self, directory, *words):
        daemon = Daemon({"journal": {"directory": str(directory)}})
        daemon.start(wait=False)
        self.addCleanup(daemon.stop)
        self.assertNotEqual(daemon.process.wait(READY_S), 0)
        for word in ("journal", str(directory), *words):
            self.assertIn(word, daemon.process.log())

    def test_a_read_only_one_is_named_and_ends_the_start(self):
        disk = SmallDisk()
        self.addCleanup(disk.remove)
        disk.make_read_only()
        self.ends(disk.path, "Read-only file system")

    def test_one_that_was_in_use_and_became_read_only_is_named_and_ends_the_start(self):
        disk = SmallDisk()
        self.addCleanup(disk.remove)
        first = Daemon({"journal": {"directory": str(disk.path)}}).start()
        self.assertEqual(first.rest("POST", "/api/v1/jobs", JOB % "kept")[0], 201)
        self.assertEqual(first.stop(), 0)
        disk.make_read_only()
        self.ends(disk.path, "Read-only file system")

    def test_one_that_cannot_be_made_is_named_and_ends_the_start(self):
        with tempfile.NamedTemporaryFile(prefix="gpuctl-no-folder-") as file:
            self.ends(pathlib.Path(file.name) / "journal", "Not a directory", "journal.directory")


if __name__ == "__main__":
    unittest.main()
