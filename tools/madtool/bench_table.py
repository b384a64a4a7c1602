"""What the micro-benchmarks' times say: ratios, means, and which of the engine's targets are met.

A ratio is a speed: another's time over the engine's, so more than 1 means that the engine is faster.  Ratios are
of the least times; the medians stand in the CSV.  Nothing here runs anything.
"""

import math
import statistics
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, TextIO, Tuple

ENGINE, LOOP, PLAIN, BUFFER = "engine", "loop", "plain", "buffer"
MPICH, OPENMPI = "mpich", "openmpi"
PEERS = (MPICH, OPENMPI)
MAD = "mad"  # the engine as programs get it, by MPI_Pack and MPI_Unpack of this device
COPY = "copy"  # from one layout into another
OPERATIONS = ("pack", "unpack", COPY)
PIECES = "pieces"  # unpacked as fragments of 16 KiB arrive
# Layouts that are the engine's alone: MPI has no copy from one layout into another.
OWN_LAYOUTS = "transpose-"
FRAGMENTS = "fragments"
CACHED = "cached"  # whole, but not written past the caches, as no fragment is
CHECKED = "checked"
# What fits the caches of the machines this is run on, and what does not.
CACHE_RESIDENT = 1 << 20
LARGEST = 64 << 20

# The targets, as speeds against the other; CALL_NS is forgiven in every call.
LAYOUT_MEAN, CELL_LEAST, CALL_NS = 0.95, 0.90, 15.0
CACHED_MEAN, LARGEST_MEAN, YAKSA_MEAN = 1.2, 1.0, 2.0
BYTE_PER_LINE, FRAGMENTS_LEAST = 0.85, 1 / 1.05
COMPILE_NS = {"struct-4": 2e3, "indexed-100000": 3e6}
_UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class Cell(NamedTuple):
    """One layout at one payload, packed or unpacked."""

    layout: str
    payload: int
    operation: str

    def __str__(self) -> str:
        return f"{self.layout}/{short(self.payload)}/{self.operation}"


class Times:
    """All repetitions of everybody, in ns a call, and the bytes of a call."""

    def __init__(self) -> None:
        self._ns: Dict[Tuple[Cell, str], List[float]] = {}
        self._bytes: Dict[Cell, int] = {}
        self._compile: Dict[Tuple[str, str], List[float]] = {}

    def add(self, report: Dict[str, object], peer: str = "") -> None:
        """One JSON report of Google Benchmark; `peer` names the MPI whose report it is."""
        rows = report.get("benchmarks", [])
        assert isinstance(rows, list)
        for row in rows:
            if row.get("run_type") == "aggregate" or row.get("error_occurred"):
                continue
            layout, payload, who, operation = row["name"].split("/")[:4]
            spent = row["cpu_time"] * _UNITS_NS[row["time_unit"]]
            if layout == "compile":
                self._compile.setdefault((payload, operation), []).append(spent)
                continue
            cell = Cell(layout, int(payload), operation)
            self._ns.setdefault((cell, peer or who), []).append(spent)
            self._bytes[cell] = int(row["bytes"])

    def cells(self) -> List[Cell]:
        """Those that the engine packs and unpacks whole: layouts as they came, by payload."""
        found = [cell for cell, who in self._ns if who == ENGINE and cell.operation in OPERATIONS]
        came = {layout: place for place, layout in enumerate(dict.fromkeys(cell.layout for cell in found))}
        return sorted(found, key=lambda cell: (came[cell.layout], cell.payload, cell.operation))

    def everything(self) -> Iterator[Tuple[Cell, str, int, float, float]]:
        """Cell, who, bytes, least and median ns."""
        for (cell, who), spent in self._ns.items():
            yield cell, who, self._bytes[cell], min(spent), statistics.median(spent)

    def ns(self, cell: Cell, who: str) -> Optional[float]:
        spent = self._ns.get((cell, who))
        return min(spent) if spent else None

    def gb_s(self, cell: Cell, who: str) -> Optional[float]:
        spent = self.ns(cell, who)
        return self._bytes[cell] / spent if spent else None

    def compile_ns(self) -> Dict[Tuple[str, str], float]:
        """Of (type, compile or commit)."""
        return {key: min(spent) for key, spent in self._compile.items()}

    def ratio(self, cell: Cell, other: str) -> Optional[float]:
        """How much faster the engine is."""
        mine, theirs = self.ns(cell, ENGINE), self.ns(cell, other)
        return theirs / mine if mine and theirs else None

    def best_peer(self, cell: Cell) -> Optional[str]:
        known = [(spent, peer) for peer in PEERS for spent in [self.ns(cell, peer)] if spent]
        return min(known)[1] if known else None

    def peer_ratio(self, cell: Cell) -> Optional[float]:
        peer = self.best_peer(cell)
        return self.ratio(cell, peer) if peer else None


