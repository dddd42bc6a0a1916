"""Writes results of gpuctl-simulate into docs/simulation.md, between its marks.

    record.py PROGRAM faults         how soon each seeded fault is caught; updates witness_seeds.hpp too
    record.py PROGRAM run SEEDS DIR  steps, speed and the count of each fault, simulated in pieces; finished pieces
                                     are kept in DIR, so that an interrupted run continues from there
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENT = REPOSITORY / "docs" / "simulation.md"
WITNESSES = REPOSITORY / "bench" / "simulate" / "witness_seeds.hpp"
# A fault that an earlier seed shows is found soon enough from seed 1.
WITNESS_SEED_MIN = 5
SEEDS_A_PIECE = 1000


def put(mark, lines):
    begin, end = f"<!-- {mark} begin -->", f"<!-- {mark} end -->"
    before, rest = DOCUMENT.read_text().split(begin, 1)
    after = rest.split(end, 1)[1]
    DOCUMENT.write_text("\n".join([before + begin, *lines, end]) + after)


def put_witnesses(rows):
    """Rows whose seed is worth a shortcut, written between the marks of the header."""
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    lines = [f'    {{"{fault.strip("`")}", {seed}}},' for fault, _, by, seed, _ in cells
             if not by.startswith("**") and int(seed) >= WITNESS_SEED_MIN]
    before, rest = WITNESSES.read_text().split("// begin\n", 1)
    WITNESSES.write_text(before + "\n".join(["// begin", *lines, "    // end"]) + rest.split("// end", 1)[1])


def record_faults(program):
    child = subprocess.Popen([program, "--fault-table"], stdout=subprocess.PIPE, text=True)
    lines = []
    for line in child.stdout:
        print(line, end="", flush=True)
        lines.append(line.rstrip("\n"))
    code = child.wait()
    put("faults", lines)
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


def fingerprint(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()[:12]


def pieces(seeds):
    """Splits A..B into ranges so short that an interruption costs minutes, not hours."""
    first, last = map(int, seeds.split(".."))
    return [f"{begin}..{min(begin + SEEDS_A_PIECE - 1, last)}" for begin in range(first, last + 1, SEEDS_A_PIECE)]


def simulate_piece(program, seeds, folder):
    """The JSON report of one piece; read from the folder when an earlier run of the same program finished it."""
    cached = folder / f"{fingerprint(program)}-{seeds}.json"
    if not cached.exists():
        done = subprocess.run([program, "--seeds", seeds, "--keep-going", "-o", "json"], stdout=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(done.returncode)
        part = cached.with_suffix(".part")
        part.write_text(done.stdout)
        part.rename(cached)
    report = json.loads(cached.read_text())
    print(f"{seeds}: {report['counts']['steps']:,} steps in {report['seconds']:.0f} s, "
          f"{len(report['violations'])} violations", flush=True)
    return report


def record_run(program, seeds, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    reports = [simulate_piece(program, piece, folder) for piece in pieces(seeds)]
    counts = {name: sum(piece["counts"][name] for piece in reports) for name in reports[0]["counts"]}
    violations = [wrong for piece in reports for wrong in piece["violations"]]
    steps, seconds = counts["steps"], sum(piece["seconds"] for piece in reports)
    lines = [f"Seeds {seeds} at commit {commit()}, release build, {os.cpu_count()} × {cpu()}: "
             f"{sum(piece['seeds'] for piece in reports):,} seeds, "
             f"{steps:,} steps in {seconds:.0f} s ({steps / seconds:,.0f} steps/s), "
             f"{sum(piece['seedsTwice'] for piece in reports)} seeds simulated twice, **{len(violations)} violations**.", "",
             "| what | times |", "| --- | ---: |"]
    lines += [f"| {name.replace('_', ' ')} | {count:,} |" for name, count in counts.items()]
    put("run", lines)
    print("\n".join(lines))
    for wrong in violations:
        print(wrong)
    return 1 if violations else 0


def main():
    program, what, *rest = sys.argv[1:]
    return record_faults(program) if what == "faults" else record_run(program, *rest)


if __name__ == "__main__":
    sys.exit(main())
