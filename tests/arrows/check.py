"""check.py missing|present HEADER COMPILER ARGS...: exit 0 when the compiler agrees."""

import subprocess
import sys

verdict, header, *command = sys.argv[1:]
done = subprocess.run(command, capture_output=True, text=True, check=False)
compiled = done.returncode == 0
lacks_header = f"{header}: No such file" in done.stderr or f"'{header}' file not found" in done.stderr
if verdict == "present" and compiled or verdict == "missing" and lacks_header and not compiled:
    sys.exit(0)
print(f"{header} should be {verdict} here; the compiler said:\n{done.stderr}")
sys.exit(1)
