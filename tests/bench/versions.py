"""What was measured, and where."""
import os
import re
import subprocess


def output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def package(name: str) -> str:
    """The version of Debian's package."""
    try:
        return output("dpkg-query", "-W", "-f", "${Version}", name)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def versions(build: str) -> dict[str, str]:
    return {
        "zkflock": output(os.path.join(build, "zkflock"), "--version").split()[1],
        "libzookeeper": package("libzookeeper-mt-dev"),
        "ZooKeeper": package("zookeeper"),
        "Java": re.search(r'"(.*)"', subprocess.run(
            ["java", "-version"], capture_output=True, text=True, check=True).stderr)[1],
        "etcd": output("etcd", "--version").split()[2],
        "kazoo": package("python3-kazoo"),
        "Curator": package("libcurator-recipes-java"),
        "flock": output("flock", "--version").split()[-1],
        "Linux": os.uname().release,
        "cores": str(len(os.sched_getaffinity(0))),
    }