def short(payload: int) -> str:
    """Bytes as 256, 64K, 1M."""
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if payload >= unit and payload % unit == 0:
            return f"{payload // unit}{letter}"
    return str(payload)


def mean(ratios: Iterable[Optional[float]]) -> Optional[float]:
    """The geometric mean of those that are known."""
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(sum(logs) / len(logs)) if logs else None


def _number(value: Optional[float], width: int, digits: int = 2) -> str:
    return f"{value:>{width}.{digits}f}" if value is not None else " " * (width - 1) + "-"


def slow_for_the_loop(times: Times, cell: Cell) -> bool:
    mine, loop = times.ns(cell, ENGINE), times.ns(cell, LOOP)
    return bool(mine and loop and mine > loop / CELL_LEAST + CALL_NS)


def slow_for_a_peer(times: Times, cell: Cell) -> bool:
    ratio = times.peer_ratio(cell)
    return ratio is not None and ratio < 1.0


def cell_lines(times: Times) -> List[str]:
    """The table of cells; misses are marked: l against the loop, p against a peer."""
    lines = [f"{'layout':<15}{'bytes':>6} {'':<7}|{'engine ns':>12}{'GB/s':>7} |{'loop ns':>12}{'ratio':>6} |"
             f"{'mpich ns':>12}{'ratio':>6} |{'openmpi ns':>12}{'ratio':>6} |"]  # fmt: skip
    for cell in times.cells():
        line = f"{cell.layout:<15}{short(cell.payload):>6} {cell.operation:<7}|"
        line += _number(times.ns(cell, ENGINE), 12, 1) + _number(times.gb_s(cell, ENGINE), 7) + " |"
        for who in (LOOP, *PEERS):
            line += _number(times.ns(cell, who), 12, 1) + _number(times.ratio(cell, who), 6) + " |"
        marks = ("l" if slow_for_the_loop(times, cell) else "") + ("p" if slow_for_a_peer(times, cell) else "")
        lines.append(f"{line} {marks}".rstrip())
    return lines


def _layouts(times: Times) -> List[str]:
    return list(dict.fromkeys(cell.layout for cell in times.cells()))


def layout_lines(times: Times) -> List[str]:
    """Geometric means over sizes, pack and unpack, of each layout."""
    lines = [f"{'engine against':<15}{'loop':>8}{'best peer':>11}{'mpich':>8}{'openmpi':>9}"]
    for layout in _layouts(times):
        cells = [cell for cell in times.cells() if cell.layout == layout]
        loop, peer, mpich, openmpi = _means(times, cells)
        lines.append(f"{layout:<15}{_number(loop, 8)}{_number(peer, 11)}{_number(mpich, 8)}{_number(openmpi, 9)}")
    return lines


def _means(times: Times, cells: Sequence[Cell]) -> Tuple[Optional[float], ...]:
    """Against the loop, the better peer, MPICH, Open MPI."""
    return (mean(times.ratio(cell, LOOP) for cell in cells), mean(times.peer_ratio(cell) for cell in cells),
            *(mean(times.ratio(cell, peer) for cell in cells) for peer in PEERS))  # fmt: skip


def device_ratio(times: Times, cell: Cell, peer: str) -> Optional[float]:
    """How much faster MPI_Pack or MPI_Unpack of this device is than a peer's."""
    mine, theirs = times.ns(cell, MAD), times.ns(cell, peer)
    return theirs / mine if mine and theirs else None


def device_lines(times: Times) -> List[str]:
    """MPI_Pack and MPI_Unpack of this device beside the engine alone, and against those of the peers."""
    cells = [cell for cell in times.cells() if times.ns(cell, MAD)]
    if not cells:
        return []
    lines = [f"{'ns':<30}{'ch4:mad':>12}{'engine':>12}{'mpich':>12}{'ratio':>6}{'openmpi':>12}{'ratio':>6}"]
    for cell in cells:
        line = f"{str(cell):<30}{_number(times.ns(cell, MAD), 12, 1)}{_number(times.ns(cell, ENGINE), 12, 1)}"
        for peer in PEERS:
            line += _number(times.ns(cell, peer), 12, 1) + _number(device_ratio(times, cell, peer), 6)
        lines.append(line)
    return lines


