"""tools/bench-bind: the bare bind probe, kube-scheduler and gpuctld side by side on a real API server.

Every measurement gets an API server and etcd of its own; contenders take turns inside a round, so that a
slow minute of the machine meets them all. Figures are medians over the rounds; the bars are ratios."""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path[:0] = [str(REPOSITORY / "tests" / "testbed")]

import binaries  # noqa: E402
from processes import Process, cpu_ms, free_port  # noqa: E402
from testbed import Testbed  # noqa: E402

BEGIN, END = "<!-- bench-bind begin -->", "<!-- bench-bind end -->"
PROBES_IN_FLIGHT = (8, 32, 64)


class Bench:
    def __init__(self, options):
        self.options = options
        self.tool = binaries.build_module(HERE, "bind-bench")
        self.gpuctld = pathlib.Path(options.gpuctld or REPOSITORY / "build" / "release" / "gpuctld")
        self.wrapper = []  # a program that runs it, with its flags

    def run_tool(self, bed, verb, *flags):
        done = subprocess.run(self._command(bed, verb, *flags), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench-bind: {verb}: {done.stderr.strip()}")
        return done.stdout

    def _command(self, bed, verb, *flags):
        return [str(self.tool), verb, f"-server={bed.server}", f"-token={bed.tokens['admin']}",
                f"-ca={bed.folder}/pki/ca.crt", *flags]

    # --- contenders: each returns the started process ---

    def start_probe(self, bed, in_flight, http2=False):
        return Process("probe", self._command(bed, "probe", f"-count={self.options.pods}", f"-in-flight={in_flight}",
                                              f"-http2={str(http2).lower()}"), bed.folder / "log" / "contender.log")

    def start_kube_scheduler(self, bed):
        configuration = bed.folder / "kube-scheduler.json"
        configuration.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(bed.kubeconfig("admin")), "qps": 100000, "burst": 100000},
            "profiles": [{"schedulerName": "kube-scheduler"}]}))
        return Process("kube-scheduler", [bed.binaries / "kube", "kube-scheduler", f"--config={configuration}",
                                          "--secure-port=0", "--v=0"], bed.folder / "log" / "contender.log")

    def start_gpuctld(self, bed, events):
        configuration = bed.folder / "gpuctld.json"
        kubernetes = {"kubeconfig": str(bed.kubeconfig("gpuctld"))}
        if events is not None:
            kubernetes["events"] = events
        self.port = free_port()
        configuration.write_text(json.dumps({
            "server": {"port": self.port}, "cluster": {"mode": "kubernetes", "kubernetes": kubernetes},
            "journal": {"directory": str(bed.folder / "journal")}, "logging": {"level": "warn"}}))
        return Process("gpuctld", [*self.wrapper, self.gpuctld, "--config", configuration], bed.folder / "log" / "contender.log")

    # --- one measurement ---

    def measure(self, name, start, gang=0, scheduler="probe", latency=0):
        with Testbed(kwok=False, controllers=False, throughput=True, audit=False, fsync=True) as bed:
            bed.create_namespace("bench")
            self.run_tool(bed, "nodes", f"-count={self.options.nodes}")
            self.run_tool(bed, "pods", f"-count={self.options.pods}", f"-gang={gang}", f"-scheduler={scheduler}")
            watcher = subprocess.Popen(self._command(bed, "watch", f"-count={self.options.pods}"),
                                       stdout=subprocess.PIPE, text=True)
            try:
                assert watcher.stdout.readline().strip() == "watching"
                servers = [bed.processes["kube-apiserver"].pid, bed.processes["etcd"].pid]
                before = sum(cpu_ms(pid) for pid in servers)
                writes_before = writes(bed)
                contender = start(bed)
                line = self._finish(watcher, contender)
                own = self._own_cpu(contender)
                others = sum(cpu_ms(pid) for pid in servers) - before
                result = {"name": name, "per_second": line["per_second"],
                          "own_cpu_ms": own[0] / self.options.pods, "server_cpu_ms": others / self.options.pods,
                          "writes": (writes(bed) - writes_before) / self.options.pods, "peak_mib": own[1] / 1024}
                result.update(self.more_figures(bed, contender))
                if latency:
                    result.update(json.loads(self.run_tool(
                        bed, "latency", f"-count={latency}", f"-scheduler={'' if scheduler == 'probe' else scheduler}")))
                    if contender.alive:
                        result["peak_mib"] = contender.peak_rss_kib() / 1024
                contender.stop()
            finally:
                watcher.kill()
        print(f"  {name:<34} {result['per_second']:8.0f} pods/s  {result['own_cpu_ms']:6.3f} ms own CPU  "
              f"{result['server_cpu_ms']:5.2f} ms servers  {result['writes']:5.2f} writes  {result['peak_mib']:6.0f} MiB"
              + (f"  idle p50 {result['p50_ms']:.1f} p99 {result['p99_ms']:.1f} ms" if latency else ""), flush=True)
        return result

    def _finish(self, watcher, contender):
        """The watcher's summary. The probe ends with its work; its figures are taken just before it is reaped."""
        self._probe_usage = None
        end = time.monotonic() + self.options.deadline
        while watcher.poll() is None:
            if time.monotonic() > end:
                raise SystemExit(f"bench-bind: {contender.name} did not bind everything within {self.options.deadline} s:"
                                 f"\n{contender.log()[-2000:]}")
            if contender.name == "probe":
                self._sample_probe(contender)
            elif not contender.alive:
                raise SystemExit(f"bench-bind: {contender.name} ended with {contender.exit_code}:\n{contender.log()[-2000:]}")
            time.sleep(0.02)
        return json.loads(watcher.stdout.read())

    def _sample_probe(self, contender):
        try:
            usage = contender.cpu_ms(), contender.peak_rss_kib()
            self._probe_usage = usage if usage[1] else self._probe_usage
        except OSError:
            pass  # it has ended; the last sample counts

    def _own_cpu(self, contender):
        if contender.name == "probe":
            return self._probe_usage
        return contender.cpu_ms(), contender.peak_rss_kib()

    def more_figures(self, bed, contender):
        """Of a bench that asks more; the contender is still there, and all pods are bound."""
        return {}

    # --- the plan of a round ---

    def round(self):
        results = []
        trials = self.options.trials
        for in_flight in PROBES_IN_FLIGHT:
            results.append(self.measure(f"bare bind probe, {in_flight} in flight",
                                        lambda bed, k=in_flight: self.start_probe(bed, k),
                                        latency=trials if in_flight == 32 else 0))
        kube, ours = "kube-scheduler", "gpuctl"
        results.append(self.measure(kube, self.start_kube_scheduler, scheduler=kube, latency=trials))
        if self.gpuctld.exists():
            results.append(self.measure("gpuctld", lambda bed: self.start_gpuctld(bed, None), scheduler=ours, latency=trials))
            results.append(self.measure("gpuctld, events off", lambda bed: self.start_gpuctld(bed, "off"), scheduler=ours))
        else:
            print(f"  no {self.gpuctld}: its rows are left out")
        results.append(self.measure(f"{kube}, the gang's pods one by one", self.start_kube_scheduler, gang=8, scheduler=kube))
        if self.gpuctld.exists():
            results.append(self.measure("gpuctld, gangs of 8", lambda bed: self.start_gpuctld(bed, None), gang=8, scheduler=ours))
        return results


