"""check.py missing|refused|present WHAT COMPILER ARGS...: exit 0 when the compiler agrees.

missing: it does not find the header WHAT. refused: an error matches WHAT. present: it compiles.
"""

import re
import subprocess
import sys

verdict, what, *command = sys.argv[1:]
done = subprocess.run(command, capture_output=True, text=True, check=False)
lacks_header = f"{what}: No such file" in done.stderr or f"'{what}' file not found" in done.stderr
agrees = {
    "present": done.returncode == 0,
    "missing": done.returncode != 0 and lacks_header,
    "refused": done.returncode != 0 and any(
        "error:" in line and re.search(what, line) for line in done.stderr.splitlines()),
}
if agrees[verdict]:
    sys.exit(0)
print(f"{what} should be {verdict} here; the compiler said:\n{done.stderr}")
sys.exit(1)
