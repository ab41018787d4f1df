"""Fills the store of a relay that is not running, to measure how its work grows.

usage: fill_relay.py STORE mailboxes|blobs COUNT
mailboxes: adds mailboxes with an envelope of 300 bytes each, in one transaction.
blobs: copies the one blob of the store, until there are COUNT.
"""

import os
import sqlite3
import sys
import time

store, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
if kind == "mailboxes":
    connection = sqlite3.connect(store)
    minute = int(time.time()) // 60
    with connection:
        connection.execute("""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
                              INSERT INTO mailbox (key, messages, bytes) SELECT randomblob(32), 1, 300 FROM n""", (count,))
        connection.execute("""INSERT INTO envelope (mailbox, minute, failures, id, body)
                              SELECT number, ?, 0, randomblob(16), randomblob(300) FROM mailbox""", (minute,))
        connection.execute("""INSERT INTO seen (mailbox, id, digest, seq, minute)
                              SELECT mailbox, id, randomblob(16), seq, minute FROM envelope""")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
else:
    folder = store + "-blobs"
    names = os.listdir(folder)
    with open(os.path.join(folder, names[0]), "rb") as file:
        blob = file.read()
    for _ in range(count - len(names)):
        with open(os.path.join(folder, os.urandom(32).hex()), "wb") as file:
            file.write(blob)
# Else the kernel writes during the measurement.
os.sync()
