"""Words and phrases of the dialect in which this code base was once written, and what to write instead.

Plain technical English has the field's terms (docs/glossary.md), and names jobs, pods and queues instead of pointing
at them. A word in WORDS is wrong nearly always: it is refused in identifiers, comments, strings and documents. Where a
word also has ordinary uses, PHRASES has the forms that are the dialect, as whole words of a sentence: comments,
strings with a space, documents, and names of tests and scenarios.
"""

import io
import re
import tokenize
from dataclasses import dataclass

PERSON = "the thing itself: the job, the pod, a client, no node"

WORDS = {
    "anew": "again",
    "anybody": PERSON,
    "anyone": PERSON,
    "beside": "next to, in addition to, together with",
    "everybody": PERSON,
    "judge": "check, checker",
    "judged": "checked",
    "judges": "checks, checkers",
    "lately": "recently; recent usage",
    "leavers": "terminating pods",
    "lived": "simulated",
    "moment": "time, point in time",
    "moments": "times, points in time",
    "nobody": PERSON,
    "planted": "seeded (a seeded fault)",
    "promise": "reservation, guarantee",
    "promised": "reserved, guaranteed",
    "promises": "reservations, guarantees",
    "pulse": "health probe",
    "relief": "released usage",
    "somebody": PERSON,
    "someone": PERSON,
    "standing": "state, phase",
    "stands": "is (at a place); state",
    "tell": "report, show",
    "tells": "reports, shows",
    "told": "reported, shown, given",
    "who": PERSON,
    "whoever": PERSON,
    "wholly": "completely",
    "whom": PERSON,
}

# Exact texts in which a listed word is right, each with the places (path prefixes) that need it; () = everywhere.
WORDS_ALLOWED = {
    # Names of the standard library, of Kubernetes, of programs.
    "std::promise": (), "tellg": (), "tellp": (), "whoami": (), "PersistentVolumeClaim": (),
    "GPUCTL_SEEDED_FAULTS": (), "seeded_faults.hpp": (),
    # Names in layouts of journals and images that exist.
    "standing:e(": ("daemon/journal/format_2.cpp",), "promises:[<": ("daemon/journal/format_2.cpp",),
    "out.promises": ("scheduler/state/image/image.cpp",),
    "image_.promises": ("scheduler/state/image/state_reader.cpp",),
    "> promises;": ("scheduler/state/image/image.hpp",), "run_times, promises, ": ("scheduler/state/image/image.hpp",),
    "BindState standing": ("scheduler/state/image/image.hpp",), "(facts, standing, ": ("scheduler/state/image/image.hpp",),
    "image.standing": ("scheduler/state/image/pairs.cpp",), "pod.standing": ("scheduler/state/image/state_reader.cpp",),
    "claim_until": ("scheduler/state/image/",), "claim_pods": ("scheduler/state/image/",),
    '"claimed"': ("scheduler/state/image/image.hpp",),
    # The volume claim of a refusal.
    "->claim}": ("scheduler/plan/explain/explain_refusals.cpp",),
    # A user of the system, and a user of the testbed.
    '"nobody"': ("bench/bind/", "tests/"), "`nobody`": ("docs/testbed.md", "tests/testbed/"),
    # Former names, in the list of changes.
    "`lately` →": ("CHANGELOG.md",), '{result="told"}': ("CHANGELOG.md",), "`promised_in_ms` →": ("CHANGELOG.md",),
}

# In these rooms nothing but room for a preemptor is claimed, so identifiers say nomination, too.
CLAIM_WORDS = dict.fromkeys(("claim", "claims", "claimed", "claiming"), "nomination, nominated")
CLAIM_FREE = ("scheduler/engine/", "scheduler/plan/", "scheduler/policy/", "scheduler/queue/", "scheduler/state/",
              "scheduler/whatif/", "sim/swarm/")
WORD_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Phrase:
    pattern: re.Pattern
    instead: str
    where: tuple = ()  # path prefixes that the rule holds in; () = everywhere


def phrase(pattern, instead, where=()):
    return Phrase(re.compile(pattern, re.IGNORECASE), instead, where)


CORE = ("scheduler/", "sim/", "tests/property/", "tests/scenario/", "tests/unit/scheduler/", "tests/unit/sim/")
ROOM = r"(room|capacity|GPUs?|quota|nodes?)"

