#!/usr/bin/env python3
"""Makes Tests/Vectors/room.json: the keys of a room's door and its record, independent of Sotto.

Needs argon2-cffi, pycryptodome and cryptography. The rules are those of sotto-formats(5), ROOMS.
"""
import base64
import hashlib
import json

from argon2.low_level import Type, hash_secret_raw
from Crypto.Cipher import ChaCha20_Poly1305
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PHRASE = "seven random words: harbour violin cactus ledger ribbon mosaic tundra"
HOST = "relay.example.org"


def public(key):
    return key.public_key().public_bytes(
        serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def record(door, publisher, content_key, seq, nonce, content):
    text = canonical(content)
    text += b" " * (-len(text) % 4096)
    box = ChaCha20_Poly1305.new(key=content_key, nonce=nonce)
    box.update(public(door) + public(publisher))
    sealed, tag = box.encrypt_and_digest(text)
    proof = door.sign(b"sotto/room-publisher/v1\0" + public(publisher))
    members = {
        "v": 1, "type": "room", "id": "05" + public(door).hex(),
        "publisher": public(publisher).hex(), "proof": proof.hex(), "seq": seq,
        "issued": "2026-11-24T12:00:00Z", "relay": "tls://relay.example.org:7667",
        "box": base64.b64encode(nonce + sealed + tag).decode(),
    }
    signature = publisher.sign(b"sotto/record/v1\0room\0" + canonical(members))
    members["sig"] = base64.b64encode(signature).decode()
    return members


salt = hashlib.sha256(b"sotto/door/v1\0" + HOST.encode()).digest()[:16]
root = hash_secret_raw(PHRASE.encode(), salt, 3, 256 << 10, 1, 32, Type.ID, version=19)
door = Ed25519PrivateKey.from_private_bytes(root)
content_key = HKDF(SHA256(), 32, None, b"sotto/room/v1").derive(root)
publisher = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
group = hashlib.sha256(b"a group").hexdigest()
newcomer = "05" + public(Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))).hex()
contents = [
    {"v": 1, "type": "room-content", "group": group, "changes": [{"a": 1}], "cards": [{"b": "ü"}]},
    {"v": 1, "type": "room-content", "closed": True},
]
print(json.dumps({
    "_": "Made by room.py with argon2-cffi, pycryptodome and cryptography.",
    "phrase": PHRASE, "host": HOST, "root": root.hex(), "door": "05" + public(door).hex(),
    "contentKey": content_key.hex(),
    "newcomer": {
        "group": group, "id": newcomer,
        "proof": door.sign(
            b"sotto/door-join/v1\0" + bytes.fromhex(group) + bytes.fromhex(newcomer[2:])).hex(),
    },
    "records": [
        record(door, publisher, content_key, place + 1, bytes([place]) * 24, content)
        for place, content in enumerate(contents)
    ],
}, indent=1, ensure_ascii=False))
