"""Builds the testbed's program (kube: etcd, Kubernetes, KWOK) once per version, outside the clone."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
KUBERNETES_VERSION = "v1.36.3"
GO_MINOR_MIN = 26


def cache_folder():
    """$XDG_CACHE_HOME/gpuctl, by default ~/.cache/gpuctl."""
    if os.environ.get("GPUCTL_CACHE"):  # said by tools/lib/common.sh
        return pathlib.Path(os.environ["GPUCTL_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "gpuctl"


def suitable_go():
    """Path of a Go that is new enough for Kubernetes 1.36; the same search as tools/lib/common.sh."""
    candidates = [os.environ.get("GPUCTL_GO"), shutil.which("go"), "/usr/local/go/bin/go",
                  cache_folder() / "go" / "bin" / "go"]
    for candidate in candidates:
        if not candidate or not os.access(candidate, os.X_OK):
            continue
        answer = subprocess.run([candidate, "env", "GOVERSION"], capture_output=True, text=True,
                                env={**os.environ, "GOTOOLCHAIN": "local"}, check=False)
        version = re.match(r"go1\.(\d+)", answer.stdout)
        if version and int(version.group(1)) >= GO_MINOR_MIN:
            return str(candidate)
    raise SystemExit(f"testbed: no Go 1.{GO_MINOR_MIN} or newer found; run ./tools/setup first")


def _fingerprint(*files):
    digest = hashlib.sha256()
    for file in files:
        digest.update(pathlib.Path(file).read_bytes())
    return digest.hexdigest()[:16]


def _go(arguments, folder):
    done = subprocess.run([suitable_go(), *arguments], cwd=folder, check=False,
                          env={**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"})
    if done.returncode != 0:
        raise SystemExit(f"testbed: go {' '.join(arguments)} failed; its output is above")


def _version_flags():
    minor = KUBERNETES_VERSION.split(".")[1]
    stamp = "k8s.io/component-base/version"
    return (f"-s -w -X {stamp}.gitVersion={KUBERNETES_VERSION} -X {stamp}.gitMajor=1 -X {stamp}.gitMinor={minor}"
            f" -X k8s.io/client-go/pkg/version.gitVersion={KUBERNETES_VERSION}")


@contextlib.contextmanager
def _one_at_a_time(folder):
    """Two that compile the same at once take twice as long: Go's cache knows only what is finished."""
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build():
    """Returns the folder with `kube`; builds it where this version is not there yet.

    From nothing some minutes, most of it compiling; afterwards milliseconds."""
    sources = sorted(HERE.glob("*.go"))
    folder = cache_folder() / "testbed" / _fingerprint(HERE / "go.mod", HERE / "go.sum", *sources)
    folder.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(folder):
        if not (folder / "kube").exists():
            print("testbed: building etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl "
                  f"{KUBERNETES_VERSION} and KWOK (once; some minutes from nothing)", file=sys.stderr, flush=True)
            unfinished = folder / f"kube.{os.getpid()}"
            _go(["build", "-trimpath", "-ldflags", _version_flags(), "-o", str(unfinished), "."], HERE)
            unfinished.rename(folder / "kube")
    return folder


def build_module(source, name):
    """Builds another small Go program of the tests (a folder with its go.mod); returns its path."""
    source = pathlib.Path(source)
    files = sorted([*source.glob("*.go"), source / "go.mod"])
    folder = cache_folder() / name / _fingerprint(*files)
    if not (folder / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{name}.{os.getpid()}"
        _go(["build", "-trimpath", "-o", str(unfinished), "."], source)
        unfinished.rename(folder / name)
    return folder / name