def panel_lines(times: Times) -> List[str]:
    """HPL's panels against contiguous bandwidth, in GB/s."""
    lines = []
    for cell in times.cells():
        reference = times.gb_s(Cell("contiguous", cell.payload, cell.operation), LOOP)
        mine = times.gb_s(cell, ENGINE)
        if cell.layout.startswith("hpl-") and reference and mine:
            lines.append(f"{str(cell):<26}{mine:8.2f} GB/s, {100 * mine / reference:.0f} % of contiguous")
    return lines


def transpose_lines(times: Times) -> List[str]:
    """Transposes against the best of the loops and against a buffer between; columns out of whole streams and pieces."""
    lines = []
    for cell in times.cells():
        if not cell.layout.startswith(OWN_LAYOUTS):
            continue
        line = f"{str(cell):<36}{_number(times.gb_s(cell, ENGINE), 7)} GB/s, "
        line += f"{_number(times.ratio(cell, LOOP), 5)} of the best loop"
        if cell.operation == COPY:
            line += f", {_number(times.ratio(cell, BUFFER), 5)} of pack and unpack"
        else:
            pieces, loop = times.ns(cell._replace(operation=PIECES), ENGINE), times.ns(cell, LOOP)
            line += f", in pieces {_number(loop / pieces if pieces and loop else None, 5)}"
        lines.append(line)
    return lines


def checksum_lines(times: Times) -> List[str]:
    """What a CRC32C of the packed bytes costs beside packing them."""
    slower, rates = [], []
    for cell in times.cells():
        plain, checked = times.ns(cell, ENGINE), times.ns(cell._replace(operation=CHECKED), ENGINE)
        if cell.operation == "pack" and plain and checked and checked > plain:
            slower.append(checked / plain)
            rates.append(cell.payload / (checked - plain))
    if not slower:
        return []
    return [f"CRC32C while packing: {statistics.median(rates):.1f} GB/s by itself (median of {len(rates)} layouts); "
            f"packing takes {100 * ((mean(slower) or 1) - 1):.0f} % longer (geometric mean)"]  # fmt: skip


class Target(NamedTuple):
    """One promise: what it is, what came of it, and what missed it."""

    what: str
    figure: str
    misses: List[str]
    known: bool  # something was measured that it speaks of

    def line(self) -> str:
        word = "not measured" if not self.known else "MISSED" if self.misses else "met"
        return f"{word:<12} {self.what}{': ' + self.figure if self.figure else ''}"


def _cells_target(times: Times, what: str, other: str, cells: List[Cell], misses: List[Cell]) -> Target:
    ratio = (lambda cell: times.ratio(cell, other)) if other else times.peer_ratio
    names = [f"{cell} {ratio(cell):.2f}" for cell in sorted(misses, key=lambda cell: ratio(cell) or 0)]
    return Target(what, f"{len(cells) - len(misses)} of {len(cells)} cells", names, bool(cells))


def _mean_target(times: Times, what: str, cells: Iterable[Cell], other: str, least: float) -> Target:
    got = mean(times.ratio(cell, other) for cell in cells)
    figure = f"{got:.2f}" if got is not None else ""
    return Target(f"{what} at least {least:g}", figure, [figure] if got is not None and got < least else [],
                  got is not None)  # fmt: skip


def _device_targets(times: Times) -> List[Target]:
    """Both against Debian's MPICH, whose own engine is yaksa."""
    ratios = {cell: ratio for cell in times.cells() for ratio in [device_ratio(times, cell, MPICH)] if ratio}
    got = mean(ratios.values())
    slow = [f"{cell} {ratio:.2f}" for cell, ratio in sorted(ratios.items(), key=lambda item: item[1]) if ratio < 1.0]
    figure = f"{got:.2f}" if got is not None else ""
    return [Target(f"MPI_Pack and MPI_Unpack against MPICH's at least {YAKSA_MEAN:g}", figure,
                   [figure] if got is not None and got < YAKSA_MEAN else [], got is not None),
            Target("each of them at least 1.0 of MPICH's", f"{len(ratios) - len(slow)} of {len(ratios)} cells", slow,
                   bool(ratios))]  # fmt: skip


def _layout_target(times: Times) -> Target:
    means = {name: mean(times.ratio(cell, LOOP) for cell in times.cells() if cell.layout == name)
             for name in _layouts(times)}  # fmt: skip
    misses = [f"{name} {value:.2f}" for name, value in means.items() if value is not None and value < LAYOUT_MEAN]
    known = [value for value in means.values() if value is not None]
    return Target(f"each layout at least {LAYOUT_MEAN} of the loop", f"{len(known) - len(misses)} of {len(known)}",
                  misses, bool(known))  # fmt: skip


