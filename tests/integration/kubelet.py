"""One container of a pod, started as a kubelet and a container runtime start it: the image's files as a read-only root,
volumes with the owner and mode that they have in a pod, exactly the environment (service links among it), the user,
groups and capabilities of the security contexts, process 1 of a process name space, no terminal.

As an ordinary user there is one user only and the root stays writable; all else is the same.

    python3 kubelet.py FILE   # the part that makes the name spaces; FILE is what Container.start() wrote"""

import base64
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
IS_ROOT = os.geteuid() == 0


# --- the environment: k8s.io/kubernetes/pkg/kubelet/envvars and kubelet_pods.go ---

def service_variables(service):
    """What every container of the namespace gets for a Service, unless it has no address."""
    address = service["spec"].get("clusterIP")
    if address in (None, "", "None"):
        return {}
    prefix = service["metadata"]["name"].upper().replace("-", "_")
    in_url = f"[{address}]" if ":" in address else address
    ports = service["spec"]["ports"]
    values = {f"{prefix}_SERVICE_HOST": address, f"{prefix}_SERVICE_PORT": str(ports[0]["port"])}
    for port in ports:
        if port.get("name"):
            values[f"{prefix}_SERVICE_PORT_" + port["name"].upper().replace("-", "_")] = str(port["port"])
    for index, port in enumerate(ports):
        protocol = port.get("protocol", "TCP")
        url = f"{protocol.lower()}://{in_url}:{port['port']}"
        if index == 0:
            values[f"{prefix}_PORT"] = url
        name = f"{prefix}_PORT_{port['port']}_{protocol.upper()}"
        values.update({name: url, f"{name}_PROTO": protocol.lower(), f"{name}_PORT": str(port["port"]), f"{name}_ADDR": address})
    return values


def service_links(bed, namespace, wanted):
    """Those of the API server's own Service always; those of the pod's namespace where the pod wants them."""
    values = {}
    if wanted:
        for service in bed.get(f"/api/v1/namespaces/{namespace}/services")["items"]:
            values.update(service_variables(service))
    kubernetes = {"metadata": {"name": "kubernetes"}, "spec": {
        "clusterIP": "127.0.0.1", "ports": [{"name": "https", "protocol": "TCP", "port": bed.port}]}}
    return {**values, **service_variables(kubernetes)}


# --- the image ---

def unpack_image(repository, folder):
    """(files, configuration) of what tools/image makes from the release build."""
    folder = pathlib.Path(folder)
    made = subprocess.run([str(repository / "tools/image"), "--no-build", "--output", str(folder / "image.tar")],
                          capture_output=True, text=True, check=False, timeout=120)
    assert made.returncode == 0, made.stderr

    def blob(archive, descriptor):
        return archive.extractfile("blobs/" + descriptor["digest"].replace(":", "/"))

    with tarfile.open(folder / "image.tar") as archive:
        index = json.load(archive.extractfile("index.json"))
        manifest = json.load(blob(archive, index["manifests"][0]))
        configuration = json.load(blob(archive, manifest["config"]))["config"]
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=blob(archive, layer), mode="r:gz") as files:
                files.extractall(folder / "files")
    (folder / "image.tar").unlink()
    return folder / "files", configuration


# --- the container ---

