"""Prints succession.json: a succession and a revocation, made with cryptography and hashlib.

The signing keys are derived here from the words, as sotto-formats(5) says. The encryption keys on the card of the new identity are only
quoted: other vectors test them.
"""
import base64
import hashlib
import json
import unicodedata

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

OLD = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
NEW = "legal winner thank year wave sausage worth useful legal winner thank yellow"
AGE = "age1th37lcfj67sektelkdj7muh7z8na0l94u8lcutqjx0gy2nghqymsed4mdm"
PQ = "age1pq17xujlrlhf3ngkrl74vra3c2vvawgg8a8ncvcv3w0hp42cw4ra5tj6qgj8m8usr04j5nlfzc99nzf7u462ehfvzyp4vs0eqg2rcrqc2qkkg0rdrmedwsyfpg29stmslszje92nvw5qxx3m53u6a5utacr3m2mwj0w5kkx94y5z6a253dun8z798d08zsehdye9jde0nenpzdrk8ucuny066q48t6e0tp8emueyuuqzyz59ctpfymqapakqcq38pdfp2q0nupel7954sase4axy0xfqhpwjz6ddy4xlf96qctdwygvsqjzkxwt3k2pgxjn4xq9jg08zl9z0wplm89gnr9pdg2xpfa55p70ed25ddmghfktffx8fxrp6cqvqkrqwxtzywq9cfwgw5p0sf4avyr0k8ve9ceqc7w58xlr2em29yespd5ytr4z27kczmt675nrkypd9xmyfphtxhrsq9t8jyy5yy42z2tycycuhg2zgma5g2sw07cjt3vm3f7j0f59f3r2wjffkqfxmc2hnwq2q8msgah4kden97uc67rul5ay3cv7y7qn0d4jyz96zxge7ryj28q2cg5nzywaeanempn8sc0uyf89vrkskg9cwx5xjzepqyyu2w6zsq97nsz4qwfp7cyf5sh2vzw9993zzyl28cttkes609s6y05fpgcvz9eycxp7l8a25k9jvlu2pgqnzufmep3h2ragzwgtc0qsrqctwwh2lys4946z2r8eq6h5xvx22f444pwtz8x80kem4ktax7w5yz0yxq9au97ge8e6fdhr990n7efna3vfdy5pj4gvkvgtc6egsf0f9tz8acp3e53eheulfxlq7a98zcvt33cgy2asw8xdkqgk54q8ad6rkjm2cyht4p9acf2u4tqdp6ktur3zmf523pxfc5kx436cfjt5v9psns9gh8ra3zd8w22yxpmd56fm9pqhhpd7ywr0zan85sera0fe2gh3zzn80vmwk7th7ecgrzk2ystmyk9dv88grpjceksrl8tnkm9jec70fnlxydpm09df0ayhwftgnp9fk5nyt2wulk52uupyj9v5wwusn322sfgteg646uq6jcxegjdq5f9m7w95l2th2x2pgycqdlchcwn7y2h2vushnruvju7c8d4k4qf4sznc6vsq3xusfanjyycm0d9m2wmy2jf09psnksekkpmhsalmjvx7qsfdvwdyjcltxm7z3gtaqaclm9t8p3fpx4gqhxm7jz9zzemxl3dfqctff3kprm0dkpqlajfsedfl8ke9mnlrtjsxy9c7tglv57zf3n4mm2dkjg5xrpa476phqadydl3ertajy4wfpvrflj50dzvhdkwfweh6pr2ep0mevsac90p37tjt4cccpmwp9n62j4uy68rytkerwqsmzjayklv7zs84gepgkg7vy4pn5tyhyeawdswkzdfzwkrjhwaxy9fx0y3r5r95vz3edetg25tvjnngggp8t3zzzkddewj3yngu86cg5kc8gwpudsgs75gj3cspcltpew23h334j9us5gv4ugxsp29upsuzex22kdeup63ygyat0vx9tdsuz46q4gcu27uvx0rfw4tlzy72vaqsuxa65cfykzkzq292xw4zevglcj2687dgy2dr2kt0x0ynj3uv09f20a799v6n5agrfn92ezx4u7xglvjqwklkjjhrvsd57yplw7udd4th9feunuyhdjf92apmn2qe9dtp2m0z0cxkvc0sh8x6x3yhhnasfzvx2gnx5zf755sxg2nkz0k8mygrkv4xpxa9jz0tzfnfpv65ddq4cgkjdv7guvlekghavge8s2a4uxjxvnclfxp7aj3aju5yd5gmz7ngmhmxsw2k63kxj2qnshp3twpd92f5ammx8f466gpz537jq8ak5t7tan7xrx03qyh84qaf"
TIME = "2026-11-28T12:00:00Z"


def key(words):
    words = unicodedata.normalize("NFKD", words).encode()
    seed = hashlib.pbkdf2_hmac("sha512", words, b"mnemonic", 2048)
    derived = HKDF(hashes.SHA256(), 32, b"modern/v1", b"sign").derive(seed)
    return Ed25519PrivateKey.from_private_bytes(derived)


def public(key):
    return "05" + key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def canonical(record):
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()


def sign(record, key):
    message = b"sotto/record/v1\0" + record["type"].encode() + b"\0" + canonical(record)
    return {**record, "sig": base64.b64encode(key.sign(message)).decode()}


old, new = key(OLD), key(NEW)
card = sign({
    "v": 1, "type": "contact", "name": "alice", "id": public(new), "age": AGE, "pq": PQ,
    "relay": "tcp://new.example.org:7667", "issued": TIME}, new)
succession = {
    "v": 1, "type": "succession", "id": public(old), "card": card,
    "relay": "tcp://relay.example.org:7667", "issued": TIME}
accept = new.sign(b"sotto/succession/v1\0" + canonical(succession))
succession["accept"] = base64.b64encode(accept).decode()
revocation = {
    "v": 1, "type": "revocation", "id": public(old), "issued": TIME,
    "relay": "tcp://relay.example.org:7667"}
print(json.dumps({
    "comment": "Made by succession.py: a succession and a revocation, by another implementation.",
    "old": OLD, "new": NEW, "time": TIME,
    "succession": sign(succession, old), "revocation": sign(revocation, old),
}, indent=1))