def writes(bed):
    """Mutating requests the API server has answered so far, its own to itself left out."""
    text = bed.api("GET", "/metrics", raw=True)[1]
    total = 0
    for line in text.splitlines():
        if line.startswith("apiserver_request_total{") and re.search(r'verb="(POST|PUT|PATCH|DELETE|APPLY)"', line):
            if 'resource="pods"' in line or 'resource="events"' in line:
                total += float(line.rsplit(" ", 1)[1])
    return total


def summarize(rounds):
    """Medians per contender, in the order of the first round; keeps the spread of the rate."""
    rows = {}
    for results in rounds:
        for result in results:
            rows.setdefault(result["name"], []).append(result)
    summary = {}
    for name, samples in rows.items():
        keys = [key for key in samples[0] if key != "name"]
        summary[name] = {key: statistics.median(sample[key] for sample in samples) for key in keys}
        rates = [sample["per_second"] for sample in samples]
        summary[name]["low"], summary[name]["high"] = min(rates), max(rates)
    return summary


def bars(summary):
    """(claim, measured, wanted, holds) for each bar; empty where gpuctld did not run."""
    ours, kube = summary.get("gpuctld"), summary.get("kube-scheduler")
    if not ours or not kube:
        return []
    probes = [row for name, row in summary.items() if name.startswith("bare bind probe")]
    probe = max(probes, key=lambda row: row["per_second"])
    lines = []

    def bar(claim, value, wanted, at_least):
        lines.append((claim, value, f"{'≥' if at_least else '≤'} {wanted:.2f}", value >= wanted if at_least else value <= wanted))

    bar("pods bound/s, gpuctld ÷ kube-scheduler", ours["per_second"] / kube["per_second"], 2, True)
    bar("pods bound/s, gpuctld ÷ best probe", ours["per_second"] / probe["per_second"], 0.85, True)
    gang = summary.get("gpuctld, gangs of 8")
    one_by_one = summary.get("kube-scheduler, the gang's pods one by one")
    if gang and one_by_one:
        bar("gangs of 8: pods bound/s, gpuctld ÷ kube-scheduler", gang["per_second"] / one_by_one["per_second"], 2, True)
        bar("gangs of 8: pods bound/s, gpuctld ÷ best probe", gang["per_second"] / probe["per_second"], 0.85, True)
    bar("own CPU per pod, gpuctld ÷ kube-scheduler", ours["own_cpu_ms"] / kube["own_cpu_ms"], 0.1, False)
    bar("peak memory, gpuctld ÷ kube-scheduler", ours["peak_mib"] / kube["peak_mib"], 0.25, False)
    if "p50_ms" in ours and "p50_ms" in kube:
        bar("idle submit → bound p50, gpuctld ÷ kube-scheduler", ours["p50_ms"] / kube["p50_ms"], 1, False)
        bar("idle submit → bound p99, gpuctld ÷ kube-scheduler", ours["p99_ms"] / kube["p99_ms"], 1, False)
    return lines


