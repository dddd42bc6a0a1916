"""Packs the release build into a container image archive; see tools/image.

The archive is an OCI image layout (image-layout.md of the specification) that also carries the manifest.json of
`docker save`, so that every common tool reads it. The same files give the same bytes: names are sorted and every time
is 0."""

import argparse
import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("gpuctld", "gpuctl", "gpuctl-replay")
USER = 65532
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
ETC = {
    "etc/passwd": f"gpuctl:x:{USER}:{USER}:gpuctl:/:/sbin/nologin\n",
    "etc/group": f"gpuctl:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
MEDIA = "application/vnd.oci.image."


def image_of_deployment():
    """The name that config/deploy.yaml asks for, so that both are always equal."""
    text = (ROOT / "config/deploy.yaml").read_text()
    return re.search(r"^\s*image:\s*(\S+)$", text, re.M).group(1)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """Paths of the files that the loader maps for a program, including the loader itself."""
    for line in run("ldd", str(program)).splitlines():
        found = re.search(r"(/\S+) \(0x", line)
        if found:
            yield found.group(1)
        elif "not found" in line:
            sys.exit(f"make_image: {program}: {line.strip()}")


def copyright_of(library):
    """The licence file that Debian ships with the package of a library."""
    for path in (library, str(pathlib.Path(library).resolve()), library.removeprefix("/usr"), "/usr" + library):
        owner = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        if owner.returncode == 0:
            package = owner.stdout.split(":")[0]
            licence = pathlib.Path(f"/usr/share/doc/{package}/copyright")
            if licence.exists():
                return str(licence)[1:], licence.read_bytes()
    sys.exit(f"make_image: no licence found for {library}: which Debian package is it from?")


def stripped(program, folder):
    target = folder / program
    run("strip", "-o", str(target), str(ROOT / "build/release" / program))
    return target.read_bytes()


def files(folder):
    """path in the image -> (contents, mode)"""
    found = {path: (text.encode(), 0o644) for path, text in ETC.items()}
    if not pathlib.Path(CERTIFICATES).exists():
        sys.exit(f"make_image: {CERTIFICATES} is missing: install the package ca-certificates")
    found[CERTIFICATES[1:]] = (pathlib.Path(CERTIFICATES).read_bytes(), 0o644)
    found["usr/share/doc/gpuctl/copyright"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    for program in PROGRAMS:
        built = ROOT / "build/release" / program
        if not built.exists():
            sys.exit(f"make_image: there is no {built}; leave out --no-build")
        found[f"usr/local/bin/{program}"] = (stripped(program, folder), 0o755)
        for library in libraries(built):
            found[library[1:]] = (pathlib.Path(library).read_bytes(), 0o755)
            path, licence = copyright_of(library)
            found[path] = (licence, 0o644)
    return found


def add(archive, path, contents, mode):
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(contents), mode
    archive.addfile(entry, io.BytesIO(contents))


def layer_of(found):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        folders = sorted({str(parent) for path in found for parent in pathlib.PurePath(path).parents} - {"."})
        for folder in folders:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for path in sorted(found):
            add(archive, path, *found[path])
    return buffer.getvalue()


def digest(contents):
    return "sha256:" + hashlib.sha256(contents).hexdigest()


def blob_path(contents):
    return "blobs/" + digest(contents).replace(":", "/")


def descriptor(media, contents, **more):
    return {"mediaType": MEDIA + media, "digest": digest(contents), "size": len(contents), **more}


def as_json(document):
    return json.dumps(document, sort_keys=True).encode()


def write_image(layer, name, output):
    packed = gzip.compress(layer, mtime=0)
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[run("uname", "-m").strip()]
    config = as_json({
        "architecture": architecture,
        "os": "linux",
        "config": {"User": f"{USER}:{USER}", "Entrypoint": ["/usr/local/bin/gpuctld"], "WorkingDir": "/",
                   "Env": ["PATH=/usr/local/bin"],
                   "Labels": {"org.opencontainers.image.title": "gpuctld",
                              "org.opencontainers.image.version": name.rpartition(":")[2],
                              "org.opencontainers.image.licenses": "MIT"}},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        "history": [{"created_by": "tools/image"}],
    })
    manifest = as_json({"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
                        "config": descriptor("config.v1+json", config),
                        "layers": [descriptor("layer.v1.tar+gzip", packed)]})
    tag = {"org.opencontainers.image.ref.name": name}
    index = as_json({"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json",
                     "manifests": [descriptor("manifest.v1+json", manifest, annotations=tag)]})
    saved = as_json([{"Config": blob_path(config), "RepoTags": [name], "Layers": [blob_path(packed)]}])
    parts = {"oci-layout": as_json({"imageLayoutVersion": "1.0.0"}), "index.json": index, "manifest.json": saved,
             blob_path(config): config, blob_path(manifest): manifest, blob_path(packed): packed}
    with tarfile.open(output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(parts):
            add(archive, path, parts[path], 0o644)
    return digest(manifest), len(packed)


def main():
    name = image_of_deployment()
    version = name.rpartition(":")[2]
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / f"build/gpuctld-{version}.tar")
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        found = files(pathlib.Path(folder))
    identity, size = write_image(layer_of(found), name, output)
    print(f"{output}: image {name}, {len(found)} files, {size / 1e6:.1f} MB packed, {identity}")
    print(f"next: docker load -i {output}   (or podman load -i, ctr -n k8s.io images import), then tag and push it to "
          "where your nodes pull from")


if __name__ == "__main__":
    main()
