"""tools/bench-reads: what reads cost at 1,000, 10,000 and 100,000 jobs, and how long turns of the loop are under a
mixed load. Figures of a read are medians over the rounds; the largest turn is that of all rounds."""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = REPOSITORY / "build" / "release"
TOOL = BUILD / "bench" / "gpuctl-reads-bench"
BEGIN, END = "<!-- bench-reads begin -->", "<!-- bench-reads end -->"
PAGES = ("page, the first", "page, any", "page of jobs, the first", "page of a namespace", "page of a status",
         "page by kind, pool and status")
TURN_MOST_MS, TURN_P999_MS = 25, 10


def measure(options, jobs, folder, is_last):
    """The answers of one gpuctld with this number of jobs, a list of objects."""
    more = ["--mixed-seconds", str(options.mixed_seconds if is_last else 0)]
    done = subprocess.run(
        [TOOL, "measure", "--gpuctld", options.gpuctld or BUILD / "gpuctld", "--directory", folder, "--jobs", str(jobs),
         "--seconds", str(options.seconds), "--connections", str(options.connections), "--keep", *more],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench-reads: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure_growth(options, folder):
    """By name of a page: what it costs of the loop with the most jobs, divided by that with the fewest; read in turns."""
    done = subprocess.run(
        [TOOL, "growth", "--gpuctld", options.gpuctld or BUILD / "gpuctld", "--directory", folder, "--jobs",
         str(options.jobs[0]), "--jobs-most", str(options.jobs[-1]), "--seconds", "0.5", "--connections", str(options.connections)],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench-reads: {done.stderr.strip()}")
    return {line["growth"]: line for line in map(json.loads, done.stdout.splitlines())}


def quantile_ms(turns, part):
    """The upper bound of the bucket in which that part of the turns ends, in ms; None: beyond all of them."""
    allowed = turns["turns"] * (1 - part)
    for bound, longer in sorted(((float(ms), count) for ms, count in turns["longer_than_ms"].items())):
        if longer <= allowed:
            return bound
    return None


def together(turns):
    out = {"turns": 0, "longer_than_ms": {}}
    for of in turns:
        out["turns"] += of["turns"]
        for bound, count in of["longer_than_ms"].items():
            out["longer_than_ms"][bound] = out["longer_than_ms"].get(bound, 0) + count
    return out


class Results:
    def __init__(self):
        self.reads = {}  # by jobs, by name: lists of figures
        self.mixed = {}  # by jobs: the last
        self.started = {}
        self.peak = {}
        self.growth = {}  # by name of a page

    def add(self, jobs, lines):
        for line in lines:
            if "read" in line:
                self.reads.setdefault(jobs, {}).setdefault(line["read"], []).append(line)
            elif "load" in line:
                self.mixed[jobs] = line
            elif "started_in_s" in line:
                self.started.setdefault(jobs, []).append(line["started_in_s"])
            else:
                self.peak.setdefault(jobs, []).append(line["peak_mib"])

    def figure(self, jobs, read, key):
        return statistics.median(line[key] for line in self.reads[jobs][read])


def bars(results, sizes):
    lines = []

    def bar(claim, value, wanted, at_least, digits=0):
        good = value >= wanted if at_least else value <= wanted
        lines.append((claim, f"{value:,.{digits}f}", f"{'≥' if at_least else '≤'} {wanted:,g}", good))

    few, most = sizes[0], sizes[-1]
    for name in PAGES:
        bar(f"{name}, a second at {most:,} jobs", results.figure(most, name, "per_second"), 10_000, True)
        if name in results.growth:
            bar(f"{name}, loop time from {few:,} to {most:,} jobs", results.growth[name]["ratio"], 1.3, False, 2)
    bar(f"a job's detail, a second at {most:,} jobs", results.figure(most, "job", "per_second"), 5_000, True)
    bar(f"/metrics, ms of the loop at {most:,} jobs", results.figure(most, "metrics", "loop_us") / 1_000, 1, False, 2)
    for jobs in sizes:
        turns = results.mixed.get(jobs, {}).get("turns") or {}
        others = together(of for work, of in turns.items() if work != "plan")
        if others["turns"] == 0:
            continue
        p999, longest = quantile_ms(others, 0.999), quantile_ms(others, 1)
        bar(f"turns but planning, p99.9 ms at {jobs:,} jobs", p999 or 1e9, TURN_P999_MS, False)
        bar(f"turns but planning, the longest, ms at {jobs:,} jobs", longest or 1e9, TURN_MOST_MS, False)
    return lines


def commit():
    return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=7"], cwd=REPOSITORY, capture_output=True,
                          text=True, check=True).stdout.strip()


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}, Linux {platform.release()}"


def growth_table(results, sizes):
    if not results.growth:
        return []
    text = ["", f"Pages with {sizes[-1]:,} jobs against {sizes[0]:,}, both daemons side by side and read from in turns of half a "
             "second: medians of the loop's µs a page, and of the ratios of neighbouring turns.", "",
             f"| page | {sizes[0]:,} jobs | {sizes[-1]:,} jobs | ratio |", "| --- | --- | --- | --- |"]
    for name, of in results.growth.items():
        text.append(f"| {name} | {of['few_us']:.1f} | {of['most_us']:.1f} | {of['ratio']:.2f} |")
    return text


