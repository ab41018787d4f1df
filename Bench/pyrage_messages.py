"""pyrage_messages.py FILE: measures encrypted and decrypted messages per second in age's format, with rage's library.

FILE has one message on each line. The output is SEALED<tab>OPENED, both per second, for one X25519 key, unsigned.
The Python calls cost about a microsecond for each message.
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
