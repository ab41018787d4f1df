#!/usr/bin/env python3
"""Writes blob.json: blobs of sotto-formats(5), BLOBS.

It needs only PyPI's cryptography. It does not use Sotto.
"""
import hashlib
import json

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

CHUNK = 65536


def padme(length):
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (length + mask) & ~mask


def content(size):
    """The file of a case: byte i is i * 7 + i // 251, modulo 256."""
    return bytes((i * 7 + i // 251) & 255 for i in range(size))


def blob(file, key, nonce):
    plaintext = file.ljust(padme(max(len(file), 4096)), b"\0")
    cipher = ChaCha20Poly1305(
        HKDF(algorithm=SHA256(), length=32, salt=nonce, info=b"sotto/blob/v1").derive(key))
    out = nonce
    for index in range(0, len(plaintext), CHUNK):
        is_last = index + CHUNK >= len(plaintext)
        counter = (index // CHUNK).to_bytes(11, "big") + bytes([is_last])
        out += cipher.encrypt(counter, plaintext[index:index + CHUNK], None)
    return out


cases = []
for number, size in enumerate([
        0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 100_000, 131_072, 131_073, 1_000_003]):
    key = hashlib.sha256(b"key %d" % number).digest()
    nonce = hashlib.sha256(b"nonce %d" % number).digest()[:16]
    sealed = blob(content(size), key, nonce)
    cases.append({
        "fileSize": size, "key": key.hex(), "nonce": nonce.hex(), "size": len(sealed),
        "digest": hashlib.sha256(sealed).hexdigest(), "end": sealed[-32:].hex(),
    })
with open("blob.json", "w") as file:
    json.dump({"blobs": cases}, file, indent=1)
    file.write("\n")
