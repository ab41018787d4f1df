"""Does with PyNaCl, pyca/cryptography and mnemonic what the tests ask for: a list of requests in JSON on stdin, a list of
answers on stdout. Byte strings are base64; a refusal is {"error": …}."""

import base64
import hashlib
import hmac
import json
import os
import struct
import sys

import mnemonic
import nacl.bindings as nacl
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, padding
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def b64(data):
    return base64.b64encode(data).decode()


def un64(text):
    return base64.b64decode(text, validate=True)


def nacl_box(r):
    if r["direction"] == "seal":
        return nacl.crypto_box(un64(r["m"]), un64(r["nonce"]), un64(r["pk"]), un64(r["sk"]))
    return nacl.crypto_box_open(un64(r["m"]), un64(r["nonce"]), un64(r["pk"]), un64(r["sk"]))


def nacl_secretbox(r):
    if r["direction"] == "seal":
        return nacl.crypto_secretbox(un64(r["m"]), un64(r["nonce"]), un64(r["key"]))
    return nacl.crypto_secretbox_open(un64(r["m"]), un64(r["nonce"]), un64(r["key"]))


def convert(r):
    public, secret = nacl.crypto_sign_seed_keypair(un64(r["seed"]))
    return {
        "public": b64(public),
        "x_secret": b64(nacl.crypto_sign_ed25519_sk_to_curve25519(secret)),
        "x_public": b64(nacl.crypto_sign_ed25519_pk_to_curve25519(public)),
    }


def words(r):
    text = mnemonic.Mnemonic(r["language"]).to_mnemonic(un64(r["entropy"]))
    return {"words": text, "seed": b64(mnemonic.Mnemonic.to_seed(text, r["passphrase"]))}


def whisper2_keys(text):
    seed = mnemonic.Mnemonic.to_seed(text)

    def key(info):
        return HKDF(hashes.SHA256(), 32, b"whisper", info).derive(seed)

    return key(b"whisper/enc"), key(b"whisper/sign"), key(b"whisper/contacts")


def whisper2_identity(r):
    secret, sign, contacts = whisper2_keys(r["words"])
    public, _ = nacl.crypto_sign_seed_keypair(sign)
    return {
        "enc": b64(nacl.crypto_scalarmult_base(secret)),
        "sign": b64(public),
        "contacts": b64(contacts),
    }


def canonical(r):
    fields = ["type", "id", "from", "to", "time", "nonce", "ciphertext"]
    return hashlib.sha256(("v1\n" + "".join(str(r[f]) + "\n" for f in fields)).encode()).digest()


def whisper2_seal(r):
    secret, sign, _ = whisper2_keys(r["words"])
    box = nacl.crypto_box(un64(r["m"]), un64(r["nonce"]), un64(r["pk"]), secret)
    r["ciphertext"] = b64(box)
    key = ed25519.Ed25519PrivateKey.from_private_bytes(sign)
    return {"ciphertext": r["ciphertext"], "sig": b64(key.sign(canonical(r)))}


def whisper2_open(r):
    secret, _, _ = whisper2_keys(r["words"])
    key = ed25519.Ed25519PublicKey.from_public_bytes(un64(r["sign"]))
    key.verify(un64(r["sig"]), canonical(r))
    return nacl.crypto_box_open(un64(r["ciphertext"]), un64(r["nonce"]), un64(r["pk"]), secret)


OAEP = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)


def mercurio_signed(r):
    parts = [r["conversation"].encode(), r["sender"].encode(), r["recipient"].encode()]
    parts += [un64(r[n]) for n in ["encryptedAesKey", "nonce", "encryptedContent", "mac"]]
    data = b"".join(struct.pack(">I", len(p)) + p for p in parts)
    return b"hybrid/msg/v1\0" + hashlib.sha256(data).digest()


def mercurio_seal(r):
    public = serialization.load_pem_public_key(r["pem"].encode())
    key, nonce = AESGCM.generate_key(256), un64(r["nonce"])
    box = AESGCM(key).encrypt(nonce, un64(r["m"]), None)
    r["encryptedContent"], r["mac"] = b64(box[:-16]), b64(box[-16:])
    r["encryptedAesKey"] = b64(public.encrypt(key, OAEP))
    signing = ed25519.Ed25519PrivateKey.from_private_bytes(un64(r["seed"]))
    names = ["encryptedContent", "encryptedAesKey", "mac"]
    return {**{n: r[n] for n in names}, "sig": b64(signing.sign(mercurio_signed(r)))}


