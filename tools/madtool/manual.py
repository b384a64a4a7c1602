"""The manual pages, made from what says the same elsewhere: the tool's help, the control variables' descriptions in
the netmod, and the comments of the installed headers.

    mad(1)        the parser of the command line
    mad(7)        the MPI_T blocks of netmod/mpich; other variables of the environment are listed here
    mpix_mad(3)   mpix_mad.h; a page for each function refers to it
    madeleine(3)  the second half of mad.h, likewise
"""

import argparse
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

from madtool import completion, roff
from madtool.errors import Missing
from madtool.libmad_build import HEADER
from madtool.netmod_install import NETMOD
from madtool.paths import write_atomically

SWITCH_HEADER = NETMOD / "mpix_mad.h"
_MADELEINE = "/* ---- Madeleine ---- */"
_VARIABLE_BLOCK = re.compile(r"=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===(.*?)=== END_MPI_T_CVAR_INFO_BLOCK ===", re.DOTALL)
_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_FUNCTION = re.compile(r"\b(mad_\w+|MPIX_\w+)\(")
_SEE_ALSO = ("mad(1)", "mad(7)", "mpix_mad(3)", "madeleine(3)")

# What else is read from the environment, and what it does.
ENVIRONMENT = (
    ("MAD_VERBOSE", "1: every process says on standard error which fabrics it opened, which of auto's are taken and why, "
     "and a wrong value of the hint, which is ignored otherwise."),
    ("MAD_TRACE", "A file, - or stderr: a line there for every message with its plan, the predicted time and the reason, "
     "and a summary at the end. %p in the name is the process id."),
    ("MAD_SHM_LIMIT", "MiB of shared memory that a process may write messages to on shm. Default: 256."),
    ("MAD_SHM_SINGLE_COPY", "On shm the receiver reads from the sender's memory: 1: runs of 4 KiB and more; 0: nothing. "
     "Unset: contiguous 16 KiB to 1 MiB, and 32 KiB to 1 MiB in runs of 4 KiB and more, while that is faster."),
    ("MAD_PIGGYBACK", "With LD_PRELOAD=libmad_piggyback.so: races says which receives of any source could have taken "
     "another message; trace who waited for whom."),
    ("MAD_PIGGYBACK_FILE", "Where MAD_PIGGYBACK=trace writes its Chrome trace, and a picture beside it. Default: "
     "mad_trace.json."),
    ("MAD_UCX_...", "An option of UCX's (UCX_...) for the fabrics ucx alone; it goes before the other."),
    ("MAD_CACHE", "Of tools/mad, not of programs: where everything built lives. Default: mad in $XDG_CACHE_HOME or "
     "~/.cache."),
)  # fmt: skip


class Variable(NamedTuple):
    """A control variable as MPI_T shows it."""

    name: str
    kind: str
    default: str
    description: str


class Entry(NamedTuple):
    """A paragraph of a header: what its comment says, and the declarations below."""

    text: str
    declarations: Tuple[str, ...]


def variables() -> List[Variable]:
    """The netmod's control variables, in the order of its sources."""
    found = []
    for source in sorted(NETMOD.glob("*.c")):
        for block in _VARIABLE_BLOCK.findall(source.read_text()):
            for part in re.split(r"^\s+- name\s*:", block.partition("cvars:")[2], flags=re.MULTILINE)[1:]:
                lines = part.strip().splitlines()
                fields = dict(re.findall(r"^\s+(\w+)\s*:\s*(.*)$", part, re.MULTILINE))
                description = part.partition("description")[2].partition(">-")[2]
                found.append(Variable(lines[0].strip(), fields["type"], fields["default"].strip('"'),
                                      " ".join(description.split())))  # fmt: skip
    return found


def _declarations(part: str) -> Tuple[str, ...]:
    """The lines of declarations without the words that only the compiler needs, continuations still aligned."""
    lines, indent = [], 0
    for line in part.strip().splitlines():
        if line.startswith("MAD_API "):
            indent = len("MAD_API ")
            line = line[indent:]
        elif line.startswith(" " * (indent or len(line) + 1)):
            line = line[indent:]
        else:
            indent = 0
        if not line.startswith("#include"):
            lines.append(line.replace(" MPICH_API_PUBLIC", ""))
    return tuple(lines)


def entries(header: str) -> List[Entry]:
    """The paragraphs of a header that declare something or explain, without what only the compiler needs."""
    found = []
    for part in re.split(r"\n\s*\n", header):
        if re.search(r"^\s*(#if|#endif|extern \"C\"|}$)", part, re.MULTILINE):
            continue
        part = part.strip()
        text = ""
        if part.startswith("/*"):
            comment = _COMMENT.match(part)
            if comment is None:
                continue
            text, part = re.sub(r"^ \* ?", "", comment.group(1).strip(), flags=re.MULTILINE), part[comment.end() :]
        lines = _declarations(part)
        if text or lines:
            found.append(Entry(text, lines))
    return found