def render(results, options):
    sizes = options.jobs
    text = [BEGIN, f"Made by `./tools/bench-reads --rounds {options.rounds} --seconds {options.seconds:g}` at commit {commit()} "
            f"on {machine()}, client and gpuctld (release build, embedded mode) on the same cores, {options.connections} "
            f"keep-alive connections. Medians of {options.rounds} rounds: requests a second, and CPU time of the event loop a "
            "request.", "",
            "| read | " + " | ".join(f"{jobs:,} jobs: a second | loop µs" for jobs in sizes) + " |",
            "| --- |" + " --- | --- |" * len(sizes)]
    for read in results.reads[sizes[0]]:
        cells = [f"{results.figure(jobs, read, 'per_second'):,.0f} | {results.figure(jobs, read, 'loop_us'):,.1f}"
                 for jobs in sizes]
        text.append(f"| {read} | " + " | ".join(cells) + " |")
    text += ["", "| jobs | gpuctld started in s | peak MiB |", "| --- | --- | --- |"]
    for jobs in sizes:
        text.append(f"| {jobs:,} | {statistics.median(results.started[jobs]):.1f} | {max(results.peak[jobs]):,.0f} |")
    text += growth_table(results, sizes)
    text += mixed_tables(results, options)
    text += ["", "| bar | measured | wanted | |", "| --- | --- | --- | --- |"]
    text += [f"| {claim} | {value} | {wanted} | {'holds' if good else '**missed**'} |"
             for claim, value, wanted, good in bars(results, sizes)]
    return "\n".join([*text, END])


def mixed_tables(results, options):
    sizes = [jobs for jobs in options.jobs if jobs in results.mixed]
    if not sizes:
        return []
    text = ["", f"A mixed load for {options.mixed_seconds:g} s, with {results.mixed[sizes[0]]['followers']} followers of logs: "
            "answers a second, and milliseconds from when a request was due (p99).", "",
            "| | " + " | ".join(f"{jobs:,} jobs: a second | p99 ms" for jobs in sizes) + " |",
            "| --- |" + " --- | --- |" * len(sizes)]
    for name in results.mixed[sizes[0]]["load"]:
        loads = [results.mixed[jobs]["load"][name] for jobs in sizes]
        text.append(f"| {name} | " + " | ".join(f"{load['per_second']:,.1f} | {load['p99_ms']:.1f}" for load in loads) + " |")
    rows = []
    for jobs in sizes:
        turns = results.mixed[jobs].get("turns") or {}
        for name, of in (("planning", together([turns["plan"]] if "plan" in turns else [])),
                         ("all others", together(of for work, of in turns.items() if work != "plan"))):
            if of["turns"] > 0:
                bounds = [quantile_ms(of, part) for part in (0.5, 0.99, 0.999, 1)]
                rows.append(f"| {jobs:,} | {name} | {of['turns']:,.0f} | " +
                            " | ".join("more" if bound is None else f"{bound:g}" for bound in bounds) + " |")
    if rows:
        text += ["", "Turns of the loop meanwhile, none longer than (ms, the bounds of a histogram):", "",
                 "| jobs | turns | how many | half | 99 % | 99.9 % | all |", "| --- | --- | --- | --- | --- | --- | --- |", *rows]
    return text


def write_table(table, file):
    old = file.read_text()
    if BEGIN in old:
        head, rest = old.split(BEGIN, 1)
        file.write_text(head + table + rest.split(END, 1)[1])
    else:
        file.write_text(old.rstrip() + "\n\n## Reads\n\n" + table + "\n")


def main():
    parser = argparse.ArgumentParser(prog="tools/bench-reads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--seconds", type=float, default=2, help="of each read")
    parser.add_argument("--mixed-seconds", type=float, default=30, help="of the mixed load, once for each number of jobs")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--gpuctld", help="another program than build/release/gpuctld")
    parser.add_argument("--directory", help="keep journals here, and use those that are there")
    parser.add_argument("--no-table", action="store_true", help="leave docs/performance.md alone")
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="bench-reads-") as folder:
        for number in range(options.rounds):
            for jobs in options.jobs:
                print(f"round {number + 1} of {options.rounds}, {jobs:,} jobs", flush=True)
                results.add(jobs, measure(options, jobs, options.directory or folder, number + 1 == options.rounds))
        if len(options.jobs) > 1:
            print(f"pages of {options.jobs[-1]:,} jobs against {options.jobs[0]:,}", flush=True)
            results.growth = measure_growth(options, options.directory or folder)
    table = render(results, options)
    print("\n" + table)
    if not options.no_table:
        write_table(table, REPOSITORY / "docs" / "performance.md")
        print("\nwritten to docs/performance.md")
    return 0 if all(good for *_, good in bars(results, options.jobs)) else 1


if __name__ == "__main__":
    sys.exit(main())
