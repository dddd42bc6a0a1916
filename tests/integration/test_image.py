"""The container image of tools/image: whole, what deploy.yaml names, and it runs with nothing else around it."""

import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest
import urllib.request

from support import REPOSITORY, free_port, wait_for

USER = 65532


def in_root(root, *command):
    """A command whose whole file system is `root`, as the image's user where we may choose one."""
    if os.geteuid() == 0:
        return ["chroot", f"--userspec={USER}:{USER}", str(root), *command]
    return ["unshare", "--map-root-user", f"--root={root}", *command]


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder = pathlib.Path(cls.folder.name)
        made = subprocess.run([str(REPOSITORY / "tools/image"), "--no-build", "--output", str(folder / "image.tar")],
                              capture_output=True, text=True, check=False, timeout=120)
        assert made.returncode == 0, made.stderr
        with tarfile.open(folder / "image.tar") as archive:
            cls.parts = {entry.name: archive.extractfile(entry).read() for entry in archive}
        cls.index = json.loads(cls.parts["index.json"])
        cls.manifest = cls.blob(cls.index["manifests"][0])
        cls.config = cls.blob(cls.manifest["config"])
        cls.root = folder / "root"
        layer = cls.manifest["layers"][0]
        with tarfile.open(fileobj=io.BytesIO(cls.parts["blobs/" + layer["digest"].replace(":", "/")]), mode="r:gz") as files:
            files.extractall(cls.root)

    @classmethod
    def blob(cls, descriptor):
        return json.loads(cls.parts["blobs/" + descriptor["digest"].replace(":", "/")])

    def test_every_blob_is_what_its_name_says_and_the_layer_what_the_configuration_says(self):
        blobs = {name: contents for name, contents in self.parts.items() if name.startswith("blobs/")}
        self.assertEqual(len(blobs), 3)
        for name, contents in blobs.items():
            self.assertEqual(name, "blobs/sha256/" + hashlib.sha256(contents).hexdigest())
        layer = self.manifest["layers"][0]
        packed = self.parts["blobs/" + layer["digest"].replace(":", "/")]
        self.assertEqual(layer["size"], len(packed))
        unpacked = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout
        self.assertEqual(self.config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(unpacked).hexdigest()])
        saved = json.loads(self.parts["manifest.json"])[0]
        self.assertTrue({saved["Config"], *saved["Layers"]} <= set(self.parts))

    def test_it_has_the_name_and_the_user_of_the_deployment(self):
        deployment = (REPOSITORY / "config/deploy.yaml").read_text()
        name = json.loads(self.parts["manifest.json"])[0]["RepoTags"][0]
        self.assertIn(f"image: {name}\n", deployment)
        self.assertIn(f"runAsUser: {USER}\n", deployment)
        self.assertEqual(self.config["config"]["User"], f"{USER}:{USER}")
        self.assertIn(f"command: [{self.config['config']['Entrypoint'][0]}]\n", deployment)

    def test_both_programs_find_their_libraries_in_it(self):
        for command in (["/usr/local/bin/gpuctld", "--version"], ["/usr/local/bin/gpuctl", "version", "--client"]):
            ran = subprocess.run(in_root(self.root, *command), capture_output=True, text=True, check=False, timeout=30)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn("0.1.0", ran.stdout)

    def test_it_serves_and_stops_with_nothing_but_the_image_around_it(self):
        state = self.root / "var/lib/gpuctl"
        state.mkdir(parents=True)
        if os.geteuid() == 0:
            os.chown(state, USER, USER)
        port = free_port()
        (self.root / "etc/gpuctld.yaml").write_text(f"server: {{port: {port}}}\njournal: {{directory: /var/lib/gpuctl}}\n")
        with subprocess.Popen(in_root(self.root, *self.config["config"]["Entrypoint"], "--config", "/etc/gpuctld.yaml"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
            self.addCleanup(daemon.kill)

            def ready():
                if daemon.poll() is not None:
                    self.fail(daemon.stdout.read())
                try:
                    return urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200
                except OSError:
                    return False

            wait_for(ready, 20, "the daemon in the image is ready")
            daemon.terminate()
            self.assertEqual(daemon.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
