"""Prints prekey_pair.json: the signature over both signed prekeys, made with cryptography and hashlib."""
import hashlib
import json
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

seed = hashlib.sha256(b"prekey pair: identity").digest()
signed = (7, hashlib.sha256(b"prekey pair: X25519").digest())
post_quantum = (4_000_000_000, hashlib.shake_256(b"prekey pair: ML-KEM-1024").digest(1568))
time = 1_760_000_000

message = b"ratchet/prekeys/v1\0" + struct.pack(">Q", time)
for number, key in (signed, post_quantum):
    message += struct.pack(">I", number) + key
print(json.dumps({
    "comment": "Made by prekey_pair.py: the signature over both signed prekeys of a bundle, by another implementation.",
    "seed": seed.hex(), "time": time,
    "signed": {"id": signed[0], "key": signed[1].hex()},
    "postQuantum": {"id": post_quantum[0], "key": post_quantum[1].hex()},
    "signature": Ed25519PrivateKey.from_private_bytes(seed).sign(message).hex(),
}, indent=1))
