"""Prints device_list.json: a list of devices and a card with it, signed with cryptography."""
import base64
import hashlib
import json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def key(name):
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"device list: " + name).digest())


def identity(name):
    return "05" + key(name).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def signed(record, name):
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    message = b"sotto/record/v1\0" + record["type"].encode() + b"\0" + text.encode()
    return {**record, "sig": base64.b64encode(key(name).sign(message)).decode()}


def bech32(prefix, data):
    """Encodes bytes as BIP 173 says."""
    def checksum(values):
        state = 1
        for value in values:
            top = state >> 25
            state = (state & 0x1FFFFFF) << 5 ^ value
            for bit, word in enumerate([0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3]):
                state ^= word if top >> bit & 1 else 0
        return state
    number = int.from_bytes(data, "big") << 4
    values = [number >> shift & 31 for shift in range(255, -1, -5)]
    expanded = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    state = checksum(expanded + values + [0] * 6) ^ 1
    values += [state >> shift & 31 for shift in range(25, -1, -5)]
    return prefix + "1" + "".join("qpzry9x8gf2tvdw0s3jn54khce6mua7l"[value] for value in values)


AGE = bech32("age", X25519PrivateKey.from_private_bytes(hashlib.sha256(b"device list: age").digest())
             .public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

owner = identity(b"owner")
devices = []
for place, name in enumerate(["laptop", "büro"]):
    seed = name.encode()
    card = signed({"v": 1, "type": "contact", "name": name, "id": identity(seed), "owner": owner,
                   "age": AGE, "relay": "tcp://relay.example:7667"}, seed)
    devices.append({"card": card, "name": name, "added": f"2026-11-2{place}T12:00:00Z",
                    "state": ["full", "new"][place]})
devices = signed({"v": 1, "type": "devices", "id": owner, "seq": 1_795_000_000,
                  "issued": "2026-11-28T12:00:00Z", "devices": devices}, b"owner")
card = signed({"v": 1, "type": "contact", "name": "Alice", "id": owner, "age": AGE,
               "relay": "tcp://relay.example:7667", "issued": "2026-11-28T12:00:00Z",
               "devices": devices}, b"owner")
# A private list, and the list that others get in its place.
private = signed({"v": 1, "type": "devices", "id": owner, "seq": 1_795_000_002,
                  "issued": "2026-11-28T12:00:00Z", "devices": devices["devices"],
                  "private": 1_795_000_001}, b"owner")
shown = signed({"v": 1, "type": "devices", "id": owner, "seq": 1_795_000_001,
                "issued": "2026-11-18T11:06:41Z", "devices": []}, b"owner")
print(json.dumps({
    "comment": "Made by device_list.py with another implementation of Ed25519.",
    "seed": hashlib.sha256(b"device list: owner").hexdigest(), "list": devices, "card": card,
    "private": private, "shown": shown,
}, indent=1, ensure_ascii=False))
