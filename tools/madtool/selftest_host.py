"""What a host has, for `tools/mad selftest`: run there by the launcher, without the rest of the tool.

    python3 selftest_host.py     prints one line of JSON
"""

import ctypes
import json
import os
import platform
import re
import resource
from pathlib import Path
from typing import Dict

DEVICES = Path("/sys/class/infiniband")
_COUNTERS = ("counters", "hw_counters")
NOT_FOUND = "not found"


def counters(devices: Path = DEVICES) -> Dict[str, int]:
    """What the RDMA devices count: "mlx5_0/1 hw_counters/out_of_sequence" -> how often."""
    counted = {}
    for kind in _COUNTERS:
        for path in sorted(devices.glob(f"*/ports/*/{kind}/*")):
            try:
                value = int(path.read_text())
            except (OSError, ValueError):  # some may not be read by everyone
                continue
            device, port = path.parts[-5], path.parts[-3]
            counted[f"{device}/{port} {kind}/{path.name}"] = value
    return counted


def _libfabric() -> str:
    try:
        number = int(ctypes.CDLL("libfabric.so.1").fi_version())
    except (OSError, AttributeError):
        return NOT_FOUND
    return f"{number >> 16}.{number & 0xFFFF}"


def _ucx() -> str:
    try:
        version = ctypes.CDLL("libucp.so.0").ucp_get_version_string
    except (OSError, AttributeError):
        return NOT_FOUND
    version.restype = ctypes.c_char_p
    return str(version().decode())


def _limit(which: int) -> str:
    limit = resource.getrlimit(which)[0]
    return "unlimited" if limit == resource.RLIM_INFINITY else str(limit)


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    try:
        model = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        model = None
    return " ".join(model.group(1).split()) if model else platform.machine()


def facts() -> Dict[str, object]:
    """`names` are for taking them out of the report."""
    return {
        "names": sorted({platform.node(), platform.node().split(".")[0]} - {""}),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": f"{os.cpu_count()} x {processor()}",
        "libfabric": _libfabric(),
        "ucx": _ucx(),
        "locked memory": _limit(resource.RLIMIT_MEMLOCK),
        "open files": _limit(resource.RLIMIT_NOFILE),
        "counters": counters(),
    }


if __name__ == "__main__":
    print(json.dumps(facts()))
