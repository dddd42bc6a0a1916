"""tools/bench-bind --reads: what 1,000 reads a second cost a gpuctld that binds pods.

The same client reads from gpuctld itself, from a plain server next to it that answers with as many
bytes, or it does not read at all. The three take turns inside a round."""

import argparse
import json
import pathlib
import re
import tempfile
import time

from bench import BEGIN, END, REPOSITORY, Bench, commit, machine, summarize, write_table
from processes import Process, free_port

TOOL = REPOSITORY / "build" / "release" / "bench" / "gpuctl-reads-bench"
PATH = "/api/v1/jobs?pageSize=20"
NONE, PLAIN, ITSELF = "no reads", "a plain server", "gpuctld"


class ReadsBench(Bench):
    def __init__(self, options):
        super().__init__(options)
        self.page_bytes = 9_000  # until one was read

    def start(self, bed, reads_from):
        daemon = self.start_gpuctld(bed, None)
        self.load = self.plain = None
        if reads_from == NONE:
            return daemon
        port = self.port
        if reads_from == PLAIN:
            port = free_port()
            self.plain = Process("plain", [TOOL, "serve", "--port", port, "--bytes", self.page_bytes],
                                 bed.folder / "log" / "plain.log")
        self.load = self.start_load(bed, port)
        return daemon

    def start_load(self, bed, port, rate=None):
        log = bed.folder / "log" / f"load-{time.monotonic_ns()}.log"
        return Process("load", [TOOL, "load", "--port", port, "--target", PATH, "--pages", self.options.pods // 20,
                                "--rate", rate or self.options.reads, "--connections", 8], log)

    def more_figures(self, bed, contender):
        figures = {"loop_ms": loop_ms(contender.pid) / self.options.pods, "get_us": 0.0, "reads_per_second": 0.0}
        if self.load is None:
            return figures
        load = end_of(self.load)
        if self.plain is not None:
            self.plain.kill()
        figures["reads_per_second"] = load["per_second"]
        if self.plain is None:
            self.page_bytes = int(load["bytes"])
            figures["get_us"] = self.cost_of_a_read(bed, contender)
            own = load["answers"] * figures["get_us"] / 1_000
            figures["loop_ms_but_reads"] = figures["loop_ms"] - own / self.options.pods
        return figures

    def cost_of_a_read(self, bed, contender):
        """Microseconds of loop time of a read when nothing else happens."""
        seconds = 3
        before = loop_ms(contender.pid)
        load = self.start_load(bed, self.port)
        time.sleep(seconds)
        answers = end_of(load)["answers"]
        return (loop_ms(contender.pid) - before) * 1_000 / max(1, answers)

    def round(self):
        return [self.measure(f"gpuctld, reads from {reads_from}" if reads_from != NONE else "gpuctld, no reads",
                             lambda bed, r=reads_from: self.start(bed, r), scheduler="gpuctl")
                for reads_from in (ITSELF, PLAIN, NONE)]


class Instructions(ReadsBench):
    """Instructions of the loop's thread per bind, by callgrind: with fewer pods, and with as many reads per bind as
    without callgrind."""

    def __init__(self, options, binds_per_second):
        super().__init__(options)
        self.reads_per_bind = options.reads / binds_per_second
        self.rate = None  # binds per second under callgrind

    def run(self):
        """(instructions per bind without reads, instructions per bind with reads, less those of the reads)."""
        none, _ = self.count(0, 0)
        with_more, more = self.count(0, 2_000)
        a_read = (with_more - none) / more
        with_reads, answers = self.count(self.rate * self.reads_per_bind, 0)
        pods = self.options.pods
        return none / pods, (with_reads - answers * a_read) / pods

    def count(self, rate_meanwhile, reads_afterwards):
        """(instructions of the first thread, answers)."""
        self.meanwhile, self.afterwards, self.answers = rate_meanwhile, reads_afterwards, 0
        with tempfile.TemporaryDirectory() as folder:
            self.wrapper = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/out"]
            result = self.measure(f"callgrind, {rate_meanwhile:.0f} reads/s, then {reads_afterwards}",
                                  lambda bed: self.start(bed, NONE), scheduler="gpuctl")
            text = (pathlib.Path(folder) / "out-01").read_text()
        self.rate = self.rate or result["per_second"]
        return int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)[1]), self.answers

    def start(self, bed, reads_from):
        daemon = super().start(bed, reads_from)
        if self.meanwhile > 0:
            self.load = self.start_load(bed, self.port, self.meanwhile)
        return daemon

    def more_figures(self, bed, contender):
        if self.load is not None:
            self.answers += end_of(self.load)["answers"]
        if self.afterwards > 0:
            load = self.start_load(bed, self.port, 200)
            time.sleep(self.afterwards / 200)
            self.answers += end_of(load)["answers"]
        contender.stop(120)  # then it writes its counts
        return {}


