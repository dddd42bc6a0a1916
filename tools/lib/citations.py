"""Checks that the paths, and the functions in files, which a document names exist.

A document cites code in these forms:

    `k8s/write/binder.cpp`                     a path from the top of the repository, or from the document's folder;
                                               a decision record, a table and a comment cite it in the same way
    `k8s/write/binder.cpp: run, read_back`     functions (or types, constants) that this file defines

    `RouteTable.every_route_is_complete`       a test, by suite and name

    `Engine::step`, `Bindings::assume()`       a member of a class, wherever the code defines a class of this name

In the pages of the architecture and in the tour, a bare `name` must occur in a file that the page cites.
A path needs no backticks if it begins with a folder of the repository's top, or, in a README, with one
next to it; it may then lack its ending. tools/tidy runs these checks, so that a moved file or a renamed
function is reported in the documents and comments that cite it.
"""

import re
from pathlib import Path, PurePosixPath

CODE = re.compile(r"`([^`\n]+)`")
CITED = re.compile(r"^([\w./-]+\.(?:cpp|hpp|py|sh|txt)|tools/[\w-]+): ([\w:~]+(?:, [\w:~]+)*)$")
LINK = re.compile(r"\]\(([^)#\s]+)")
FILE_NAME = re.compile(r"^[\w-]+(?:/[\w.*-]+)*\.(?:cpp|hpp|py|sh|md|txt|yaml)$")
PART_OF_PATH = re.compile(r"^[\w-]+(?:/[\w-]+)+/?$")
COMMENT = re.compile(r"//(.*)$")
FILE_IN_COMMENT = re.compile(r"(?<![\w./<\"*-])((?:[\w-]+/)*[\w-]+\.(?:cpp|hpp|py|md|txt|yaml))\b")
TEST_NAME = re.compile(r"^(?:\w+/)?([A-Z]\w*[a-z]\w*)\.([A-Za-z0-9]+(?:_\w+)+)$")
MEMBER = re.compile(r"^(?:\w+::)*([A-Z]\w+)::(~?\w+)(?:\(.*\))?$")
CLASS = re.compile(r"^[ \t]*(?:template\s*<[^{};]*>\s*)?(class|struct|union|enum class|enum struct|enum)\s+"
                   r"(?:\w+::)*(\w+)\b(?:\s+final)?\s*(?::(?!:)([^{};()]*))?\{", re.MULTILINE)
BARE = re.compile(r"^[a-z][a-z0-9_]*$")
BARE_NAMES_CHECKED = ("docs/architecture", "docs/tour.md")
USE_INSTEAD = "; name the file or function that has its place now, with the path from the top"
NOT_A_TYPE = r"(?!\s*(?:return|co_return|co_await|co_yield|throw|new|delete|else|case|goto|if|while|for|switch)\b)"


def is_cited_from(path):
    """Documents that cite the code as it is; the changelog describes the past."""
    if not path.endswith(".md"):
        return False
    return path in ("README.md", "CONTRIBUTING.md") or path.startswith("docs/") or path.endswith("/README.md")


def defines(text, name):
    """The text has a function, type, constant or macro of this name, not only a use of it."""
    *scopes, last = name.split("::")
    if any(not re.search(rf"\b{re.escape(scope)}\b", text) for scope in scopes):
        return False
    word = re.escape(last)
    scope = re.escape("::".join(scopes) + "::") if scopes else ""
    return any(re.search(pattern, text, re.MULTILINE) for pattern in (
        # A type, then the name: `aio::Task<void> Binder::run(`; or only the name, where the type is on the line above.
        rf"^{NOT_A_TYPE}[\w:<>,*&\[\] \t]+?[\s*&:]{word}\(",
        rf"^(?:\w+::)*{scope}{word}\([^;]*$",
        rf"\b(?:struct|class|enum|enum class|using|namespace)\s+(?:\w+::)*{word}\b",
        rf"^\s*#define\s+{word}\b",
        rf"^[\w:<>,*& \t]+\b{word}(?:\[\w*\])?\s*(?:=|\{{)",
        rf"^\s*def {word}\(",
        rf"^{word}\(\) \{{",
        rf"^scenario {word}$",
    ))


def body_at(text, brace):
    """What the brace at this place encloses."""
    depth = 0
    for place in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[brace + 1:place]
    return text[brace + 1:]


def has_member(body, name):
    """The body of a class declares a function, variable or type of this name."""
    return defines(body, name) or re.search(rf"^[\w:<>,*& \t]+[\s*&]{re.escape(name)};", body, re.MULTILINE) is not None


