"""Writes what a run of gpuctl-simulate showed into docs/simulation.md, between its marks.

    record.py PROGRAM planted        how soon each planted bug is caught; witness_seeds.hpp, too
    record.py PROGRAM run SEEDS      steps, speed and the count of each fault of one run
"""

import json
import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENT = REPOSITORY / "docs" / "simulation.md"
WITNESSES = REPOSITORY / "bench" / "simulate" / "witness_seeds.hpp"
# A bug that an earlier seed shows is found soon enough from seed 1.
WITNESS_SEED_MIN = 5


def put(mark, lines):
    begin, end = f"<!-- {mark} begin -->", f"<!-- {mark} end -->"
    before, rest = DOCUMENT.read_text().split(begin, 1)
    after = rest.split(end, 1)[1]
    DOCUMENT.write_text("\n".join([before + begin, *lines, end]) + after)


def put_witnesses(rows):
    """The rows of the table that are worth a shortcut, between the marks of the header."""
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    lines = [f'    {{"{bug.strip("`")}", {seed}}},' for bug, _, by, seed, _ in cells
             if not by.startswith("**") and int(seed) >= WITNESS_SEED_MIN]
    before, rest = WITNESSES.read_text().split("// begin\n", 1)
    WITNESSES.write_text(before + "\n".join(["// begin", *lines, "    // end"]) + rest.split("// end", 1)[1])


def planted(program):
    child = subprocess.Popen([program, "--planted-table"], stdout=subprocess.PIPE, text=True)
    lines = []
    for line in child.stdout:
        print(line, end="", flush=True)
        lines.append(line.rstrip("\n"))
    code = child.wait()
    put("planted", lines)
    put_witnesses(lines[2:])
    return code


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def commit():
    return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=7"], cwd=REPOSITORY, capture_output=True,
                          text=True, check=True).stdout.strip()


def run(program, seeds):
    done = subprocess.run([program, "--seeds", seeds, "--keep-going", "-o", "json"], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode not in (0, 1):
        return done.returncode
    told = json.loads(done.stdout)
    steps = told["counts"]["steps"]
    lines = [f"Seeds {seeds} at commit {commit()}, release build, {os.cpu_count()} × {cpu()}: {told['seeds']:,} seeds, "
             f"{steps:,} steps in {told['seconds']:.0f} s ({steps / told['seconds']:,.0f} steps/s), "
             f"{told['seedsTwice']} seeds lived twice, **{len(told['violations'])} violations**.", "",
             "| what | times |", "| --- | ---: |"]
    lines += [f"| {name.replace('_', ' ')} | {count:,} |" for name, count in told["counts"].items()]
    put("run", lines)
    print("\n".join(lines))
    for wrong in told["violations"]:
        print(wrong)
    return done.returncode


def main():
    program, what, *rest = sys.argv[1:]
    return planted(program) if what == "planted" else run(program, *rest)


if __name__ == "__main__":
    sys.exit(main())
