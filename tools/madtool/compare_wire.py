"""Who is in `tools/mad compare`, and what carries everybody's bytes: TCP over loopback, or shared memory."""

import os
import re
from typing import Dict, List, Sequence

from madtool import fabrics
from madtool.errors import Missing

MAD, OFI, UCX, OPENMPI, RAW = "mad", "ch4:ofi", "ch4:ucx", "Open MPI", "raw"
TCP, SHARED = "TCP", "shared memory"
PATHS = ("auto", "gather", "hybrid", "pipeline", "pack", "off")  # of this device

# The built-in costs, and no trace, whatever the caller has.
_OURS = {"MPIR_CVAR_CH4_MAD_INTERFACE": "lo", "XDG_CONFIG_HOME": os.devnull, "MAD_TRACE": ""}
_OFI_OVER_TCP = {"FI_PROVIDER": "tcp;ofi_rxm", "FI_TCP_IFACE": "lo", "MPIR_CVAR_DEBUG_SUMMARY": "1"}
_UCX_OVER_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo", "UCX_LOG_LEVEL": "info"}
_UCX_SHARED = {"UCX_TLS": "posix,cma,self", "UCX_LOG_LEVEL": "info"}

# The environments of those who take part, each at its best.  Debian's ch4:ucx is built without shared memory of its
# own; ch4:ofi is kept from using its own where all go over TCP, and so is this device's MPICH from windows in it.
_ENVIRONMENTS: Dict[str, Dict[str, Dict[str, str]]] = {
    TCP: {
        MAD: {**_OURS, "MPIR_CVAR_NOLOCAL": "1"},
        OFI: {**_OFI_OVER_TCP, "MPIR_CVAR_NOLOCAL": "1"},
        UCX: _UCX_OVER_TCP,
        OPENMPI: {},
        RAW: {},
    },
    SHARED: {MAD: _OURS, OFI: _OFI_OVER_TCP, UCX: _UCX_SHARED, OPENMPI: {}},
}
# Of one-sided communication: `sm` shares windows of one host's processes whatever the rest goes over. To windows that it
# can share Open MPI 4.1.4 prefers `rdma` (101 to 100), which is slower and ends by a signal in MPI_Compare_and_swap.
_OPENMPI_LAYERS = {
    TCP: ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "osc", "^sm,ucx"],
    SHARED: ["--mca", "pml", "ob1", "--mca", "btl", "vader,self", "--mca", "osc", "^ucx", "--mca", "osc_rdma_priority", "99"],
}


# Of this device, unless told otherwise: all over TCP first, then all in shared memory.
USUAL = (["tcp"], ["auto"])


def fabrics_of(text: str) -> List[str]:
    """Of a list with commas, all of which there may be; `cma` is a part of the fabric before it."""
    names = re.split(",(?!cma(?:,|$))", text)
    for name in names:
        fabrics.check(name)
    return names


def of(names: Sequence[str]) -> str:
    """What all of these send through, and so their peers do."""
    wires = {SHARED if fabrics.in_memory(fabric) else TCP for fabric in names}
    if len(wires) > 1:
        raise Missing(f"--fabrics {','.join(names)}: some go over TCP, some through shared memory; "
                      "the peers use one at a time, so ask for one at a time")  # fmt: skip
    return wires.pop()


def takes_part(whose: str, wire: str) -> bool:
    return whose in _ENVIRONMENTS[wire]


def environment(whose: str, wire: str) -> Dict[str, str]:
    return _ENVIRONMENTS[wire][whose]


def openmpi_layers(wire: str) -> List[str]:
    return _OPENMPI_LAYERS[wire]


def complaints(whose: str, wire: str, log: str) -> List[str]:
    """What a peer says of itself that is not as it was told: UCX and libfabric name what they use."""
    told = environment(whose, wire)
    if "UCX_TLS" in told:
        allowed = {*told["UCX_TLS"].split(",")}
        endpoints = re.findall(r"ep_cfg\[\d+\]:(.*)", log)
        used = {name for one in endpoints for name in re.findall(r"([a-z_]+)\d*/", one)}
    elif "FI_PROVIDER" in told:
        allowed = {told["FI_PROVIDER"]}
        used = set(re.findall(r"libfabric provider: (\S+)", log))
    else:
        return []
    if not used:
        return [f"{whose}: does not say what it uses"]
    return [f"{whose}: uses {name}" for name in sorted(used - allowed)]
