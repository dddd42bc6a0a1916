"""Refuses citations of documents that are not in the repository, and codes that it does not define.

A comment has to bring the reason, or to cite a public source. A code such as I14 is defined if docs/invariants.md has
a row for it; the names of GPU models (T4, A30) are those of scheduler/model/gpu/gpu_memory.cpp.
"""

import functools
import re
from pathlib import Path

from words import sentences

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = re.compile(r"\brulings? \d+|\b(?:quality|contract)\.md\b|\.\./shared\b", re.IGNORECASE)
CODE = re.compile(r"(?<![-\w\[`./])[A-Z]\d{1,2}b?\b(?![-\]]|\.\w)")
# The names of these tests begin with the ids of acceptance cases, which docs/acceptance.md lists.
ACCEPTANCE = re.compile(r"\bTEST(?:_F|_P)?\(\s*Acceptance\w*,|\bdef test_(?:[A-M]\d{1,2}|SC_\d)_")
ACCEPTANCE_PAGE = "docs/acceptance.md"
DEFINED = re.compile(r"^\| (I\d+) \|", re.MULTILINE)


@functools.cache
def known_codes():
    invariants = DEFINED.findall((ROOT / "docs" / "invariants.md").read_text())
    models = re.findall(r"\b[A-Z]\d{1,2}\b", (ROOT / "scheduler" / "model" / "gpu" / "gpu_memory.cpp").read_text())
    return frozenset(invariants + models)


def check_sources(path, lines):
    for number, line in enumerate(lines, 1):
        match = DOCUMENT.search(line)
        if match:
            yield number, "source", f"`{match.group(0)}` is not in the repository; bring the reason, or cite a public source"
    for number, text in sentences(path, lines, with_strings=False):
        if ACCEPTANCE.search(lines[number - 1]) or str(path).endswith(ACCEPTANCE_PAGE):
            continue
        for code in CODE.findall(text):
            if code not in known_codes():
                yield number, "source", f"the code `{code}` is defined nowhere; bring the reason"
