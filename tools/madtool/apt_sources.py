"""The machine's apt sources, read so that the same archives can be asked for source packages.

Debian's archives are usually configured for binaries only.  Both formats are read: deb822 (`*.sources`) and
one-line (`*.list`).  Nothing here is written to the system's configuration.
"""

import re
from pathlib import Path
from typing import Dict, List

_ONE_LINE = re.compile(r"^(deb|deb-src)\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<rest>\S.*)$")
# One-line options and the deb822 fields that mean the same; those of binaries only (arch=) are dropped.
_OPTIONS = {
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
    "allow-insecure": "Allow-Insecure",
}


def _stanzas(text: str) -> List[Dict[str, str]]:
    stanzas: List[Dict[str, str]] = [{}]
    field = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            stanzas.append({})
            field = ""
        elif line[0] in " \t" and field:
            stanzas[-1][field] += "\n" + line
        elif ":" in line:
            field, value = line.split(":", 1)
            stanzas[-1][field] = value.strip()
    return [s for s in stanzas if s]


def source_stanzas_from_deb822(text: str) -> List[str]:
    """The enabled stanzas of a `.sources` file, turned into deb-src stanzas."""
    result = []
    for stanza in _stanzas(text):
        fields = {name.lower(): name for name in stanza}
        if "uris" not in fields or "suites" not in fields:
            continue
        if stanza.get(fields.get("enabled", ""), "yes").lower() in ("no", "false", "0"):
            continue
        lines = ["Types: deb-src"]
        for lower, name in fields.items():
            if lower not in ("types", "enabled", "architectures"):
                lines.append(f"{name}: {stanza[name]}")
        result.append("\n".join(lines))
    return result


def source_stanzas_from_list(text: str) -> List[str]:
    """The lines of a `.list` file, turned into deb-src stanzas."""
    result = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#", 1)[0].strip())
        if not match:
            continue
        words = match.group("rest").split()
        if len(words) < 2:
            continue
        lines = ["Types: deb-src", f"URIs: {words[0]}", f"Suites: {words[1]}"]
        if len(words) > 2:
            lines.append("Components: " + " ".join(words[2:]))
        for option in (match.group("options") or "").split():
            name, _, value = option.partition("=")
            if name.lower() in _OPTIONS:
                lines.append(f"{_OPTIONS[name.lower()]}: {value.replace(',', ' ')}")
        result.append("\n".join(lines))
    return result


def source_stanzas(etc_apt: Path = Path("/etc/apt")) -> List[str]:
    """deb-src stanzas for all archives the machine is configured with, without repetitions."""
    found: List[str] = []
    parts = sorted((etc_apt / "sources.list.d").glob("*"))
    for path in [etc_apt / "sources.list", *parts]:
        if path.is_file() and path.suffix == ".sources":
            found += source_stanzas_from_deb822(path.read_text())
        elif path.is_file() and path.suffix == ".list":
            found += source_stanzas_from_list(path.read_text())
    return list(dict.fromkeys(found))