def commit():
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}; Kubernetes {binaries.KUBERNETES_VERSION}"


def render(summary, options):
    command = f"./tools/bench-bind --rounds {options.rounds} --pods {options.pods} --nodes {options.nodes}"
    text = [
        BEGIN, f"Made by `{command}` at commit {commit()} on {machine()}. {options.nodes} nodes × 8 GPUs, {options.pods} one-GPU "
        f"pods created before the contender starts. Medians of {options.rounds} interleaved round"
        f"{'s' if options.rounds != 1 else ''}; in brackets the slowest and fastest.", "",
        "| | pods bound/s | own CPU ms a pod | API server + etcd CPU ms a pod | writes a pod | peak MiB | idle submit → bound p50 / p99 ms |",
        "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in summary.items():
        idle = f"{row['p50_ms']:.1f} / {row['p99_ms']:.1f}" if "p50_ms" in row else ""
        text.append(f"| {name} | {row['per_second']:,.0f} ({row['low']:,.0f}–{row['high']:,.0f}) | {row['own_cpu_ms']:.3f} | "
                    f"{row['server_cpu_ms']:.2f} | {row['writes']:.2f} | {row['peak_mib']:.0f} | {idle} |")
    text += ["", "kube-scheduler knows no gangs: in the gang row it binds the same pods one by one. Its client QPS and burst are "
             "lifted to 100,000. Own CPU counts from the start of the process to the last bind, start-up included. Writes are those "
             "to pods and events.", ""]
    lines = bars(summary)
    if lines:
        text += ["| bar | measured | wanted | |", "| --- | --- | --- | --- |"]
        text += [f"| {claim} | {value:.2f} | {wanted} | {'holds' if good else '**missed**'} |" for claim, value, wanted, good in lines]
        text.append("")
    text.append(END)
    return "\n".join(text)


def write_table(table, file, name="bench-bind", heading="## Binding pods through a real API server"):
    old = file.read_text() if file.exists() else "# Performance\n\nMeasured, never estimated; each table names the command that makes it.\n"
    begin, end = BEGIN.replace("bench-bind", name), END.replace("bench-bind", name)
    if begin in old:
        head, rest = old.split(begin, 1)
        new = head + table + rest.split(end, 1)[1]
    else:
        new = old.rstrip() + "\n\n" + heading + "\n\n" + table + "\n"
    file.write_text(new)


def main():
    parser = argparse.ArgumentParser(prog="tools/bench-bind")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=200, help="creates on the idle cluster for submit → bound")
    parser.add_argument("--quick", action="store_true", help="one small round that only shows that everything works")
    parser.add_argument("--no-table", action="store_true", help="leave docs/performance.md alone (implied by --quick)")
    parser.add_argument("--gpuctld", help="another program than build/release/gpuctld")
    parser.add_argument("--deadline", type=int, default=300, help="seconds a contender may take")
    parser.add_argument("--json", help="write all rounds to this file")
    parser.add_argument("--reads", type=int, help="the cost of this many reads a second for gpuctld, instead")
    parser.add_argument("--instructions", action="store_true", help="with --reads: count them, too (valgrind, minutes)")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.pods, options.nodes, options.trials = 1, 400, 100, 20
    if options.pods > options.nodes * 8 - options.trials:
        parser.error("more pods than GPUs: raise --nodes")
    if options.reads:
        import reads  # it builds on this module
        return reads.run(options)
    bench = Bench(options)
    rounds = []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", flush=True)
        rounds.append(bench.round())
    summary = summarize(rounds)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rounds, indent=1))
    table = render(summary, options)
    print("\n" + table.replace(BEGIN, "").replace(END, "").strip())
    if not options.quick and not options.no_table:
        write_table(table, REPOSITORY / "docs" / "performance.md")
        print("\nwritten to docs/performance.md")
    return 0 if all(good for *_, good in bars(summary)) or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
