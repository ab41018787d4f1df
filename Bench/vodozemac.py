"""vodozemac.py [SECONDS]: measures the same as Bench/ratchet, with the Olm sessions of vodozemac 0.10.0.

Each line is NAME<tab>RATE. Messages stay objects between the two sides, so neither side encodes or parses text.
The Python calls cost about a microsecond for each message.
"""

import os
import sys
import time

from vodozemac import Account


def rate(name, seconds, body):
    for _ in range(100):
        body()
    count, start, elapsed = 0, time.monotonic(), 0.0
    while elapsed < seconds:
        for _ in range(20):
            body()
        count += 20
        elapsed = time.monotonic() - start
    print(f"{name}\t{int(count / elapsed)}", flush=True)


class People:
    """Two users; Bob's one-time keys are made in batches, outside of the measured time."""

    def __init__(self):
        self.alice, self.bob = Account(), Account()
        self.keys = []

    def one_time_key(self):
        """Returns one of Bob's keys, and his signature of it."""
        if not self.keys:
            self.bob.generate_one_time_keys(50)
            for key in self.bob.one_time_keys.values():
                self.keys.append((key, key.to_bytes(), self.bob.sign(key.to_bytes())))
            self.bob.mark_keys_as_published()
        return self.keys.pop()

    def start(self, key, content, signature):
        """Starts a session from a signed prekey to the first message: verify, create, send, receive and read."""
        self.bob.ed25519_key.verify_signature(content, signature)
        initiator = self.alice.create_outbound_session(self.bob.curve25519_key, key)
        message = initiator.encrypt(b"\x01").to_pre_key()
        responder, plaintext = self.bob.create_inbound_session(self.alice.curve25519_key, message)
        assert plaintext == b"\x01"
        return initiator, responder


def starts(people, seconds):
    """Measures session starts per second; as in Bench/ratchet, making prekeys is not counted."""
    count, elapsed = 0, 0.0
    while elapsed < seconds:
        keys = [people.one_time_key() for _ in range(50)]
        start = time.monotonic()
        for key in keys:
            people.start(*key)
        elapsed += time.monotonic() - start
        count += len(keys)
    print(f"session starts, X3DH\t{int(count / elapsed)}", flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    people = People()
    for size in (100, 1000):
        plaintext = os.urandom(size)
        pair = list(people.start(*people.one_time_key()))
        # After this answer the longer pre-key messages end.
        assert pair[0].decrypt(pair[1].encrypt(plaintext)) == plaintext

        def one_way():
            assert pair[1].decrypt(pair[0].encrypt(plaintext)) == plaintext

        def ping_pong():
            assert pair[0].decrypt(pair[1].encrypt(plaintext)) == plaintext
            pair.reverse()

        rate(f"one way, {size} bytes", seconds, one_way)
        rate(f"ping-pong, {size} bytes", seconds, ping_pong)
    starts(people, seconds)


if __name__ == "__main__":
    main()
