"""CPU, memory and disk of the machine or container this process runs in, as /proc and cgroups show them."""

from __future__ import annotations

import os

_CGROUP_2 = "/sys/fs/cgroup"
_CGROUP_1 = "/sys/fs/cgroup/memory"


def cpu_limit() -> float:
    """How many processors may be used: those of the affinity mask, or fewer by a quota of the cgroup."""
    cpus = float(len(os.sched_getaffinity(0)))
    quota, _, period = _text(f"{_CGROUP_2}/cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit() and int(period) > 0:
        cpus = min(cpus, int(quota) / int(period))
    return cpus


def busy_cpu_s() -> float:
    """CPU seconds used so far: of the cgroup, or of the machine since its start."""
    for line in _text(f"{_CGROUP_2}/cpu.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == "usage_usec":
            return int(value) / 1e6
    fields = _text("/proc/stat").partition("\n")[0].split()[1:]
    # user, nice, system, idle, iowait, irq, softirq, steal: all but the two that mean waiting.
    ticks = [int(field) for index, field in enumerate(fields[:8]) if index not in (3, 4)]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def memory() -> tuple[int, int]:
    """Bytes in all, and bytes that can still be used; a limit of the cgroup counts where it is lower."""
    facts = {
        name: int(rest.split()[0]) * 1024
        for name, _, rest in (line.partition(":") for line in _text("/proc/meminfo").splitlines())
    }
    total, available = facts.get("MemTotal", 0), facts.get("MemAvailable", 0)
    for limit_file, usage_file in (
        (f"{_CGROUP_2}/memory.max", f"{_CGROUP_2}/memory.current"),
        (f"{_CGROUP_1}/memory.limit_in_bytes", f"{_CGROUP_1}/memory.usage_in_bytes"),
    ):
        limit, usage = _text(limit_file).strip(), _text(usage_file).strip()
        if limit.isdigit() and usage.isdigit() and int(limit) < total:
            total = int(limit)
            available = min(available, max(0, total - int(usage)))
    return total, available


def disk(path: str) -> tuple[int, int]:
    """Bytes of the file system at `path` in all, and free for this user. Raises OSError."""
    found = os.statvfs(path)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""  # This kernel or container does not have the file.
