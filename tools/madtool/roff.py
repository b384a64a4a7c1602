"""The few words of roff's `man` macros that the manual pages need."""

import re
from typing import Iterable, Sequence


def escaped(text: str) -> str:
    """The text as roff prints it: hyphens that can be copied, no line that looks like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def title(name: str, section: int, what: str) -> str:
    """Begins a page; `what` is its line in `apropos`."""
    return f'.TH {name.upper()} {section} "" "mad" "MPICH on ch4:mad"\n.SH NAME\n{escaped(name)} \\- {escaped(what)}\n'


def heading(words: str) -> str:
    return f".SH {words.upper()}\n"


def subheading(words: str) -> str:
    return f'.SS "{escaped(words)}"\n'


def paragraph(text: str) -> str:
    """Text that is filled; an empty line in it begins another paragraph."""
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return "".join(f".PP\n{escaped(part)}\n" for part in parts if part)


def item(term: str, text: str) -> str:
    """A term in bold, its explanation indented below."""
    return f".TP\n.B {escaped(term)}\n{escaped(' '.join(text.split())) or chr(92) + '&'}\n"


def code(lines: Iterable[str]) -> str:
    """Lines as they are."""
    return ".PP\n.EX\n" + "".join(f"{escaped(line)}\n" for line in lines) + ".EE\n"


def see_also(pages: Sequence[str]) -> str:
    return heading("see also") + escaped(", ".join(pages)) + "\n"