def functions(listed: List[Entry]) -> List[str]:
    """The names of the functions declared."""
    return [name for entry in listed for name in _FUNCTION.findall(_COMMENT.sub("", "\n".join(entry.declarations)))]


def _action(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    words = parser._get_formatter()._format_action_invocation(action)  # the help's own words
    return roff.item(words, parser._get_formatter()._expand_help(action) if action.help else "")


def _command_page(parser: argparse.ArgumentParser) -> str:
    text = roff.title("mad", 1, "build, run, measure and test MPICH on ch4:mad")
    text += roff.heading("synopsis") + ".B tools/mad\n.I COMMAND\n[\\fIARGUMENT\\fR ...]\n"
    text += roff.heading("description") + roff.paragraph(parser.description or "")
    text += roff.paragraph(parser.epilog or "")
    text += roff.heading("commands")
    for words, child in completion.subcommands(parser):
        text += roff.subheading(words) + roff.paragraph(child.description or "")
        text += roff.code(textwrap.wrap(" ".join(child.format_usage().split()[1:]), 76, subsequent_indent="    "))
        text += "".join(_action(child, action) for action in child._actions if action.dest != "help")
    return text + roff.see_also(_SEE_ALSO[1:])


def _variables_page() -> str:
    text = roff.title("mad", 7, "the control variables of MPICH on ch4:mad, and others")
    text += roff.heading("description") + roff.paragraph(
        "Set in the environment of an MPI program, or read by MPI_T. Empty, or 0, leaves the choice to the library "
        "where nothing else is said."
    )
    text += roff.heading("variables")
    for one in variables():
        default = f" Default: {one.default}." if one.default not in ("", "0") else ""
        text += roff.item(f"{one.name} ({one.kind})", one.description + default)
    text += roff.heading("other variables")
    for name, sentence in ENVIRONMENT:
        text += roff.item(name, sentence)
    return text + roff.see_also((_SEE_ALSO[0], *_SEE_ALSO[2:]))


def _header_page(name: str, what: str, include: str, listed: List[Entry]) -> str:
    text = roff.title(name, 3, what) + roff.heading("synopsis") + roff.code([f"#include <{include}>"])
    text += roff.heading("description")
    for entry in listed:
        blocks = re.split(r"\n\s*\n", entry.text)
        for block in blocks:
            table = re.search(r"^  ", block, re.MULTILINE) is not None
            text += roff.code(block.splitlines()) if table else roff.paragraph(block)
        text += roff.code(entry.declarations) if entry.declarations else ""
    return text + roff.see_also([page for page in _SEE_ALSO if not page.startswith(name + "(")])


def _section_3() -> Dict[str, str]:
    switch = entries(SWITCH_HEADER.read_text())
    madeleine = entries(HEADER.read_text().partition(_MADELEINE)[2])
    pages = {
        "mpix_mad": _header_page("mpix_mad", "choose what MPICH on ch4:mad does with noncontiguous data", "mpix_mad.h",
                                 switch),  # fmt: skip
        "madeleine": _header_page("madeleine", "messages built from pieces, without MPI", "mad.h", madeleine),
    }
    for page, listed in (("mpix_mad", switch), ("madeleine", madeleine)):
        pages.update({name: f".so man3/{page}.3\n" for name in functions(listed)})
    return {f"man3/{name}.3": text for name, text in pages.items()}


def documents(parser: argparse.ArgumentParser) -> Dict[str, str]:
    """All pages, and the completion: their text by their path below a prefix's `share`."""
    pages = {"man1/mad.1": _command_page(parser), "man7/mad.7": _variables_page(), **_section_3()}
    return {"bash-completion/completions/mad": completion.script(parser),
            **{f"man/{name}": text for name, text in pages.items()}}  # fmt: skip


def install(parser: argparse.ArgumentParser, share: Path) -> None:
    """Writes them below `share`; files that are the same already keep their time."""
    for name, text in documents(parser).items():
        path = share / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            write_atomically(path, text)


def show(parser: argparse.ArgumentParser, words: List[str], share: Path) -> int:
    """man(1) on one of the pages; [SECTION] NAME as there."""
    install(parser, share)
    try:
        return subprocess.run(["man", "-M", str(share / "man"), *words], check=False).returncode
    except FileNotFoundError as error:
        raise Missing(f"no man(1) here (package man-db); the pages are in {share / 'man'}") from error
