"""`chat` on pseudo-terminals, for Scripts/bench.

usage: chat.py talk COUNT SECONDS HOME KEY NAME HOME KEY NAME | chat.py start COUNT WHO TEXT
talk: two people talk; prints the times from Enter to the other screen, and the memory and the processor time of SECONDS without a key.
start: prints the times from the start of the process to a screen with TEXT.
Each line is NAME<tab>VALUE...; times are in milliseconds, medians first.
"""

import os
import pty
import select
import signal
import statistics
import struct
import sys
import termios
import time
from fcntl import ioctl


class Chat:
    """A chat in a terminal of 80 columns and 24 rows."""

    def __init__(self, arguments, **environment):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ.update(environment, TERM="xterm", NO_COLOR="1")
            os.execvp("chat", ["chat", *arguments])
        ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.shown = b""

    def type(self, text):
        self.shown = b""
        os.write(self.terminal, text.encode())

    def wait(self, text, *others):
        """Waits until the terminal gets a text. The terminals of others are read too, so that none is full."""
        end = time.monotonic() + 60
        while text.encode() not in self.shown:
            if time.monotonic() > end:
                sys.exit(f"chat.py: no {text!r} in {self.shown[-2000:]!r}")
            chats = [self, *others]
            for ready in select.select([each.terminal for each in chats], [], [], 1)[0]:
                chat = next(each for each in chats if each.terminal == ready)
                chat.shown += os.read(ready, 65536)

    def seconds(self):
        """The processor time of the chat and of its tools, those that have ended too."""
        ticks = 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(name) == self.process:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == self.process:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """The largest resident memory of the chat itself, in MiB."""
        with open(f"/proc/{self.process}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))

    def end(self):
        os.kill(self.process, signal.SIGTERM)
        while True:
            try:
                if not os.read(self.terminal, 65536):
                    break
            except OSError:
                break
        os.waitpid(self.process, 0)
        os.close(self.terminal)


def talk(count, idle, *people):
    (home, key, name), (other_home, other_key, other_name) = people[:3], people[3:]
    left = Chat(["-i", key, other_name], SOTTO_HOME=home)
    right = Chat(["-i", other_key, name], SOTTO_HOME=other_home)
    left.wait("no messages yet")
    right.wait("no messages yet")
    times = []
    for number in range(int(count) + 3):
        text = f"message-{number}-end"
        left.type(text)
        left.wait(text, right)
        right.shown = b""
        at = time.monotonic()
        left.type("\r")
        right.wait(text, left)
        times.append((time.monotonic() - at) * 1000)
        left.wait("\u2713", right)
    # The first ones start the tools and the session.
    times = times[3:]
    print("talk", statistics.median(times), max(times), sep="\t")
    before = left.seconds()
    end = time.monotonic() + float(idle)
    while (rest := end - time.monotonic()) > 0:
        for ready in select.select([left.terminal, right.terminal], [], [], rest)[0]:
            os.read(ready, 65536)
    print("idle", left.memory(), (left.seconds() - before) / float(idle) * 100, sep="\t")
    left.end()
    right.end()


def start(count, who, text):
    times = []
    for _ in range(int(count)):
        at = time.monotonic()
        chat = Chat([who])
        chat.wait(text)
        times.append((time.monotonic() - at) * 1000)
        chat.end()
    print("start", statistics.median(times), max(times), sep="\t")


{"talk": talk, "start": start}[sys.argv[1]](*sys.argv[2:])
