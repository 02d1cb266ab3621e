"""A file system that takes requests and never answers: a process that opens a file there cannot be killed."""
import os
import struct
import threading

from sandbox import MNT_DETACH, MNT_FORCE, mount, unmount

FUSE_INIT = 26
IN_HEADER = struct.Struct("<IIQQIIII")


class HungFileSystem:
    def __init__(self, directory: str) -> None:
        """Mounted there, in this run's own mount namespace."""
        self.directory = directory
        os.makedirs(directory)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        mount("hung", directory, "fuse", 0,
              f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other")
        self.asked = threading.Event()  # somebody has asked for something, and hangs
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        try:
            while True:
                request = os.read(self.fd, 1 << 18)
                _, opcode, unique, *_ = IN_HEADER.unpack_from(request)
                if opcode == FUSE_INIT:
                    # Version 7.31, nothing special, at most 64 KiB in one write.
                    answer = struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 16, 12, 65536, 1, 1, 0, 0,
                                         *[0] * 7)
                    os.write(self.fd, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)
                else:
                    self.asked.set()
        except OSError:
            pass  # unmounted

    def let_go(self) -> None:
        """Lets all requests fail, so that the processes that hung go on."""
        unmount(self.directory, MNT_FORCE | MNT_DETACH)
        os.close(self.fd)
