"""Writes what a run of gpuctl-simulate showed into docs/simulation.md, between its marks.

    record.py PROGRAM planted        how soon each planted bug is caught; witness_seeds.hpp, too
    record.py PROGRAM run SEEDS DIR  steps, speed and the count of each fault of one run, lived piece by piece; what
                                     is done is kept in DIR, so that a run that was interrupted goes on from there
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
# A bug that an earlier seed shows is found soon enough from seed 1.
WITNESS_SEED_MIN = 5
SEEDS_A_PIECE = 1000


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


def fingerprint(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()[:12]


def pieces(seeds):
    """A range A..B in ranges short enough that an interruption costs minutes, not hours."""
    first, last = map(int, seeds.split(".."))
    return [f"{begin}..{min(begin + SEEDS_A_PIECE - 1, last)}" for begin in range(first, last + 1, SEEDS_A_PIECE)]


def lived(program, seeds, folder):
    """What one piece told; a piece that an earlier run of the same program finished is read from the folder."""
    kept = folder / f"{fingerprint(program)}-{seeds}.json"
    if not kept.exists():
        done = subprocess.run([program, "--seeds", seeds, "--keep-going", "-o", "json"], stdout=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(done.returncode)
        part = kept.with_suffix(".part")
        part.write_text(done.stdout)
        part.rename(kept)
    told = json.loads(kept.read_text())
    print(f"{seeds}: {told['counts']['steps']:,} steps in {told['seconds']:.0f} s, "
          f"{len(told['violations'])} violations", flush=True)
    return told


def run(program, seeds, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    told = [lived(program, piece, folder) for piece in pieces(seeds)]
    counts = {name: sum(piece["counts"][name] for piece in told) for name in told[0]["counts"]}
    violations = [wrong for piece in told for wrong in piece["violations"]]
    steps, seconds = counts["steps"], sum(piece["seconds"] for piece in told)
    lines = [f"Seeds {seeds} at commit {commit()}, release build, {os.cpu_count()} × {cpu()}: "
             f"{sum(piece['seeds'] for piece in told):,} seeds, "
             f"{steps:,} steps in {seconds:.0f} s ({steps / seconds:,.0f} steps/s), "
             f"{sum(piece['seedsTwice'] for piece in told)} seeds lived twice, **{len(violations)} violations**.", "",
             "| what | times |", "| --- | ---: |"]
    lines += [f"| {name.replace('_', ' ')} | {count:,} |" for name, count in counts.items()]
    put("run", lines)
    print("\n".join(lines))
    for wrong in violations:
        print(wrong)
    return 1 if violations else 0


def main():
    program, what, *rest = sys.argv[1:]
    return planted(program) if what == "planted" else run(program, *rest)


if __name__ == "__main__":
    sys.exit(main())
