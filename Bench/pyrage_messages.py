"""pyrage_messages.py FILE: messages encrypted and opened in a second with age's format, by rage's library in one process.

FILE has a message on each line. What is printed is SEALED<tab>OPENED, each in a second, to one X25519 key and unsigned.
The calls from Python cost about a microsecond of each message.
"""

import sys
import time

from pyrage import decrypt, encrypt, x25519

lines = open(sys.argv[1], "rb").read().splitlines()
identity = x25519.Identity.generate()
recipient = identity.to_public()
start = time.monotonic()
files = [encrypt(line, [recipient]) for line in lines]
sealed = time.monotonic()
for file, line in zip(files, lines):
    assert decrypt(file, [identity]) == line
opened = time.monotonic()
print(f"{len(lines) / (sealed - start):.0f}\t{len(lines) / (opened - sealed):.0f}")