def mercurio_open(r):
    verify = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(r["sender"][2:]))
    verify.verify(un64(r["sig"]), mercurio_signed(r))
    private = serialization.load_pem_private_key(r["pem"].encode(), None)
    key = private.decrypt(un64(r["encryptedAesKey"]), OAEP)
    box = un64(r["encryptedContent"]) + un64(r["mac"])
    return AESGCM(key).decrypt(un64(r["nonce"]), box, None)


def mercurio_bundle(r):
    key = serialization.load_pem_public_key(r["pem"].encode())
    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    verify = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(r["id"][2:]))
    verify.verify(un64(r["sig"]), b"hybrid/key/v1\0" + der)
    numbers = key.public_numbers()
    return {"modulus": str(numbers.n), "exponent": str(numbers.e)}


def pbkdf2(r):
    rounds = int(r["rounds"])
    return hashlib.pbkdf2_hmac("sha256", un64(r["password"]), un64(r["salt"]), rounds, 32)


def framed(m):
    size = next(64 << k for k in range(11) if 64 << k >= len(m) + 5)
    count = size - 5 - len(m)
    return b"\1" + m + os.urandom(count) + struct.pack(">I", count)


def unframed(frame):
    assert frame[0] == 1
    return frame[1 : len(frame) - 4 - struct.unpack(">I", frame[-4:])[0]]


def sender_key(r):
    key = un64(r["chainKey"])
    for _ in range(int(r["iteration"])):
        key = hmac.digest(key, b"\2", "sha256")
    aad = bytes.fromhex(r["chainId"]) + struct.pack(">I", int(r["iteration"]))
    return AESGCM(hmac.digest(key, b"\1", "sha256")), aad


def sender_key_seal(r):
    r["chainId"] = hashlib.sha256(un64(r["chainKey"])).hexdigest()
    aes, aad = sender_key(r)
    nonce = os.urandom(12)
    combined = nonce + aes.encrypt(nonce, framed(un64(r["m"])), aad)
    key = ed25519.Ed25519PrivateKey.from_private_bytes(un64(r["seed"]))
    public = key.public_key().public_bytes_raw()
    signature = key.sign(b"ratchet/sender/v1\0" + aad + combined)
    return {
        "chainId": r["chainId"], "ciphertext": b64(combined), "signature": b64(signature),
        "signingKey": b64(public),
    }  # fmt: skip


def sender_key_open(r):
    assert hashlib.sha256(un64(r["chainKey"])).hexdigest() == r["chainId"]
    aes, aad = sender_key(r)
    combined = un64(r["ciphertext"])
    verify = ed25519.Ed25519PublicKey.from_public_bytes(un64(r["signingKey"]))
    verify.verify(un64(r["signature"]), b"ratchet/sender/v1\0" + aad + combined)
    return unframed(aes.decrypt(combined[:12], combined[12:], aad))


def ecp1_open(r):
    file = un64(r["m"])
    assert file[:4] == b"ECP1"
    key = hashlib.pbkdf2_hmac("sha256", un64(r["password"]), file[4:20], 600000, 32)
    return AESGCM(key).decrypt(file[20:32], file[32:], None)


def pem_key(r):
    password = un64(r["password"]) if "password" in r else None
    key = serialization.load_pem_private_key(r["pem"].encode(), password)
    return {"modulus": str(key.public_key().public_numbers().n)}


operations = [
    sender_key_seal, sender_key_open, ecp1_open, pem_key, pbkdf2, nacl_box, nacl_secretbox, convert, words, whisper2_identity, whisper2_seal,
    whisper2_open, mercurio_seal, mercurio_open, mercurio_bundle,
]  # fmt: skip


def answer(request):
    operation = next(o for o in operations if o.__name__ == request["op"])
    try:
        result = operation(request)
    except Exception as error:  # what refuses, and how, is the peer's own
        return {"error": type(error).__name__}
    return result if isinstance(result, dict) else {"m": b64(result)}


json.dump([answer(request) for request in json.load(sys.stdin)], sys.stdout)
