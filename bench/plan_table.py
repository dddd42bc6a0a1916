"""Makes the table of tools/bench-plan: placements a second, instructions and allocations a placement."""

import argparse
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = REPOSITORY / "build" / "release" / "bench" / "plan_bench"
BEGIN, END = "<!-- bench-plan begin -->", "<!-- bench-plan end -->"
SHAPES = [(nodes, ranks) for ranks in (1, 8) for nodes in (1_000, 5_000, 10_000)]
RATE_MIN, AT_NODES = 200_000, 5_000


def rates():
    """{benchmark name: items a second}, the medians of five runs."""
    done = subprocess.run([PROGRAM, "--benchmark_filter=^(place|search|cycle)/", "--benchmark_format=json", "--benchmark_repetitions=5",
                           "--benchmark_report_aggregates_only=true"], capture_output=True, text=True, check=True)
    return {row["run_name"].removesuffix("/real_time"): row["items_per_second"]
            for row in json.loads(done.stdout)["benchmarks"] if row["aggregate_name"] == "median"}


def once(nodes, ranks):
    """(instructions, allocations) a placement of one measured Plan."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured_plan*",
             f"--callgrind-out-file={folder}/out", PROGRAM, "--once", str(nodes), str(ranks)],
            capture_output=True, text=True, check=True)
        total = re.search(r"^(?:totals|summary): (\d+)", (pathlib.Path(folder) / "out").read_text(), re.MULTILINE)
    counts = json.loads(done.stdout)
    return int(total[1]) / counts["placements"], counts["allocations"] / counts["placements"]


def commit():
    return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=7"], cwd=REPOSITORY, capture_output=True,
                          text=True, check=True).stdout.strip()


def processor():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return model[1] if model else platform.machine()


def render():
    speed = rates()
    lines = [BEGIN, f"Made by `./tools/bench-plan` at commit {commit()} on one core of {processor()}; seconds are medians of five, "
             "instructions are callgrind's.", "",
             "| nodes | ranks | placements/s | instructions a placement | allocations a placement | search alone /s |",
             "| --- | --- | --- | --- | --- | --- |"]
    good = True
    for nodes, ranks in SHAPES:
        rate = speed[f"place/nodes:{nodes}/ranks:{ranks}"]
        instructions, allocations = once(nodes, ranks)
        good = good and (nodes != AT_NODES or rate >= RATE_MIN) and allocations < 0.01
        search = f"{speed[f'search/nodes:{nodes}']:,.0f}" if ranks == 1 else ""
        lines.append(f"| {nodes:,} | {ranks} | {rate:,.0f} | {instructions:,.0f} | {allocations:.3f} | {search} |")
        print(lines[-1], flush=True)
    lines += ["", f"Bars: {RATE_MIN:,} placements/s at {AT_NODES:,} nodes, and no allocation a placement: "
              + ("both hold." if good else "**missed**."),
              f"From the first sight of 5,000 one-GPU pods to their confirmed binds, at {AT_NODES:,} nodes: "
              f"{speed[f'cycle/nodes:{AT_NODES}']:,.0f} pods/s.", END]
    return "\n".join(lines), good


def main():
    parser = argparse.ArgumentParser(prog="tools/bench-plan")
    parser.add_argument("--no-table", action="store_true", help="leave docs/performance.md alone")
    options = parser.parse_args()
    table, good = render()
    file = REPOSITORY / "docs" / "performance.md"
    if not options.no_table:
        head, rest = file.read_text().split(BEGIN, 1)
        file.write_text(head + table + rest.split(END, 1)[1])
        print("written to docs/performance.md")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