PHRASES = (
    # Room for a preemptor. A claim on a volume keeps its name, as do a lease that is claimed and the claim of a test.
    phrase(r"(?<!volume )\bclaim(s|ed|ing)?\b(?! data)", "nomination, nominated (room for a preemptor)", CORE),
    phrase(rf"\bclaim(s|ed|ing)? (of |to |on )?(the |its |their )?{ROOM}\b|\b{ROOM} (that )?(is|are|was|were) (only )?claimed\b",
           "nomination, nominated (room for a preemptor)"),
    phrase(r"\blimits? (is |are |was |were |be )?kept\b|\bkept limits?\b|\bkeep(s|ing)? (the |its |a )?limits? for\b",
           "quota reservation: reserved for the head of line"),
    # A sum of limits may hold GPUs; a limit that holds is in force, or is reserved.
    phrase(r"\b(the|a|its|each|every|no|which|this|that) limits? holds?\b", "a limit applies; a quota is reserved"),
    phrase(r"\b(keeps?|kept|keeping|holds?|held) (\w+ )?back\b", "reserves, reserved; not lent; delays"),
    phrase(r"\bheads? elsewhere\b", "the head-of-line job of another pool"),
    phrase(r"\bfirst in (the )?line\b", "at the head of the line"),
    phrase(r"\bwork (is |that is )?left\b|\bleft to do\b", "remaining work"),
    # A pod that terminates. A job may leave a queue, and a loop may leave a cost to a reader.
    phrase(r"\b(are|is|pods?|ranks?|jobs?|victims?|those|what is) leaving\b|\bleaving (pods?|ranks?|jobs?|victims?)\b"
           r"|\bon (its|their|the) way out\b", "terminating"),
    phrase(r"\bpush(ed|es|ing)? out\b", "preempted, evicted"),
    phrase(r"\bstop(s|ped|ping)? for\b", "preempted for, evicted for"),
    phrase(r"\b(takes?|taken|took|taking) (\w+ ){0,2}(?<!the )back\b", "reclaim, reclaimed; withdraw"),
    phrase(r"\bso (many|much)\b", "the number of, the amount of, this many"),
    phrase(r"\bsiz(es?|ing) by gain\b", "marginal-speedup sizing"),
    # Other jobs, pods or queues. `the others`, `all others` and `and others` follow the noun that they stand for.
    phrase(r"(?<!\bthe )(?<!\ball )(?<!\band )(?<!\bor )(?<!\bno )(?<!\bany )\bothers\b", "name them: other jobs, other pods"),
    # A job, pod or queue at the beginning of a clause. `the one that` and `a new one that` follow a noun.
    phrase(r"(^|[.,;:(?!] ?|\b(of|for|than|as|to|by|with|like|and|or|but|from|in|behind|before|after|that|when|while|if) )ones? that\b",
           "name it: a job that, a pod that"),
    phrase(r"\bbooks\b", "reference model"),
    phrase(r"\bbeats?\b", "health probe; is better than"),
    phrase(r"\btheirs\b", "name it: the queue's, of these jobs"),
    phrase(r"\bwhat of (it|that|them|these|those)\b", "name it: the part of the job that"),
)

CPP = (".cpp", ".hpp", ".go")
COMMENT = re.compile(r"//(.*)$")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
INCLUDE = re.compile(r'#include\s+"')
MARKS = " \t#>*|-"  # before a sentence in a document or a script
CODE_SPAN = re.compile(r"`[^`]*`")
TEST_NAME = re.compile(r"\bTEST(?:_F|_P)?\(\s*\w+,\s*(\w+)|\bRC_GTEST_PROP\(\s*\w+,\s*(\w+)|^\s*def (test_\w+)|^scenario (\w+)")


def python_sentences(lines):
    """Comments, and strings with a space (docstrings line by line)."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        yield from enumerate(lines, 1)
        return
    for token in tokens:
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string):
            for offset, line in enumerate(token.string.split("\n")):
                yield token.start[0] + offset, line.strip("\"'# ")


def sentences(path, lines, with_strings=True):
    """(line, text) of what people read: comments, sentences in strings, documents, names of tests."""
    if path.endswith(".py"):
        yield from python_sentences(lines)
    for number, line in enumerate(lines, 1):
        name = TEST_NAME.search(line)
        if name:
            yield number, next(filter(None, name.groups())).replace("_", " ")
        if path.endswith(CPP):
            if INCLUDE.search(line):
                continue
            if with_strings:
                yield from ((number, text) for text in STRING.findall(line) if " " in text)
            comment = COMMENT.search(STRING.sub('""', line))
            if comment:
                yield number, comment.group(1).strip()
        elif path.startswith("tests/scenario/"):
            yield number, line.partition("#")[2].strip()
        elif path.endswith(".md"):
            yield number, CODE_SPAN.sub("``", line).lstrip(MARKS)
        elif not path.endswith(".py"):
            yield number, line.lstrip(MARKS)


def without_allowed(path, line):
    for text, places in WORDS_ALLOWED.items():
        if text in line and (not places or path.startswith(places)):
            line = line.replace(text, "")
    return line


def check_words(path, lines):
    """A listed word in an identifier, a comment, a string or prose, once a line; then phrases."""
    words = WORDS | CLAIM_WORDS if path.startswith(CLAIM_FREE) else WORDS
    for number, line in enumerate(lines, 1):
        if INCLUDE.search(line):
            continue
        for part in WORD_PART.findall(without_allowed(path, line)):
            if part.lower() in words:
                yield number, "word", f"`{part}` is a word of the old dialect; write {words[part.lower()]}"
                break
    for number, text in sentences(path, lines):
        for rule in PHRASES:
            if rule.where and not path.startswith(rule.where):
                continue
            match = rule.pattern.search(without_allowed(path, text))
            if match:
                yield number, "word", f"`{match.group(0).strip()}` is a phrase of the old dialect; write {rule.instead}"
                break
