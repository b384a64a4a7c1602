"""Completion for bash (and zsh's bashcompinit), made from the parser of the command line."""

import argparse
import shlex
from typing import Dict, Iterator, List, Tuple

_SCRIPT = """\
# Completion of tools/mad for bash; in zsh after `autoload -U bashcompinit && bashcompinit`.
_mad() {
    local current=${COMP_WORDS[COMP_CWORD]} words=""
    case "${COMP_WORDS[*]:1:COMP_CWORD-1} " in
%s
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _mad mad
"""


def subcommands(parser: argparse.ArgumentParser) -> Iterator[Tuple[str, argparse.ArgumentParser]]:
    """The words of each subcommand, those of a subcommand's own too, and its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                nested = list(subcommands(child))
                if not nested:
                    yield name, child
                for words, grandchild in nested:
                    yield f"{name} {words}", grandchild


def _words(parser: argparse.ArgumentParser) -> List[str]:
    """What may come after the command: its options, and the choices of its positional arguments."""
    words = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    for action in parser._actions:
        if not action.option_strings and action.choices:
            words += [str(choice) for choice in action.choices]
    return words


def script(parser: argparse.ArgumentParser) -> str:
    """The script; the longest command comes first, as the first that fits is taken."""
    by_command: Dict[str, argparse.ArgumentParser] = dict(subcommands(parser))
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            by_command.update({name: child for name, child in action.choices.items() if name not in by_command})
    lines = [f"    {shlex.quote(command + ' ')}*) words={shlex.quote(' '.join(_words(child)))} ;;"
             for command, child in sorted(by_command.items(), key=lambda one: -len(one[0].split()))]  # fmt: skip
    lines.append(f"    *) words={shlex.quote(' '.join(_words(parser)))} ;;")
    return _SCRIPT % "\n".join(lines)
