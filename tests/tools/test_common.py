"""What the tools share in tools/lib/common.sh."""

import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def shell(command):
    return subprocess.run(["bash", "-c", f"source tools/lib/common.sh; {command}"], cwd=ROOT, capture_output=True,
                          text=True, timeout=30)


class StopLeftOver(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, name):
        program = self.folder / name
        shutil.copy(shutil.which("sleep"), program)
        process = subprocess.Popen([str(program), "30"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        (self.folder / "pid").write_text(f"{process.pid}\n")
        return process

    def stop(self):
        done = shell(f"stop_left_over {self.folder}/pid")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_program_that_took_over_the_pid_is_left_alone(self):
        process = self.start("editor")
        self.assertEqual(self.stop(), "")
        self.assertIsNone(process.poll())

    def test_a_gpuctld_is_stopped_also_when_it_was_rebuilt_since(self):
        process = self.start("gpuctld")
        (self.folder / "gpuctld").unlink()
        reaper = threading.Thread(target=process.wait)  # a zombie would still count as running
        reaper.start()
        self.assertIn("stopping", self.stop())
        reaper.join(timeout=5)
        self.assertEqual(process.returncode, -15)

    def test_no_file_and_a_file_without_a_pid_are_nothing_to_do(self):
        self.assertEqual(self.stop(), "")
        (self.folder / "pid").write_text("\n")
        self.assertEqual(self.stop(), "")


if __name__ == "__main__":
    unittest.main()