class Repository:
    """The files of the repository, read when they are cited."""

    def __init__(self, root, files):
        self.root = root
        self.files = set(files)
        self.names = {PurePosixPath(f).name for f in files}
        self.folders = {str(parent) for f in files for parent in PurePosixPath(f).parents}
        top = sorted({f.split("/")[0] for f in files if "/" in f and not f.startswith(".")})
        self.path = re.compile(r"(?<![\w./:@-])(?:\./)?((?:" + "|".join(map(re.escape, top)) + r")/[\w./*-]+)")
        self.texts = {}
        self.tests = None
        self.classes = None

    def find(self, path, folder, may_lack_ending=False):
        """The file or folder from the top or from the document's folder; None without one."""
        for base in ("", folder):
            whole = str(PurePosixPath(base, path.rstrip("/")))
            whole = str(Path("/", whole).resolve().relative_to("/")) if ".." in whole else whole
            if whole in self.files or whole in self.folders:
                return whole
            if "*" in whole and any(PurePosixPath(f).match(whole) for f in self.files):
                return whole
            if may_lack_ending and any(re.match(re.escape(whole).replace(r"\*", ".*") + r"(?:-[\w-]+)?\.\w+$", f)
                                       for f in self.files):
                return whole
        return None

    def ends_a_path(self, part):
        """The part is the end of a longer path: `drain/drain` of scheduler/plan/drain/drain.cpp."""
        paths = self.folders | {f.rsplit(".", 1)[0] for f in self.files}
        return any(path.endswith("/" + part.rstrip("/")) for path in paths)

    def from_folder(self, folder):
        """Finds the paths in a README that begin with a folder next to it."""
        names = {PurePosixPath(f).relative_to(folder).parts[0] for f in self.folders if f.startswith(folder + "/")}
        return re.compile(r"(?<![\w./:@`-])((?:" + "|".join(map(re.escape, sorted(names))) + r")/[\w./-]*\w\*?)"
                          if names else r"(?!)")

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = (self.root / path).read_text(errors="replace")
        return self.texts[path]

    def find_classes(self):
        """{name: [(kind, what it derives from, body)]} of every class of the code."""
        if self.classes is None:
            self.classes = {}
            for path in (f for f in self.files if f.endswith((".cpp", ".hpp"))):
                text = COMMENT.sub("", self.text(path))
                for match in CLASS.finditer(text):
                    kind, name, bases = match.groups()
                    # The enumerators may be the rows of a macro.
                    body = text if kind.startswith("enum") else body_at(text, match.end() - 1)
                    self.classes.setdefault(name, []).append((kind, bases or "", body))
        return self.classes

    def has_member(self, class_name, name, derived=()):
        """A class of this name has the member, or what it derives from."""
        for kind, bases, body in self.find_classes().get(class_name, ()):
            if re.search(rf"\b{re.escape(name)}\b", body) if kind.startswith("enum") else has_member(body, name):
                return True
            seen = (*derived, class_name)
            if any(self.has_member(base, name, seen) for base in re.findall(r"\w+", bases) if base not in seen):
                return True
        return False

    def has_test(self, suite, name):
        if self.tests is None:
            files = [f for f in self.files if f.startswith("tests/") and f.endswith("_test.cpp")]
            found = re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", "\n".join(map(self.text, files)), re.MULTILINE)
            self.tests = set(found)
        return (suite, name) in self.tests


def check_citation(span, folder, repository):
    """Reports what one text in backticks names and the repository does not have."""
    match = CITED.match(span)
    if match:
        found = repository.find(match.group(1), folder)
        if found is None:
            yield f"`{match.group(1)}` does not exist"
        elif found in repository.files:
            for name in match.group(2).split(", "):
                if not defines(repository.text(found), name):
                    yield f"{found} does not define `{name}`"
        return
    member = MEMBER.match(span)
    if member and not repository.has_member(*member.groups()):
        yield f"no class has `{span}`"
    test = TEST_NAME.match(span)
    if test and not repository.has_test(*test.groups()):
        yield f"there is no test `{span}`"
    if "/" in span:
        is_part = PART_OF_PATH.match(span) and repository.ends_a_path(span)
        if (FILE_NAME.match(span) or is_part) and repository.find(span, folder) is None:
            yield f"`{span}` does not exist"
    elif FILE_NAME.match(span):
        is_code = span.endswith((".cpp", ".hpp", ".py"))
        if repository.find(span, folder) is None and not (span in repository.names or not is_code):
            yield f"no file is named `{span}`"


def cited_texts(lines, folder, repository):
    """The texts of all files that the document cites."""
    for match in map(CITED.match, CODE.findall("\n".join(lines))):
        found = repository.find(match.group(1), folder) if match else None
        if found in repository.files:
            yield repository.text(found)


def check_bare_names(path, lines, repository):
    if not path.startswith(BARE_NAMES_CHECKED):
        return
    known = set(re.findall(r"\w+", " ".join(cited_texts(lines, str(PurePosixPath(path).parent), repository))))
    for number, line in enumerate(lines, 1):
        for name in CODE.findall(line):
            if BARE.match(name) and name not in known:
                yield number, "citation", f"`{name}` occurs in no file that this page cites; name its file"


def check_citations(path, lines, repository):
    yield from check_bare_names(path, lines, repository)
    folder = str(PurePosixPath(path).parent)
    next_to_it = repository.from_folder(folder if path.endswith("/README.md") else "")
    in_block = False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            in_block = not in_block
        spans = CODE.findall(line)
        missing = [what for span in spans for what in check_citation(span, folder, repository)]
        cited = {match.group(1) for match in map(CITED.match, spans) if match}
        named = [found.rstrip(".-") for found in repository.path.findall(line)]
        missing += [f"`{name}` does not exist" for name in next_to_it.findall(line)
                    if repository.find(name, folder, may_lack_ending=True) is None]
        named += [found for found in LINK.findall(line) if not re.match(r"\w+:", found) and not in_block]
        missing += [f"`{name}` does not exist" for name in dict.fromkeys(named)
                    if name not in cited and repository.find(name, folder) is None]
        for what in dict.fromkeys(missing):
            yield number, "citation", what + USE_INSTEAD


def check_comments(path, lines, repository):
    """The paths and file names in the comments of C++."""
    folder = str(PurePosixPath(path).parent)
    for number, line in enumerate(lines, 1):
        comment = COMMENT.search(line)
        if not comment or "#include" in line:
            continue
        cited = {found.rstrip(".-") for found in repository.path.findall(comment.group(1))}
        missing = {name for name in cited if repository.find(name, folder, may_lack_ending=True) is None}
        for name in FILE_IN_COMMENT.findall(comment.group(1)):
            is_there = repository.find(name, folder) if "/" in name else \
                name in repository.names or not name.endswith((".cpp", ".hpp"))
            if not is_there:
                missing.add(name)
        for name in sorted(missing):
            yield number, "citation", f"`{name}` does not exist" + USE_INSTEAD
