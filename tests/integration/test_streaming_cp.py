"""cp in both directions, to its end and broken off (streaming_node.py)."""

import io
import os
import pathlib
import signal
import stat
import tarfile
import unittest

from streaming_node import TIMEOUT_S, StreamingTest
from support import unique, wait_for

MIB = 1 << 20
LARGE_MIB = int(os.environ.get("GPUCTL_CP_MIB", "256"))
LARGE_S = 600  # with sanitizers and on a busy machine
GROWTH_MIB_MAX = 96  # of gpuctl or gpuctld, whatever the size of the file
# Freed memory that a sanitizer keeps is none of the program's.
os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=4")


def described(folder):
    """path -> (kind, mode, content or target) of everything in a folder."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        facts = path.lstat()
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder", stat.S_IMODE(facts.st_mode))
        else:
            found[name] = ("file", stat.S_IMODE(facts.st_mode), path.read_bytes())
    return found


def make_tree(folder):
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "sub" / "big").write_bytes(os.urandom(2_000_003))
    (folder / "sub" / "nothing").touch()
    (folder / "sub" / "block").write_bytes(b"x" * 512)
    (folder / ("long-" + "n" * 120)).write_text("a long name\n")
    (folder / "sub" / "deep" / "gr\u00f6\u00dfe 'and' \"quotes\"").write_text("odd\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "secret").write_text("s\n")
    (folder / "secret").chmod(0o600)
    (folder / "link").symlink_to("sub/big")
    (folder / "sub" / "up").symlink_to("../run.sh")
    (folder / "empty").chmod(0o750)
    return folder


class Cp(StreamingTest):
    def left_over(self, folder):
        return [path.name for path in pathlib.Path(folder).iterdir() if path.name.startswith(".gpuctl")]

    def copy(self, source, destination, code=0):
        done = self.gpuctl("cp", str(source), str(destination))
        self.assertEqual(done.returncode, code, done)
        return done.stderr.decode()

    def test_a_folder_is_the_same_after_both_ways(self):
        tree = make_tree(self.here / "tree")
        self.copy(tree, f"worker:{self.there}/copied")
        self.assertEqual(described(self.there / "copied"), described(tree))
        self.copy(f"worker:{self.there}/copied", self.here / "back")
        self.assertEqual(described(self.here / "back"), described(tree))
        self.assertEqual(self.left_over(self.there) + self.left_over(self.here), [])

    def test_a_folder_that_exists_gets_the_copy_in_it_and_keeps_what_it_had(self):
        tree = make_tree(self.here / "tree")
        (self.there / "tree" / "sub").mkdir(parents=True)
        (self.there / "tree" / "sub" / "own").write_text("stays\n")
        (self.there / "tree" / "run.sh").write_text("old\n")
        self.copy(tree, f"worker:{self.there}")
        expected = described(tree)
        expected["sub/own"] = ("file", 0o644, b"stays\n")
        self.assertEqual(described(self.there / "tree"), expected)
        self.assertEqual(self.left_over(self.there), [])

    def test_one_file_gets_the_name_it_was_given_or_its_own(self):
        (self.here / "one").write_text("one\n")
        (self.here / "one").chmod(0o640)
        self.copy(self.here / "one", f"worker:{self.there}/two")
        self.copy(self.here / "one", f"worker:{self.there}/")
        self.copy(self.here / "one", f"worker:{self.there.name}")  # in the working directory of the container
        self.assertEqual(described(self.there), {
            ".": ("folder", 0o755), "one": ("file", 0o640, b"one\n"), "two": ("file", 0o640, b"one\n")})

    def test_a_destination_that_cannot_be_is_a_sentence(self):
        (self.here / "one").write_text("one\n")
        (self.there / "one").mkdir()
        self.assertIn(f"the folder {self.there}/no/ does not exist",
                      self.copy(self.here / "one", f"worker:{self.there}/no/", code=1))
        self.assertIn(f"the folder {self.there}/no does not exist; make it first",
                      self.copy(self.here / "one", f"worker:{self.there}/no/name", code=1))
        self.assertIn("one is a folder", self.copy(self.here / "one", f"worker:{self.there}", code=1))
        self.assertIn("ends in \"..\"", self.copy(f"worker:{self.there}/..", self.here, code=1))
        self.assertEqual(described(self.there), {".": ("folder", 0o755), "one": ("folder", 0o755)})

    # what a pod sends

    def send_instead(self, *entries):
        """From now on, tar in the pod writes this archive: (name, type, link or content)."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, kind, content in entries:
                entry = tarfile.TarInfo(name)
                entry.type = kind
                if kind == tarfile.REGTYPE:
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))
                else:
                    entry.linkname = content
                    tar.addfile(entry)
        (self.node.programs / "archive").write_bytes(archive.getvalue())
        program = self.node.programs / "tar"
        program.write_text(f"#!/bin/sh\nexec cat {self.node.programs}/archive\n")
        program.chmod(0o755)
        self.addCleanup(program.unlink, missing_ok=True)

    def test_names_that_lead_out_of_the_destination_are_refused(self):
        for number, name in enumerate(("./data/../../out", "../out", "/tmp/gpuctl-out", "./other")):
            wanted = self.here / f"wanted-{number}"
            self.send_instead(("./data", tarfile.DIRTYPE, ""), (name, tarfile.REGTYPE, b"evil"))
            with self.subTest(name):
                error = self.copy("worker:/data", wanted, code=1)
                self.assertIn(name.lstrip("./"), error)
                self.assertEqual(list(wanted.rglob("*")), [])
                self.assertFalse((self.here / "other").exists() or (self.here / "out").exists())
                self.assertFalse(pathlib.Path("/tmp/gpuctl-out").exists() or (self.here.parent / "out").exists())

    def test_links_that_lead_out_of_the_destination_are_refused(self):
        for target in ("/etc/passwd", "../../out", "a/../../../out"):
            self.send_instead(("./data", tarfile.DIRTYPE, ""), ("./data/link", tarfile.SYMTYPE, target))
            with self.subTest(target):
                self.assertIn("outside the destination", self.copy("worker:/data", self.here / "data", code=1))
                self.assertFalse((self.here / "data" / "link").is_symlink())

    def test_an_archive_that_breaks_off_leaves_no_half_file(self):
        self.send_instead(("./data", tarfile.REGTYPE, b"x" * 100_000))
        archive = self.node.programs / "archive"
        archive.write_bytes(archive.read_bytes()[:50_000])
        self.copy("worker:/data", self.here / "data", code=1)
        self.assertEqual(list(self.here.iterdir()), [])

    # large, and broken off

    def large(self, folder, mib=LARGE_MIB):
        file = folder / "large"
        with open(file, "wb") as out:
            for _ in range(mib // 16):
                out.write(os.urandom(MIB) * 16)
        return file

    def peak_mib(self, process):
        """Of the process, as long as it runs."""
        peak = 0
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                peak = max([peak, *[int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmHWM:")]])
            except OSError:
                break
            try:
                process.wait(0.2)
            except Exception:  # noqa: BLE001  (it still runs)
                continue
        return peak

    def test_a_large_file_is_streamed_both_ways_in_bounded_memory(self):
        file = self.large(self.here)
        small = self.here / "small"
        small.write_text("s")
        base = self.peak_mib(self.start("cp", str(small), f"worker:{self.there}/small"))
        daemon_before = self.daemon.process.peak_rss_kib() >> 10
        for source, destination in ((file, f"worker:{self.there}/large"), (f"worker:{self.there}/large", self.here / "back")):
            running = self.start("cp", str(source), str(destination), seconds=LARGE_S)
            peak = self.peak_mib(running)
            self.assertEqual(running.wait(), 0)
            grown = (self.daemon.process.peak_rss_kib() >> 10) - daemon_before
            print(f"cp of {LARGE_MIB} MiB: gpuctl {base} -> {peak} MiB, gpuctld {daemon_before} -> {daemon_before + grown} MiB")
            self.assertLess(peak - base, GROWTH_MIB_MAX)
            self.assertLess(grown, GROWTH_MIB_MAX)
        with open(file, "rb") as left, open(self.here / "back", "rb") as right:
            while piece := left.read(MIB):
                self.assertTrue(piece == right.read(MIB))

    def break_off(self, signal_number, source, destination, folder):
        """A copy that gets a signal when a part of it has arrived in `folder`."""
        running = self.start("cp", str(source), str(destination))

        def some_arrived():
            self.assertIsNone(running.poll(), "the copy has ended already")
            return any(path.stat().st_size > 0 for path in folder.iterdir() if path.name.startswith(".gpuctl"))

        wait_for(some_arrived, 30, "a part has arrived")
        running.send_signal(signal_number)
        return running.wait(TIMEOUT_S)

    def test_an_interrupted_copy_leaves_nothing_here(self):
        large = self.large(self.there)
        arrives = self.here / unique("arrives")
        arrives.mkdir()
        self.assertEqual(self.break_off(signal.SIGINT, f"worker:{large}", arrives / "copy", arrives), 130)
        self.assertEqual(list(arrives.iterdir()), [])
        self.wait_no_sessions()

    def test_an_interrupted_copy_leaves_nothing_in_the_pod(self):
        large = self.large(self.here)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            with self.subTest(number.name):
                self.assertEqual(self.break_off(number, large, f"worker:{self.there}/copy", self.there), code)
                wait_for(lambda: not list(self.there.iterdir()), 20, lambda: f"left: {list(self.there.iterdir())}")

    def test_an_interrupted_copy_of_a_folder_leaves_no_half_file_in_it(self):
        tree = self.here / "tree"
        tree.mkdir()
        self.large(tree)
        (self.there / "tree").mkdir()
        (self.there / "tree" / "large").write_text("the old one")
        running = self.start("cp", str(tree), f"worker:{self.there}")

        def some_arrived():
            self.assertIsNone(running.poll(), "the copy has ended already")
            return any(path.stat().st_size > 0 for path in self.there.glob(".gpuctl*/large"))

        wait_for(some_arrived, 30, "a part has arrived")
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(TIMEOUT_S), 130)
        wait_for(lambda: not self.left_over(self.there), 20, "the part is removed")
        self.assertEqual((self.there / "tree" / "large").read_text(), "the old one")


if __name__ == "__main__":
    unittest.main()
