"""Finds the functions of a C++ file and their lengths: free functions, methods in a class, tests.

The source has the layout of clang-format, so that braces and the text before them are enough: `{` at the level
of a namespace or a class begins a function if a parameter list is before it and no `=`.
"""

import re

RAW_STRING = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"')
NO_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.MULTILINE)
TEMPLATE = re.compile(r"template\s*<[^;{}]*?>\s*(?=\w)")
NAMESPACE = re.compile(r"\b(namespace|extern)\b")
CLASS = re.compile(r"\b(class|struct|union)\b[^()]*$")
ASSIGNMENT = re.compile(r"(?<!operator)(?<![=<>!])=(?!=)")


def outside_brackets(text):
    kept, depth = [], 0
    for character in text:
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif depth == 0:
            kept.append(character)
    return "".join(kept)


def kind_of(head, is_inside_function):
    """What a `{` begins: `head` is the text between the statement before it and the brace."""
    if is_inside_function:
        return "block"
    outer = outside_brackets(TEMPLATE.sub("", head))
    if NAMESPACE.search(head) or CLASS.search(head):
        return "scope"
    if re.search(r"\benum\b", outer):
        return "block"
    # Without text before it: the body of a constructor whose last initializer has braces.
    is_function = not head.strip() or (")" in head and not ASSIGNMENT.search(outer))
    return "function" if is_function else "block"


def function_lengths(text):
    """(line of the opening brace, lines between the braces) of each function."""
    for pattern in (RAW_STRING, NO_CODE):
        text = pattern.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    stack, head, line = [], "", 1
    for character in text:
        if character == "{":
            stack.append((kind_of(head, bool(stack) and stack[-1][0] != "scope"), line))
        elif character == "}" and stack:
            kind, begin = stack.pop()
            if kind == "function":
                yield begin, line - begin - 1
        head = "" if character in "{};" else head + character
        line += character == "\n"
