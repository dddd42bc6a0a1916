"""config/deploy.yaml (ruling 33): one kubectl apply, then gpuctld started with exactly the arguments, environment,
configuration and secrets that the API server then has, at exactly the paths, as exactly that service account.

What a kubelet would do is done here with a mount name space: a root directory of its own, read-only as asked, with
/usr, the mounts of the pod, the daemon's program where the container's command expects it, and, where the tests run
as root, the user, group, capabilities and file ownership of the security contexts."""

import base64
import os
import pathlib
import shutil
import ssl
import tempfile
import unittest
import urllib.error
import urllib.request

from support import BINARIES, BOUND_S, REPOSITORY, Process, Testbed, create_pod, node_of, pod, wait_for

FILE = REPOSITORY / "config" / "deploy.yaml"
NAMESPACE = "gpuctl-system"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


class Deploy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Testbed(kwok=False, controllers=False, rbac=False).start()
        cls.addClassCleanup(cls.bed.stop)
        cls.bed.kubectl("apply", "-f", str(FILE))

    def setUp(self):
        deployments = self.bed.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")["items"]
        self.assertEqual(len(deployments), 1)
        self.deployment = deployments[0]
        self.pod = self.deployment["spec"]["template"]["spec"]
        self.container = self.pod["containers"][0]
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-deploy-"))
        self.addCleanup(shutil.rmtree, self.root, True)

    # --- what a kubelet does ---

    def secret(self, name):
        return {key: base64.b64decode(value) for key, value in
                self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}").get("data", {}).items()}

    def config_map(self, name):
        return {key: value.encode() for key, value in
                self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}").get("data", {}).items()}

    def files_of(self, volume):
        """name → (content, mode) of what the volume holds at start."""
        if "configMap" in volume:
            files, source = self.config_map(volume["configMap"]["name"]), volume["configMap"]
        elif "secret" in volume:
            files, source = self.secret(volume["secret"]["secretName"]), volume["secret"]
        elif "persistentVolumeClaim" in volume:
            claim = volume["persistentVolumeClaim"]["claimName"]
            self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/{claim}")
            return {}
        else:
            self.assertIn("emptyDir", volume, f"a volume this test knows: {volume}")
            return {}
        mode = source.get("defaultMode", 0o644)
        if source.get("items"):
            return {item["path"]: (files[item["key"]], item.get("mode", mode)) for item in source["items"]}
        return {name: (content, mode) for name, content in files.items()}

    def give_to_group(self, path):
        """As a kubelet does for fsGroup: the group owns what volumes hold."""
        group = self.pod.get("securityContext", {}).get("fsGroup")
        if group is not None and os.geteuid() == 0:
            os.chown(path, 0, group)

    def mount_all(self):
        volumes = {volume["name"]: volume for volume in self.pod.get("volumes", [])}
        self.writable = []
        for mount in self.container.get("volumeMounts", []):
            target = self.root / mount["mountPath"].lstrip("/")
            files = self.files_of(volumes[mount["name"]])
            if mount.get("subPath"):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files[mount["subPath"]][0])
                continue
            target.mkdir(parents=True, exist_ok=True)
            if not mount.get("readOnly"):
                self.writable.append(mount["mountPath"])
                target.chmod(0o2775)
            self.give_to_group(target)
            for name, (content, mode) in files.items():
                (target / name).write_bytes(content)
                (target / name).chmod(mode)
                self.give_to_group(target / name)

    def mount_service_account(self):
        account = self.pod["serviceAccountName"]
        answer = self.bed.api("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}, expect=(201,))[1]
        folder = self.root / TOKEN_PATH.lstrip("/")
        folder.mkdir(parents=True)
        (folder / "token").write_text(answer["status"]["token"])
        (folder / "namespace").write_text(NAMESPACE)
        shutil.copy(self.bed.folder / "pki" / "ca.crt", folder / "ca.crt")

    def environment(self):
        values = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/",
                  "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.bed.port)}
        fields = {"metadata.namespace": NAMESPACE, "metadata.name": "gpuctld-0", "spec.nodeName": "node-0",
                  "status.podIP": "127.0.0.1", "metadata.uid": "0"}
        for entry in self.container.get("env", []):
            source = entry.get("valueFrom", {})
            if "fieldRef" in source:
                values[entry["name"]] = fields[source["fieldRef"]["fieldPath"]]
            elif "secretKeyRef" in source:
                values[entry["name"]] = self.secret(source["secretKeyRef"]["name"])[source["secretKeyRef"]["key"]].decode()
            elif "configMapKeyRef" in source:
                values[entry["name"]] = self.config_map(source["configMapKeyRef"]["name"])[source["configMapKeyRef"]["key"]].decode()
            else:
                values[entry["name"]] = entry.get("value", "")
        return values

    def start(self):
        self.mount_all()
        self.mount_service_account()
        command = self.container.get("command") or ["/usr/local/bin/gpuctld"]
        program = command[0] if command[0].startswith("/") else f"/usr/local/bin/{command[0]}"
        shutil.copy(BINARIES / "gpuctld", self.root / "program")
        (self.root / "arguments").write_text("\0".join([program, *command[1:], *self.container.get("args", [])]))
        folder = self.container.get("workingDir", "/")
        (self.root / "tmp").mkdir()
        keep = [f"mount --bind $root{path} $root{path}" for path in self.writable]
        if self.security()["readOnlyRootFilesystem"] and os.geteuid() == 0:
            keep.append("mount -o remount,bind,ro $root")
        keep = "\n".join(keep)
        self.root.chmod(0o755)
        launcher = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-launch-"))
        self.addCleanup(shutil.rmtree, launcher, True)
        (launcher / "run").write_text(f"""#!/bin/bash
# Runs inside a mount name space of its own; nothing of it is seen outside.
set -e
root={self.root}
mapfile -d '' -t words < $root/arguments
mount --bind $root $root
for part in dev proc; do mkdir -p $root/$part; mount --rbind /$part $root/$part; done
mkdir -p $root/etc $root/usr
mount --rbind /usr $root/usr
for part in bin sbin lib lib64; do ln -s usr/$part $root/$part; done
case "{program}" in
/usr/*) mount -t tmpfs none $root$(dirname {program}) ;;
*) mkdir -p $root$(dirname {program}) ;;
esac
cp $root/program $root{program}
{keep}
exec chroot $root {self.identity()} /usr/bin/env -C {folder} "${{words[@]}}"
""")
        name_space = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        process = Process("gpuctld", [*name_space, "--propagation", "private", "bash", launcher / "run"],
                          launcher / "log", environment=self.environment())
        self.addCleanup(self.stop, process)
        return process

    def security(self):
        return {**self.pod.get("securityContext", {}), **self.container.get("securityContext", {})}

    def identity(self):
        """The words in front of a command that make it run as the security contexts say."""
        security = self.security()
        if os.geteuid() != 0:
            return ""  # only one user exists in a name space that an ordinary user makes
        self.assertEqual(security["capabilities"], {"drop": ["ALL"]})
        return (f"/usr/bin/setpriv --reuid {security['runAsUser']} --regid {security['runAsGroup']} "
                f"--groups {security['fsGroup']} --no-new-privs --bounding-set=-all --inh-caps=-all")

    @staticmethod
    def stop(process):
        process.stop(25)

    def probe(self, which):
        """(status, body) of the container's own probe."""
        action = self.container[which]["httpGet"]
        port = action["port"]
        if isinstance(port, str):
            port = next(entry["containerPort"] for entry in self.container["ports"] if entry["name"] == port)
        self.assertEqual(action.get("scheme"), "HTTPS")
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # as a kubelet's probe does
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{port}{action['path']}", context=context, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as problem:
            return problem.code, problem.read().decode()
        except OSError as problem:
            return 0, str(problem)

    def assert_runs_as_asked(self, process):
        """Seen from outside, of the process itself; as an ordinary user there is nothing to see."""
        if os.geteuid() != 0:
            return
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines())
        security = self.security()
        self.assertEqual(status["Uid"].split(), [str(security["runAsUser"])] * 4)
        self.assertEqual(status["Gid"].split(), [str(security["runAsGroup"])] * 4)
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertEqual(status["NoNewPrivs"].strip(), "1")

    # --- tests ---

    def test_what_it_asks_for_is_as_agreed(self):
        self.assertEqual(self.deployment["spec"]["replicas"], 1)
        self.assertEqual(self.pod["serviceAccountName"], "gpuctld")
        security = self.security()
        self.assertTrue(security.get("runAsNonRoot"))
        self.assertFalse(security.get("allowPrivilegeEscalation", True))
        self.assertTrue(security.get("readOnlyRootFilesystem"))
        self.assertTrue(self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/services")["items"])
        self.assertTrue(self.bed.get(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")["items"])
        schemas = self.bed.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")["items"]
        subjects = [subject.get("serviceAccount", {}).get("name") for schema in schemas for rule in schema["spec"].get("rules", [])
                    for subject in rule["subjects"]]
        self.assertIn("gpuctld", subjects)

    def test_applying_it_twice_changes_nothing(self):
        self.assertNotIn("created", self.bed.kubectl("apply", "-f", str(FILE)))

    def test_it_starts_as_written_and_binds_a_pod(self):
        self.bed.create_node("node-0", gpus=8)
        process = self.start()

        def ready():
            if not process.alive:
                raise AssertionError(f"gpuctld ended with {process.exit_code}:\n{process.log()[-3000:]}")
            return self.probe("readinessProbe")[0] == 200

        wait_for(ready, 40, lambda: f"the readiness probe: {self.probe('readinessProbe')}\n{process.log()[-2000:]}", every_s=0.2)
        self.assertEqual(self.probe("livenessProbe")[0], 200)
        self.assert_runs_as_asked(process)
        create_pod(self.bed, "default", pod("first", gpus=8))
        wait_for(lambda: node_of(self.bed, "default", "first") == "node-0", BOUND_S, f"bound; {process.log()[-1000:]}")
        user = f"system:serviceaccount:{NAMESPACE}:gpuctld"
        refused = [event for event in self.bed.audit_events(user) if event["responseStatus"]["code"] == 403]
        self.assertEqual([(event["verb"], event["objectRef"]) for event in refused], [])
        self.assertTrue(self.bed.audit_events(user), "it came as its service account")


if __name__ == "__main__":
    unittest.main()
