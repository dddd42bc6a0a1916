"""tools/bench-turns: how long turns of gpuctld's event loop are while everything happens at once, at 1,000, 10,000 and
100,000 jobs. One run for each number of jobs and round; of several rounds the turns are added up."""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = REPOSITORY / "build" / "release"
TOOL = BUILD / "bench" / "gpuctl-turns-bench"
BEGIN, END = "<!-- bench-turns begin -->", "<!-- bench-turns end -->"
TURN_MOST_MS, TURN_P999_MS = 25, 10
SNAPSHOTS = 'gpuctld_journal_snapshots_total{result="ok"}'
RELOADS = 'gpuctld_config_reloads_total{result="ok"}'


def measure(options, jobs, folder):
    done = subprocess.run(
        [TOOL, "--gpuctld", options.gpuctld or BUILD / "gpuctld", "--directory", folder, "--jobs", str(jobs),
         "--seconds", str(options.seconds), "--keep"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench-turns: {done.stderr.strip()}")
    return json.loads(done.stdout)


def bound(value):
    return "more" if value is None or value > 1e9 else f"{value:g}"


def commit():
    return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=7"], cwd=REPOSITORY, capture_output=True,
                          text=True, check=True).stdout.strip()


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}, Linux {platform.release()}"


def rows_of(runs):
    text = ["| jobs | turns | how many | mean ms | 99.9 % within ms | all within ms | > 10 ms | > 25 ms |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for run in runs:
        for title, key in (("all but planning", "others"), ("planning", "planning")):
            of = run[key]
            text.append(f"| {run['jobs']:,} | {title} | {of['turns']:,.0f} | {of['mean_ms']:.3f} | "
                        f"{bound(of['p99.9_at_most_ms'])} | {bound(of['all_at_most_ms'])} | "
                        f"{of.get('longer_than_10_ms', 0):,.0f} | {of.get('longer_than_25_ms', 0):,.0f} |")
    return text


def works_of(run):
    text = ["", f"By what they did, at {run['jobs']:,} jobs:", "",
            "| work | how many | mean ms | 99.9 % within ms | all within ms |", "| --- | --- | --- | --- | --- |"]
    for work, of in sorted(run["turns"].items(), key=lambda item: -item[1]["turns"] * item[1]["mean_ms"]):
        text.append(f"| `{work}` | {of['turns']:,.0f} | {of['mean_ms']:.3f} | {bound(of['p99.9_at_most_ms'])} | "
                    f"{bound(of['all_at_most_ms'])} |")
    return text


def load_of(runs):
    text = ["", "What was asked meanwhile: answers a second, and milliseconds from when a request was due.", "",
            "| | " + " | ".join(f"{run['jobs']:,} jobs: a second | p50 ms | p99 ms" for run in runs) + " |",
            "| --- |" + " --- | --- | --- |" * len(runs)]
    for name in runs[0]["load"]:
        loads = [run["load"][name] for run in runs]
        text.append(f"| {name} | " + " | ".join(f"{load['per_second']:,.1f} | {load['p50_ms']:,.1f} | {load['p99_ms']:,.1f}"
                                               for load in loads) + " |")
    return text


def bars(runs):
    for run in runs:
        others = run["others"]
        yield (f"turns but planning, 99.9 % within ms at {run['jobs']:,} jobs", others["p99.9_at_most_ms"], TURN_P999_MS)
        yield (f"turns but planning, all within ms at {run['jobs']:,} jobs", others["all_at_most_ms"], TURN_MOST_MS)
        yield (f"times the loop exported the state at {run['jobs']:,} jobs",
               run["figures"]["gpuctld_loop_state_exports_total"], 0)


def render(runs, options):
    text = [BEGIN, f"Made by `./tools/bench-turns --seconds {options.seconds:g}` at commit {commit()} on {machine()}, client and "
            f"gpuctld (release build, embedded mode) on the same cores, with {runs[0]['followers']} followers of logs, a reload "
            "with another policy every 15 s, and a snapshot of the journal after every 20,000 inputs.", ""]
    text += rows_of(runs) + works_of(runs[-1]) + load_of(runs)
    text += ["", "| jobs | snapshots | reloads | loop's part of a core | peak MiB |", "| --- | --- | --- | --- | --- |"]
    for run in runs:
        snapshots, reloads = (run["figures"][name] for name in (SNAPSHOTS, RELOADS))
        text.append(f"| {run['jobs']:,} | {snapshots:,.0f} | {reloads:,.0f} | {run['loop_cpu_part']:.2f} | "
                    f"{run['peak_mib']:,.0f} |")
    text += ["", "| bar | measured | wanted | |", "| --- | --- | --- | --- |"]
    text += [f"| {claim} | {bound(value)} | ≤ {wanted} | {'holds' if value is not None and value <= wanted else '**missed**'} |"
             for claim, value, wanted in bars(runs)]
    return "\n".join([*text, END])


def write_table(table, file):
    old = file.read_text()
    if BEGIN in old:
        head, rest = old.split(BEGIN, 1)
        file.write_text(head + table + rest.split(END, 1)[1])
    else:
        file.write_text(old.rstrip() + "\n\n## Turns of the event loop\n\n" + table + "\n")


def main():
    parser = argparse.ArgumentParser(prog="tools/bench-turns")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--seconds", type=float, default=60, help="of the load, for each number of jobs")
    parser.add_argument("--gpuctld", help="another program than build/release/gpuctld")
    parser.add_argument("--directory", help="keep journals here, and use those that are there")
    parser.add_argument("--no-table", action="store_true", help="leave docs/performance.md alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-turns-") as folder:
        runs = []
        for jobs in options.jobs:
            print(f"{jobs:,} jobs", flush=True)
            runs.append(measure(options, jobs, options.directory or folder))
    table = render(runs, options)
    print("\n" + table)
    if not options.no_table:
        write_table(table, REPOSITORY / "docs" / "performance.md")
        print("\nwritten to docs/performance.md")
    return 0 if all(value is not None and value <= wanted for _, value, wanted in bars(runs)) else 1


if __name__ == "__main__":
    sys.exit(main())