def loop_ms(pid):
    """CPU time of the first thread, which is the event loop's."""
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e6


def end_of(load):
    load.stop()
    return json.loads(load.log().strip().splitlines()[-1])


def bars(summary, instructions=None):
    itself = summary[f"gpuctld, reads from {ITSELF}"]
    plain = summary[f"gpuctld, reads from {PLAIN}"]
    rate = itself["per_second"] / plain["per_second"]
    growth = itself["loop_ms"] / plain["loop_ms"]
    but_reads = itself["loop_ms_but_reads"] / plain["loop_ms"]
    lines = [("pods bound/s, reads from gpuctld ÷ from a plain server", rate, "≥ 0.95", rate >= 0.95),
             ("CPU time of the loop a bind, the same", growth, "≤ 1.05", growth <= 1.05),
             ("the same, without what as many reads take of an idle loop", but_reads, "≤ 1.05", but_reads <= 1.05)]
    if instructions:
        more = instructions[1] / instructions[0]
        lines.append((f"instructions of the loop a bind ({instructions[0]:,.0f}), likewise without the reads' own", more,
                      "≤ 1.05", more <= 1.05))
    return lines


def render(summary, options, instructions):
    text = [BEGIN.replace("bench-bind", "bench-bind-reads"),
            f"Made by `./tools/bench-bind --reads {options.reads} --rounds {options.rounds} --pods {options.pods} --nodes "
            f"{options.nodes}` at commit {commit()} on {machine()}. Medians of {options.rounds} interleaved rounds; in brackets "
            f"the slowest and fastest. Reads are pages of 20 jobs, any of them.", "",
            "| | pods bound/s | loop CPU ms a pod | without the reads' own | reads/s | loop µs a read, idle |",
            "| --- | --- | --- | --- | --- | --- |"]
    for name, row in summary.items():
        own = f"{row['loop_ms_but_reads']:.3f}" if "loop_ms_but_reads" in row else ""
        get = f"{row['get_us']:.0f}" if row["get_us"] else ""
        text.append(f"| {name} | {row['per_second']:,.0f} ({row['low']:,.0f}–{row['high']:,.0f}) | {row['loop_ms']:.3f} | {own} | "
                    f"{row['reads_per_second']:,.0f} | {get} |")
    text += ["", "| bar | measured | wanted | |", "| --- | --- | --- | --- |"]
    text += [f"| {claim} | {value:.2f} | {wanted} | {'holds' if good else '**missed**'} |"
             for claim, value, wanted, good in bars(summary, instructions)]
    return "\n".join([*text, "", END.replace("bench-bind", "bench-bind-reads")])


def run(options):
    bench = ReadsBench(options)
    rounds = []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", flush=True)
        rounds.append(bench.round())
    summary = summarize(rounds)
    instructions = None
    if options.instructions:
        fewer = argparse.Namespace(**{**vars(options), "pods": min(options.pods, 1_000)})
        instructions = Instructions(fewer, summary[f"gpuctld, reads from {ITSELF}"]["per_second"]).run()
    table = render(summary, options, instructions)
    print("\n" + table)
    if not options.quick and not options.no_table:
        write_table(table, REPOSITORY / "docs" / "performance.md", "bench-bind-reads",
                    "## Binding pods while other clients read")
    return 0 if options.quick or all(good for *_, good in bars(summary, instructions)) else 1
