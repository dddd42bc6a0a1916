"""./tools/testbed: the tests' Kubernetes by hand, so that a person can try gpuctld and kubectl."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import time

import binaries
from processes import wait_for
from testbed import DEFAULT_NODES, Testbed


def _folder():
    return binaries.cache_folder() / "testbed" / "run"


def _state():
    file = _folder() / "state.json"
    return json.loads(file.read_text()) if file.exists() else None


def _alive(pid):
    try:
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False
    return os.path.basename(command) == b"kube"


def up(options):
    state = _state()
    if state and all(_alive(pid) for pid in state["pids"].values()):
        print("testbed: already up")
        return status(options)
    shutil.rmtree(_folder(), ignore_errors=True)
    began = time.monotonic()
    bed = Testbed(folder=_folder(), detached=True)
    try:
        bed.start()
        names = []
        if options.nodes == 0 and not options.pool:
            pass
        elif options.pool:
            for text in options.pool:
                pool, count, gpus, *model = text.split(":")
                names += [bed.create_node(f"{pool}-{index}", int(gpus), pool, model[0] if model else None)
                          for index in range(int(count))]
        elif options.nodes:
            names = [bed.create_node(f"node-{index}", options.gpus) for index in range(options.nodes)]
        else:
            names = bed.create_default_nodes()
            # So that a first pod without a pool starts, too; tests make do without.
            names.append(bed.create_node("default-gpu-0", 4, "default", "T4"))
        bed.wait_nodes_ready(names, 30 + len(names) // 5)
        for namespace in ("default", "product"):  # what the samples name (config/examples)
            if namespace != "default":
                bed.create_namespace(namespace)
            bed.create_pull_secret(namespace)
    except BaseException:
        bed.stop()
        raise
    (_folder() / "state.json").write_text(json.dumps({
        "server": bed.server, "kube": str(bed.binaries / "kube"),
        "pids": {name: process.pid for name, process in bed.processes.items()},
        "kubeconfig": {role: str(bed.kubeconfig(role)) for role in ("admin", "gpuctld", "alice")},
        "audit": str(_folder() / "log" / "audit.log")}))
    print(f"testbed: up in {time.monotonic() - began:.1f} s with {len(names)} nodes")
    return status(options)


def status(_):
    state = _state()
    if not state:
        print("testbed: down")
        return 1
    for name, pid in state["pids"].items():
        print(f"  {name:<24} {'running' if _alive(pid) else 'ENDED'}  pid {pid}")
    print(f"  {'API server':<24} {state['server']}")
    print(f"  {'kubeconfig for people':<24} {state['kubeconfig']['admin']}")
    print(f"  {'kubeconfig for gpuctld':<24} {state['kubeconfig']['gpuctld']}")
    print(f"  {'audit log':<24} {state['audit']}")
    print("Try: ./tools/testbed kubectl get nodes     Stop: ./tools/testbed down")
    return 0 if all(_alive(pid) for pid in state["pids"].values()) else 1


def down(_):
    state = _state()
    if not state:
        print("testbed: already down")
        return 0
    for name in ("kwok", "kube-controller-manager", "kube-apiserver", "etcd"):
        pid = state["pids"].get(name)
        if pid is None or not _alive(pid):
            continue
        os.kill(pid, signal.SIGTERM)
        try:
            wait_for(lambda: not _alive(pid), 8, name)
        except AssertionError:
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(_folder(), ignore_errors=True)
    print("testbed: down")
    return 0


def kubeconfig(options):
    state = _state()
    if not state:
        print("testbed: down; start it with ./tools/testbed up", file=sys.stderr)
        return 1
    print(state["kubeconfig"][options.role])
    return 0


def kubectl(arguments):
    state = _state()
    if not state:
        print("testbed: down; start it with ./tools/testbed up", file=sys.stderr)
        return 1
    os.environ.setdefault("KUBECONFIG", state["kubeconfig"]["admin"])
    os.execv(state["kube"], ["kube", "kubectl", *arguments])


def main():
    if sys.argv[1:2] == ["kubectl"]:
        return kubectl(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="tools/testbed", description=__doc__.partition(": ")[2])
    commands = parser.add_subparsers(dest="command", required=True)
    pools = ", ".join(f"{pool}:{count}:{gpus}" + (f":{model}" if model else "") for pool, count, model, gpus in DEFAULT_NODES)
    start = commands.add_parser("up", help="start etcd, API server, controllers and fake nodes; print a kubeconfig")
    start.add_argument("--pool", action="append", metavar="NAME:NODES:GPUS[:MODEL]",
                       help=f"nodes of a pool, repeatable (default: {pools})")
    start.add_argument("--nodes", type=int, default=None, help="this many equal nodes instead")
    start.add_argument("--gpus", type=int, default=8, help="GPUs of each of --nodes")
    start.set_defaults(run=up)
    commands.add_parser("down", help="stop everything and delete its data").set_defaults(run=down)
    commands.add_parser("status", help="what runs, and where").set_defaults(run=status)
    config = commands.add_parser("kubeconfig", help="print the path of a kubeconfig")
    config.add_argument("role", nargs="?", default="admin", choices=["admin", "gpuctld", "alice"])
    config.set_defaults(run=kubeconfig)
    commands.add_parser("kubectl", help="kubectl of the same version, with the testbed's kubeconfig")
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
