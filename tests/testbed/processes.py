"""Child processes that do not outlive the tests, free ports, certificates."""

import concurrent.futures
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
# Deadlines are meant for a machine that does nothing else; tools/test, which has it compute meanwhile, gives more.
PATIENCE = float(os.environ.get("GPUCTL_PATIENCE", "1"))
# The signal comes when the *thread* ends that started the child, so one thread that stays starts them all.
_STARTER = concurrent.futures.ThreadPoolExecutor(1, "starter")


def free_port():
    """A port that is free now. Another process may take it first; starting then fails with an error."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _die_with_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A started program with its output in a file. `detached` ones live on after this process."""

    def __init__(self, name, command, log_file, environment=None, detached=False, folder=None):
        self.name = name
        self.log_file = pathlib.Path(log_file)
        with open(self.log_file, "ab") as output:
            self._child = _STARTER.submit(
                subprocess.Popen, [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, env=environment, start_new_session=detached, cwd=folder,
                preexec_fn=None if detached else _die_with_parent).result()
        self.pid = self._child.pid

    @property
    def exit_code(self):
        return self._child.poll()

    @property
    def alive(self):
        return self._child.poll() is None

    def log(self):
        return self.log_file.read_text(errors="replace")

    def send(self, signal_number):
        if self.alive:
            self._child.send_signal(signal_number)

    def wait(self, seconds):
        """The exit code; raises subprocess.TimeoutExpired after the deadline."""
        return self._child.wait(timeout=seconds)

    def stop(self, seconds=10):
        """SIGTERM, then SIGKILL after the deadline."""
        self.send(signal.SIGTERM)
        try:
            return self.wait(seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self):
        self.send(signal.SIGKILL)
        return self.wait(10)

    def cpu_ms(self):
        return cpu_ms(self.pid)

    def peak_rss_kib(self):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
        return 0


def cpu_ms(pid):
    """User and system time a process has used so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf("SC_CLK_TCK")


def wait_for(condition, deadline_s, what, every_s=0.05):
    """The first true value of `condition`; AssertionError with `what` once the deadline has passed."""
    deadline_s *= PATIENCE
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"not within {deadline_s:g} s: {what() if callable(what) else what}")
        time.sleep(every_s)


def make_certificates(folder):
    """ca.crt, server.{crt,key} for 127.0.0.1 and localhost, service-account.{key,pub}; with openssl."""
    folder = pathlib.Path(folder)

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *ec, "-keyout", "ca.key", "-out", "ca.crt", "-days", "3650",
            "-subj", "/CN=gpuctl testbed CA", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    (folder / "names.cnf").write_text(
        "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc,IP:10.0.0.1,"
        "DNS:gpuctld.gpuctl-system.svc,DNS:gpuctld\nextendedKeyUsage=serverAuth,clientAuth\n")
    openssl("req", *ec, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=gpuctl testbed")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "server.crt", "-days", "3650", "-extfile", "names.cnf")
    openssl("genrsa", "-out", "service-account.key", "2048")
    openssl("rsa", "-in", "service-account.key", "-pubout", "-out", "service-account.pub")
    for key in folder.glob("*.key"):
        key.chmod(0o600)
