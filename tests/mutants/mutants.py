"""Mutants of the checks in a C++ source: each turns one off, or moves its border.

Found by pattern in sources that clang-format has formatted: binary operators have spaces around them, templates have
none.
"""

import re
from dataclasses import dataclass
from typing import Iterator, List, Tuple

# What a comparison becomes: its border moved by one, or one of its sides let through.
_COMPARISONS = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("<=", ">="), "!=": ("<", ">")}
# What has no order: with these "==" and "!=" stay.
_UNORDERED = re.compile(r" (nullptr|0|-1|true|false|(?:\w+::)+k[A-Z]\w*|std::byte\b.*|this|&\w+|end|E[A-Z]+)\b")
_COMPARISON = re.compile(r"(?<= )(<=|>=|==|!=|<|>)(?= )")
_LIMIT = re.compile(r" (?:<|<=|>|>=) ((?:\w+::)*k[A-Z]\w*)\b")
_JUNCTION = re.compile(r" (&&|\|\|) ")
_REFUSAL = re.compile(r"^\s*if \((?P<condition>.*)\) (?P<then>return\b.*;|\{)$")
_DECLARES = re.compile(r" = |;.*;")  # a condition, or more than one statement
_IGNORED = re.compile(r"^\s*(//|#|static_assert|template|for \(|using |case |\*)")


@dataclass(frozen=True)
class Mutant:
    """One change of one line; `path` and `line` (from 1) are where, `text` and `becomes` that line."""

    path: str
    line: int
    text: str
    becomes: str
    occurrence: int  # of this very line in the file

    @property
    def key(self) -> str:
        """What it is known by, though lines move."""
        return "\t".join((self.path, " ".join(self.text.split()), str(self.occurrence), " ".join(self.becomes.split())))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text.strip()}\n    -> {self.becomes.strip()}"


def _code(text: str) -> str:
    """The line with strings and a comment blanked, of the same length."""
    blank = re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: '"' + "_" * (len(match.group()) - 2) + '"', text)
    comment = blank.find("//")
    return blank if comment < 0 else blank[:comment].ljust(len(blank), "\0").replace("\0", "_")


def _operand(code: str, start: int) -> int:
    """Where the operand of a junction that begins at `start` ends."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
        if depth < 0 or depth == 0 and (code[at] in ";?" or _JUNCTION.match(code, at)):
            return at
    return len(code)


def _junctions(text: str, code: str) -> Iterator[str]:
    for match in _JUNCTION.finditer(code):
        end = _operand(code, match.end())
        if code.count("(", match.end(), end) == code.count(")", match.end(), end):
            neutral = "true" if match.group(1) == "&&" else "false"
            yield text[: match.end()] + neutral + text[end:]


def _of_line(text: str) -> Iterator[str]:
    code = _code(text)
    if _IGNORED.match(code):
        return
    for match in _COMPARISON.finditer(code):
        if match.group() in ("==", "!=") and _UNORDERED.match(code, match.end()):
            continue
        for other in _COMPARISONS[match.group()]:
            yield text[: match.start()] + other + text[match.end() :]
    for match in _LIMIT.finditer(code):
        yield text[: match.start(1)] + f"4 * {match.group(1)}" + text[match.end(1) :]
    yield from _junctions(text, code)
    refusal = _REFUSAL.match(code)
    if refusal and not _DECLARES.search(code):
        begin, end = refusal.span("condition")
        yield text[:begin] + f"false && ({text[begin:end]})" + text[end:]


def of_source(path: str, source: str) -> List[Mutant]:
    """All mutants of a file's text."""
    seen: dict = {}
    found: List[Mutant] = []
    for number, text in enumerate(source.splitlines(), start=1):
        occurrence = seen[text] = seen.get(text, -1) + 1
        found += [Mutant(path, number, text, becomes, occurrence) for becomes in dict.fromkeys(_of_line(text))]
    return found


def applied(mutant: Mutant, source: str) -> str:
    lines: Tuple[str, ...] = tuple(source.splitlines(keepends=True))
    if lines[mutant.line - 1].rstrip("\n") != mutant.text:
        raise ValueError(f"{mutant.path}:{mutant.line} is not the line that the mutant is of")
    return "".join((*lines[: mutant.line - 1], mutant.becomes + "\n", *lines[mutant.line :]))