class Container:
    """`pod` is the spec of a pod; `uid` and `name` are those of its object. The volume of a claim lives as long as
    `claims`, a folder, so that another container finds what this one left."""

    def __init__(self, bed, namespace, pod, image, process, name="gpuctld-0", uid="0", claims=None):
        self.bed, self.namespace, self.pod, self.name, self.uid = bed, namespace, pod, name, uid
        self.spec = pod["containers"][0]
        self.image, self.image_configuration = image
        self.process_type = process
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-container-"))
        self.claims = pathlib.Path(claims or self.folder / "claims")
        self.user = self.security().get("runAsUser")
        self.group = self.security().get("runAsGroup")
        self.owner_of_claims = (0, pod.get("securityContext", {}).get("fsGroup", 0), 0o2775)
        self.environment = {}  # added to that of the kubelet; a value of None removes the variable
        self.files = {"/etc/hosts": "127.0.0.1 localhost\n", "/etc/hostname": name + "\n",
                      "/etc/resolv.conf": "nameserver 192.0.2.1\n"}  # which never answers; None: no such file
        self.has_service_links = pod.get("enableServiceLinks", True)
        self.process = None

    def security(self):
        return {**self.pod.get("securityContext", {}), **self.spec.get("securityContext", {})}

    # what is mounted

    def _object(self, kind, name):
        return self.bed.get(f"/api/v1/namespaces/{self.namespace}/{kind}/{name}")

    def _files_of(self, volume):
        """name -> (content, mode) of a volume that the kubelet fills."""
        if "configMap" in volume:
            source = volume["configMap"]
            files = {key: value.encode() for key, value in self._object("configmaps", source["name"]).get("data", {}).items()}
        else:
            source = volume["secret"]
            files = {key: base64.b64decode(value)
                     for key, value in self._object("secrets", source["secretName"]).get("data", {}).items()}
        mode = source.get("defaultMode", 0o644)
        if source.get("items"):
            return {item["path"]: (files[item["key"]], item.get("mode", mode)) for item in source["items"]}
        return {name: (content, mode) for name, content in files.items()}

    def _give(self, path, user, group):
        if IS_ROOT:
            os.chown(path, user, group)

    def _fill(self, folder, files):
        """As a kubelet fills a volume: root's, and of fsGroup, so that the group may read it; names are links into a folder
        that is replaced as a whole."""
        group = self.pod.get("securityContext", {}).get("fsGroup", 0)
        version = folder / "..2026_11_26_00_00_00.1"
        version.mkdir(parents=True)
        (folder / "..data").symlink_to(version.name)
        for name, (content, mode) in files.items():
            (version / name).write_bytes(content)
            (version / name).chmod(mode)
            self._give(version / name, 0, group)
            (folder / name).symlink_to(f"..data/{name}")
        for made in (folder, version):
            self._give(made, 0, group)

    def _volume(self, volume):
        folder = self.folder / "volumes" / volume["name"]
        if "persistentVolumeClaim" in volume:
            claim = volume["persistentVolumeClaim"]["claimName"]
            self._object("persistentvolumeclaims", claim)
            folder = self.claims / claim
            if not folder.exists():
                folder.mkdir(parents=True)
                user, group, mode = self.owner_of_claims
                (folder / "lost+found").mkdir(mode=0o700)  # as a new ext4 has
                self._give(folder, user, group)
                folder.chmod(mode)
        elif "emptyDir" in volume:
            folder.mkdir(parents=True)
            folder.chmod(0o2777)
            self._give(folder, 0, self.pod.get("securityContext", {}).get("fsGroup", 0))
        else:
            self._fill(folder, self._files_of(volume))
        return folder

    def _service_account(self):
        account = self.pod["serviceAccountName"]
        answer = self.bed.api("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}, expect=(201,))[1]
        folder = self.folder / "volumes" / "service-account"
        self._fill(folder, {"token": (answer["status"]["token"].encode(), 0o640), "namespace": (self.namespace.encode(), 0o644),
                            "ca.crt": ((self.bed.folder / "pki" / "ca.crt").read_bytes(), 0o644)})
        return folder

    def _mounts(self):
        """[(source, target, read-only)]"""
        volumes = {volume["name"]: volume for volume in self.pod.get("volumes", [])}
        found = [(self._service_account(), TOKEN_PATH, True)]
        for mount in self.spec.get("volumeMounts", []):
            source = self._volume(volumes[mount["name"]])
            found.append((source / mount.get("subPath", ""), mount["mountPath"], mount.get("readOnly", False)))
        return found

    # its environment

    def all_environment(self):
        values = service_links(self.bed, self.namespace, self.has_service_links)
        fields = {"metadata.namespace": self.namespace, "metadata.name": self.name, "metadata.uid": self.uid,
                  "spec.nodeName": "node-0", "status.podIP": "127.0.0.1"}
        for entry in self.image_configuration.get("Env", []):
            name, _, value = entry.partition("=")
            values[name] = value
        values.update({"HOSTNAME": self.name, "HOME": "/"})
        for entry in self.spec.get("env", []):
            source = entry.get("valueFrom", {})
            values[entry["name"]] = fields[source["fieldRef"]["fieldPath"]] if "fieldRef" in source else entry.get("value", "")
        values.update(self.environment)
        return {name: value for name, value in values.items() if value is not None}

    # start and stop

    def start(self):
        root = self.folder / "root"
        shutil.copytree(self.image, root, copy_function=os.link, symlinks=True)
        for path, content in self.files.items():
            if content is not None:
                (root / path[1:]).write_text(content)
        command = (self.spec.get("command") or self.image_configuration["Entrypoint"]) + self.spec.get("args", [])
        security = self.security()
        orders = {
            "root": str(root), "mounts": [[str(source), target, read_only] for source, target, read_only in self._mounts()],
            "read_only": bool(security.get("readOnlyRootFilesystem")), "user": self.user, "group": self.group,
            "groups": [security["fsGroup"]] if "fsGroup" in security else [], "drop_all": security.get("capabilities") == {"drop": ["ALL"]},
            "no_new_privileges": security.get("allowPrivilegeEscalation") is False, "environment": self.all_environment(),
            "command": command, "folder": self.spec.get("workingDir") or self.image_configuration.get("WorkingDir", "/"),
            "host_name": self.name, "pid_file": str(self.folder / "pid")}
        file = self.folder / "orders.json"
        file.write_text(json.dumps(orders))
        self.folder.chmod(0o755)
        self.process = self.process_type("gpuctld", [sys.executable, "-B", __file__, file], self.folder / "log")
        return self

    @property
    def pid(self):
        """Of the container's process, as seen from here."""
        return int((self.folder / "pid").read_text())

    def log(self):
        return self.process.log()

    def kill(self):
        """The container's process dies as from a lack of memory; the pod stays."""
        os.kill(self.pid, signal.SIGKILL)
        return self.process.wait(10)

    def clean(self):
        if self.process is not None:
            self.process.stop(35)
        shutil.rmtree(self.folder, ignore_errors=True)

    def probe(self, which):
        """(status, body) of the container's own probe."""
        action = self.spec[which]["httpGet"]
        port = action["port"]
        if isinstance(port, str):
            port = next(entry["containerPort"] for entry in self.spec["ports"] if entry["name"] == port)
        port = self.environment.get("GPUCTLD_SERVER_PORT", port)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # as a kubelet's probe does
        try:
            with urllib.request.urlopen(f"{action['scheme'].lower()}://127.0.0.1:{port}{action['path']}", context=context,
                                        timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as problem:
            return problem.code, problem.read().decode()
        except OSError as problem:
            return 0, str(problem)

    def is_ready(self):
        if not self.process.alive:
            raise AssertionError(f"gpuctld ended with {self.process.exit_code}:\n{self.log()[-3000:]}")
        return self.probe("readinessProbe")[0] == 200


# --- a process of its own: name spaces, mounts, the user, and the command ---

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_NAMES, _NEW_USER, _NEW_PIDS = 0x00020000, 0x04000000, 0x10000000, 0x20000000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DEATH_SIGNAL, _DROP_BOUNDING, _NO_NEW_PRIVILEGES = 1, 24, 38


def _call(what, result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source, target, kind=None, flags=0, data=None):
    def encoded(text):
        return None if text is None else str(text).encode()
    _call(f"mount {source} on {target}",
          _LIBC.mount(encoded(source), encoded(target), encoded(kind), ctypes.c_ulong(flags), encoded(data)))


def _bind(source, target, read_only=False):
    _mount(source, target, flags=_BIND | _RECURSIVE)
    if read_only and IS_ROOT:
        _mount(None, target, flags=_BIND | _REMOUNT | _READ_ONLY)


def _new_name_spaces(host_name):
    user, group = os.getuid(), os.getgid()
    _call("unshare", _LIBC.unshare(_NEW_MOUNTS | _NEW_NAMES | _NEW_PIDS | (0 if IS_ROOT else _NEW_USER)))
    if not IS_ROOT:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _mount(None, "/", flags=_RECURSIVE | _PRIVATE)
    socket.sethostname(host_name)


def _make_root(orders):
    root = pathlib.Path(orders["root"])
    _bind(root, root)
    targets = {}
    for source, path, read_only in orders["mounts"]:
        target = root / path.lstrip("/")
        if pathlib.Path(source).is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        targets[target] = (source, read_only)
    for name in ("proc", "dev"):
        (root / name).mkdir(exist_ok=True)
    for target, (source, read_only) in targets.items():
        _bind(source, target, read_only)
    try:
        _mount("proc", root / "proc", "proc", _NO_SUID | _NO_DEVICES | _NO_EXEC)
    except OSError:  # where this runs in a container itself
        _bind("/proc", root / "proc")
    _mount("tmpfs", root / "dev", "tmpfs", _NO_SUID, "mode=755")
    for name in ("null", "zero", "full", "random", "urandom"):
        (root / "dev" / name).touch()
        _bind(f"/dev/{name}", root / "dev" / name)
    if orders["read_only"] and IS_ROOT:
        _mount(None, root, flags=_BIND | _REMOUNT | _READ_ONLY)
    os.chroot(root)
    os.chdir(orders["folder"])


def _become(orders):
    if IS_ROOT:
        if orders["drop_all"]:
            for capability in range(64):
                _LIBC.prctl(_DROP_BOUNDING, capability, 0, 0, 0)  # beyond the last one it fails
        os.setgroups(orders["groups"])
        if orders["group"] is not None:
            os.setresgid(*[orders["group"]] * 3)
        if orders["user"] is not None:
            os.setresuid(*[orders["user"]] * 3)
    if orders["no_new_privileges"]:
        _call("prctl", _LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _LIBC.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)  # after the change of user, which clears it


def run(orders):
    _new_name_spaces(orders["host_name"])
    child = os.fork()
    if child == 0:
        _make_root(orders)
        _become(orders)
        os.execve(orders["command"][0], orders["command"], orders["environment"])
    pid_file = pathlib.Path(orders["pid_file"])
    pid_file.with_suffix(".new").write_text(str(child))
    pid_file.with_suffix(".new").rename(pid_file)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    status = os.waitpid(child, 0)[1]
    sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


if __name__ == "__main__":
    run(json.loads(pathlib.Path(sys.argv[1]).read_text()))
