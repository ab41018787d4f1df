"""The messages of `history export` in a plain SQLite database, and the same questions as the bench asks history.

usage: plain_history.py DATABASE fill < messages.ndjson | DATABASE PEER MIDDLE
Each line is NAME<tab>MILLISECONDS, the median of 11, without the start of Python; the last has the size in bytes.
"""

import json
import os
import sqlite3
import statistics
import sys
import time

path = sys.argv[1]
connection = sqlite3.connect(path)
if sys.argv[2] == "fill":
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("""CREATE TABLE message (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, peer TEXT NOT NULL,
                          sent INTEGER NOT NULL, time TEXT, body TEXT NOT NULL)""")
    connection.execute("CREATE INDEX message_peer ON message(peer)")
    records = (json.loads(line) for line in sys.stdin)
    connection.executemany(
        "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)",
        ((each["number"], each["id"], each["to" if each["direction"] == "sent" else "from"],
          each["direction"] == "sent", each.get("time"), json.dumps(each["body"], ensure_ascii=False))
         for each in records))
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sys.exit()

peer, middle = sys.argv[2], int(sys.argv[3])
questions = {
    "first page": ("SELECT * FROM message WHERE peer = ? ORDER BY number DESC LIMIT 50", (peer,)),
    "middle page": ("SELECT * FROM message WHERE peer = ? AND number < ? ORDER BY number DESC LIMIT 50", (peer, middle)),
    "list": ("SELECT peer, max(number) FROM message GROUP BY peer ORDER BY 2 DESC", ()),
    "search": ("SELECT * FROM message WHERE body LIKE '%xylograph%' ORDER BY number DESC", ()),
    "export": ("SELECT * FROM message ORDER BY number", ()),
}
for name, (question, values) in questions.items():
    times = []
    for _ in range(11 if name != "export" else 3):
        begun = time.perf_counter()
        rows = connection.execute(question, values).fetchall()
        times.append((time.perf_counter() - begun) * 1000)
        del rows
    print(f"{name}\t{statistics.median(times)}")
print(f"size\t{os.path.getsize(path)}")
