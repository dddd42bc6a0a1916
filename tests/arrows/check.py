"""check.py missing|present|refused WHAT COMPILER ARGS... SOURCE: exit 0 when the compiler agrees.

missing: it does not find the header WHAT. present: SOURCE compiles. refused: each line of
SOURCE that ends with `// refused: WORD...` has an error that matches each WORD, and no other line of
SOURCE has an error; WHAT is only the name of these lines in the report.
"""

import re
import subprocess
import sys
from pathlib import Path

REFUSED = re.compile(r"// refused: (.+)$")
ERROR = re.compile(r"^(.+?):(\d+):\d+: (?:fatal )?error: (.*)$")


def wrong_lines(source, output):
    """Lines that should be refused and are not, and errors on other lines of the source."""
    reasons = {number: match.group(1)
               for number, line in enumerate(Path(source).read_text(encoding="utf-8").splitlines(), 1)
               if (match := REFUSED.search(line))}
    open_lines = dict(reasons)
    for match in filter(None, map(ERROR.match, output.splitlines())):
        number = int(match.group(2))
        if match.group(1) != source:
            continue  # what an error in the source leads to in a header
        if number not in reasons:
            yield f"another error: {match.group(0)}"
        elif all(re.search(word, match.group(3)) for word in reasons[number].split()):
            open_lines.pop(number, None)
    yield from (f"{source}:{number}: not refused for `{reason}`" for number, reason in open_lines.items())


def main():
    verdict, what, *command = sys.argv[1:]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wrong = []
    if verdict == "missing":
        lacks_header = f"{what}: No such file" in done.stderr or f"'{what}' file not found" in done.stderr
        agrees = done.returncode != 0 and lacks_header
    elif verdict == "present":
        agrees = done.returncode == 0
    else:
        wrong = list(wrong_lines(command[-1], done.stderr))
        agrees = done.returncode != 0 and not wrong
    if agrees:
        return 0
    print(f"{what} should be {verdict} here; the compiler said:\n{done.stderr}")
    print("\n".join(wrong))
    return 1


sys.exit(main())
