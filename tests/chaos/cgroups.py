"""Where cgroups are, and the end of those that a run has made."""
import contextlib
import glob
import os
from typing import Optional

from world import read, until


def mount_of(kind: str, option: str = "") -> Optional[str]:
    """Where a cgroup file system is mounted."""
    for line in read("/proc/mounts").splitlines():
        _, path, found, options, *_ = line.split()
        if found == kind and (not option or option in options.split(",")):
            return path
    return None


def remove(group: str) -> None:
    """Removes the cgroups with this name or prefix.  Their processes are dead; the kernel may need a moment."""
    mounts = filter(None, [mount_of("cgroup2"), mount_of("cgroup", "cpu")])
    found = [path for mount in mounts for path in glob.glob(f"{mount}/{group}*")]

    def gone() -> bool:
        for path in found:
            for inner in glob.glob(f"{path}/*/") + [path]:
                with contextlib.suppress(OSError):
                    os.rmdir(inner)
        return not any(os.path.exists(path) for path in found)

    if not until(gone, 5):
        print(f"chaos: left behind: {' '.join(found)}")