def _byte_target(times: Times) -> Target:
    cells = [cell for cell in times.cells() if times.ratio(cell, PLAIN) is not None]
    slow = [cell for cell in cells if (times.ns(cell, ENGINE) or 0) > (times.ns(cell, PLAIN) or 0) / BYTE_PER_LINE
            + CALL_NS]  # fmt: skip
    return _cells_target(times, f"1 byte per cache line at least {BYTE_PER_LINE} of a plain loop", PLAIN, cells, slow)


def _fragment_target(times: Times) -> Target:
    misses, ratios = [], []
    for cell in times.cells():
        whole, parts = (times.ns(cell._replace(operation=one), ENGINE) for one in (CACHED, FRAGMENTS))
        if cell.operation == "pack" and whole and parts:
            ratios.append(whole / parts)
            if whole / parts < FRAGMENTS_LEAST:
                misses.append(f"{cell.layout}/{short(cell.payload)} {whole / parts:.2f}")
    got = mean(ratios)
    figure = f"{len(ratios) - len(misses)} of {len(ratios)} cells, {got:.3f} in all" if got else ""
    return Target("64 KiB fragments cost at most 5 % over whole, through the caches", figure, misses, bool(ratios))


def _compile_targets(times: Times) -> List[Target]:
    found = []
    for (name, operation), spent in times.compile_ns().items():
        if operation != "compile":
            continue
        most = COMPILE_NS[name]
        figure = f"{spent / 1e3:.1f} us ({(times.compile_ns().get((name, 'commit')) or 0) / 1e3:.1f} with describing)"
        found.append(Target(f"compiling {name} takes at most {most / 1e3:g} us", figure,
                            [figure] if spent > most else [], True))  # fmt: skip
    return found


def targets(times: Times) -> List[Target]:
    cells = times.cells()
    cached = [cell for cell in cells if cell.payload <= CACHE_RESIDENT]
    largest = [cell for cell in cells if cell.payload == LARGEST]
    against_loop = [cell for cell in cells if times.ratio(cell, LOOP) is not None]
    against_peer = [cell for cell in cells if times.peer_ratio(cell) is not None]
    return [
        _layout_target(times),
        _cells_target(times, f"each cell at least {CELL_LEAST} of the loop plus {CALL_NS:g} ns", LOOP, against_loop,
                      [cell for cell in against_loop if slow_for_the_loop(times, cell)]),
        _cells_target(times, "each cell at least 1.0 of the better peer", "", against_peer,
                      [cell for cell in against_peer if slow_for_a_peer(times, cell)]),
        _mean_target(times, "all layouts in cache against loops", cached, LOOP, CACHED_MEAN),
        _mean_target(times, "all layouts at 64 MiB against loops", largest, LOOP, LARGEST_MEAN),
        _mean_target(times, "all layouts against MPICH's yaksa", cells, MPICH, YAKSA_MEAN),
        *_device_targets(times),
        _byte_target(times),
        _fragment_target(times),
        *_compile_targets(times),
    ]  # fmt: skip


def report(times: Times) -> List[str]:
    """Everything, for the screen."""
    lines = [*cell_lines(times), "", "geometric means over sizes, pack and unpack", *layout_lines(times)]
    device = device_lines(times)
    if device:
        lines += ["", "MPI_Pack and MPI_Unpack as programs get them", *device]
    panels = panel_lines(times)
    if panels:
        lines += ["", "HPL's panels", *panels]
    transposes = transpose_lines(times)
    if transposes:
        lines += ["", "transposes (speed over the other's)", *transposes]
    checksum = checksum_lines(times)
    if checksum:
        lines += ["", *checksum]
    lines += ["", "targets (least times; a ratio is the other's time over the engine's)"]
    for target in targets(times):
        lines.append(target.line())
        lines += [f"{'':<13}{miss}" for miss in target.misses if miss != target.figure]
    return lines


def write_csv(times: Times, out: TextIO) -> None:
    out.write("layout,payload,bytes,operation,who,min_ns,median_ns,gb_s,engine_ratio\n")
    for cell, who, size, least, median in times.everything():
        ratio = times.ratio(cell, who)
        out.write(f"{cell.layout},{cell.payload},{size},{cell.operation},{who},{least:.1f},{median:.1f},"
                  f"{size / least:.3f},{'' if ratio is None else f'{ratio:.3f}'}\n")  # fmt: skip
