"""Mutants of the checks in C++ sources: each turns a check off, or moves its border by one.

A check is what refuses (an `if` whose consequence is an error or a "no"), what answers yes or no (`return a && b`), and
every comparison with a limit that has a name.  Found by pattern in sources that clang-format has formatted: binary
operators have spaces around them, templates have none.

All mutants of a tree are built at once: `instrumented()` gives a source in which each is there and sleeps, and
switch.h chooses one when a program starts.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Sequence, Tuple

# What a comparison becomes: its border moved by one, or one of its sides let through.
_COMPARISONS = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("<=", ">="), "!=": ("<", ">")}
_NAMES = {"<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual", "==": "Equal", "!=": "Unequal"}
# What has no order: with these "==" and "!=" stay.
_UNORDERED = re.compile(r" (nullptr|0|-1|true|false|(?:\w+::)+k[A-Z]\w*|std::byte\b.*|this|&\w+|end|E[A-Z]+)\b")
_COMPARISON = re.compile(r"(?<= )(<=|>=|==|!=|<|>)(?= )")
_LIMIT = re.compile(r" (?:<|<=|>|>=) ((?:\w+::)*k[A-Z]\w*)\b")
_NAMED_LIMIT = re.compile(r"\bk[A-Z]\w*|\b\w*(?:caps|limit|limits|option|options|tuning|config|most|max|least)_?\b")
_JUNCTION = re.compile(r" (&&|\|\|) ")
_IF = re.compile(r"^\s*(?:\} else )?if \((?P<condition>.*)\) (?P<then>[^()].*)$")
_ANSWER = re.compile(r"^\s*return .*( && | \|\| | [<>]=? | [!=]= ).*;$")
_REFUSES = re.compile(
    r"\breturn (?:violation|wrong\w*|unreadable|protocol|Status\w*(?:::k|\()|std::nullopt|nullptr|false|fail\w*|refuse\w*|end_\w+"
    r"|not_connected|reserved|system_failed|\w+_status\(|(?:Found|Outcome|Got|Read)::k(?:Foreign|Corrupt|Broken|Over|Wrong))"
    r"|\b(?:fail\w*|refuse\w*|hang_up|end_soon|throw)\b"
)
_DECLARES = re.compile(r" = |;.*;")  # a condition, or more than one statement
_IGNORED = re.compile(r"^\s*(//|#|static_assert|template|for \(|using |case |\*|assert\(|EXPECT_|ASSERT_)")


@dataclass(frozen=True)
class Mutant:
    """One change of one line; `path` and `line` (from 1) are where, `text` and `becomes` that line."""

    path: str
    line: int
    text: str
    becomes: str
    occurrence: int  # of this line in the file, wherever it begins

    @property
    def key(self) -> str:
        """What it is known by, though lines move."""
        return "\t".join((self.path, " ".join(self.text.split()), str(self.occurrence), " ".join(self.becomes.split())))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text.strip()}\n    -> {self.becomes.strip()}"


@dataclass(frozen=True)
class _Site:
    """A place of a line, [begin, end), what stands there in each of its mutants, and how all of them stand there at once."""

    begin: int
    end: int
    becomes: Tuple[str, ...]
    before: str  # inserted, with {0}, {1} for the numbers of the mutants
    after: str


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
        if depth < 0 or depth == 0 and (code[at] in ";?," or code.startswith(" : ", at) or _JUNCTION.match(code, at)):
            return at
    return len(code)


def _comparisons(code: str) -> Iterator[_Site]:
    for match in _COMPARISON.finditer(code):
        operator = match.group()
        if operator in ("==", "!=") and _UNORDERED.match(code, match.end()):
            continue
        # "a < b" becomes "a < switch > b": all of these bind alike, so that nothing need be known of the operands.
        again = "==" if operator in ("==", "!=") else ">"
        numbers = ", ".join(f"{{{at}}}" for at in range(len(_COMPARISONS[operator])))
        yield _Site(match.start(), match.end(), _COMPARISONS[operator], "",
                    f" ::mutants::{_NAMES[operator]}{{{{{numbers}}}}} {again}")  # fmt: skip


def _limits(code: str) -> Iterator[_Site]:
    for match in _LIMIT.finditer(code):
        yield _Site(match.start(1), match.end(1), (f"4 * {match.group(1)}",), "::mutants::four_times({0}, ", ")")


def _junctions(code: str) -> Iterator[_Site]:
    for match in _JUNCTION.finditer(code):
        end = match.end() + len(code[match.end() : _operand(code, match.end())].rstrip(" &|"))
        if code.count("(", match.end(), end) != code.count(")", match.end(), end):
            continue
        if match.group(1) == "&&":
            yield _Site(match.end(), end, ("true",), "(::mutants::on({0}) || (", "))")
        else:
            yield _Site(match.end(), end, ("false",), "(!::mutants::on({0}) && (", "))")


def _refusal(code: str, condition: "re.Match[str]") -> Iterator[_Site]:
    if _DECLARES.search(code):
        return
    begin, end = condition.span("condition")
    yield _Site(begin, end, ("false && ({})",), "!::mutants::on({0}) && (", ")")


def _sites(code: str, following: str) -> Iterator[_Site]:
    """Of a line, what stands in strings blanked, and the one that follows."""
    if _IGNORED.match(code):
        return
    condition = _IF.match(code)
    refuses = condition and _REFUSES.search(following if condition.group("then") == "{" else condition.group("then"))
    checks = refuses or _ANSWER.match(code) or not condition and _JUNCTION.search(code) and "return" not in code
    for site in _comparisons(code):
        if checks or _NAMED_LIMIT.search(code):
            yield site
    yield from _limits(code)
    if checks:
        yield from _junctions(code)
    if refuses and condition:
        yield from _refusal(code, condition)


def _changed(text: str, site: _Site, becomes: str) -> str:
    return text[: site.begin] + becomes.replace("{}", text[site.begin : site.end]) + text[site.end :]


def _lines(source: str) -> Iterator[Tuple[int, str, List[_Site]]]:
    lines = source.splitlines()
    codes = [_code(line) for line in lines]
    for at, (line, code) in enumerate(zip(lines, codes)):
        yield at, line, list(_sites(code, codes[at + 1] if at + 1 < len(codes) else ""))


def of_source(path: str, source: str) -> List[Mutant]:
    """All mutants of a file's text."""
    seen: Dict[str, int] = {}
    found: List[Mutant] = []
    for at, text, sites in _lines(source):
        words = " ".join(text.split())
        occurrence = seen[words] = seen.get(words, -1) + 1
        found += [Mutant(path, at + 1, text, _changed(text, site, becomes), occurrence)
                  for site in sites for becomes in site.becomes]  # fmt: skip
    return found


def _all_at_once(text: str, sites: Iterable[_Site], numbers: Iterator[int]) -> str:
    """The line with a switch at each site; `numbers` are those of its mutants, in order."""
    # By place; of what begins at one place the longest is the outermost, of what ends there the last that began.
    inserted: List[Tuple[int, int, int, str]] = []
    for site in sites:
        own = [next(numbers) for _ in site.becomes]
        inserted.append((site.begin, 1, -site.end, site.before.format(*own)))
        inserted.append((site.end, 0, -site.begin, site.after.format(*own)))
    line, done = "", 0
    for place, _, _, piece in sorted(inserted, key=lambda entry: entry[:3]):
        line, done = line + text[done:place] + piece, place
    return line + text[done:]


def instrumented(source: str, numbers: Sequence[int]) -> str:
    """The source with all its mutants, whose numbers are given in the order of of_source(); lines keep their numbers."""
    left = iter(numbers)
    lines = [_all_at_once(text, sites, left) for _, text, sites in _lines(source)]
    switch = (Path(__file__).resolve().parent / "switch.h").read_text()
    return f"{switch}\n#line 1\n" + "\n".join(lines) + "\n"
