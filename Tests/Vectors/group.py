#!/usr/bin/env python3
"""The rules of group changes, independent of Sotto: makes Tests/Vectors/group.json, and compares group-fold.

usage: group.py                       prints the known answers
       group.py compare PROGRAM COUNT  folds COUNT random logs with PROGRAM and with the functions below
       group.py log SEED               prints one random log, a change on each line

The rules are those of sotto-formats(5), GROUPS, written as recursive definitions over sets, without passes, numbers or
caches of the order.
"""
import base64
import functools
import hashlib
import hmac as hmac_module
import json
import random
import subprocess
import sys

import nacl.bindings
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class Fold:
    def __init__(self, lines):
        self.change = {}
        self.past = {}
        waiting = list(lines)
        while True:
            later = []
            for c in waiting:
                if c["id"] in self.change:
                    continue
                if all(p in self.change for p in c["parents"]):
                    self.store(c)
                else:
                    later.append(c)
            if len(later) == len(waiting):
                break
            waiting = later
        self.void, self.new = set(), set()
        for c in self.change:
            self.judge(c)
        for c in self.void:
            self.change[c] = dict(self.change[c], act="void")
        for name in ("at_least", "effective", "consented", "power"):
            setattr(self, name, functools.lru_cache(None)(getattr(self, name)))

    def store(self, c):
        past = set(c["parents"])
        for p in c["parents"]:
            past |= self.past[p]
        if c["act"] == "create":
            if c["parents"] or self.change:
                return
        elif not c["parents"]:
            return
        elif not any(c["by"] == self.change[p]["who"] for p in past
                     if self.change[p]["act"] in ("invite", "role")) \
                and not any(c["by"] == self.change[p]["by"] for p in past
                            if self.change[p]["act"] in ("create", "door-join")) \
                and not (c["act"] == "door-join" and c["door"] and any(
                    self.change[p]["door"] == c["door"] for p in past
                    if self.change[p]["act"] in ("create", "policy"))):
            return
        self.change[c["id"]] = c
        self.past[c["id"]] = past

    def judge(self, c):
        """Whether a change by a device counts, and whether its device is new."""
        change = self.change[c]
        device = change.get("device", 0)
        if not device:
            return
        lists = [(p, q["seq"], q["states"].get(str(device))) for p, q in self.change.items()
                 if q["act"] == "devices" and q["by"] == change["by"]]
        before = [each for each in lists if self.before(each[0], c)]
        last = max((seq for _, seq, _ in before), default=0)
        states = [state for _, seq, state in before if seq == last]
        left_out = any(seq > last and state is None and not self.before(c, p) for p, seq, state in lists)
        if not states or None in states or left_out:
            self.void.add(c)
        elif "new" in states:
            self.new.add(c)

    def before(self, a, b):
        return a in self.past[b]

    def gives(self, g):
        """The member and the rank that a change grants, or None."""
        c = self.change[g]
        if c["act"] == "create":
            return c["by"], 5
        if c["act"] == "door-join":
            return c["by"], 2
        if c["act"] in ("invite", "role"):
            return c["who"], c["rank"]
        return None

    def takes(self, r):
        """The member whose grants a change cuts, and the rank that stays, or None."""
        c = self.change[r]
        if c["act"] == "leave":
            return c["by"], 0
        if c["act"] in ("remove", "ban"):
            return (c["who"], 0) if c["who"] != c["by"] else None
        if c["act"] == "role":
            return c["who"], c["rank"]
        return None

    def consented(self, g, c):
        act, (who, _) = self.change[g]["act"], self.gives(g)
        if act in ("create", "door-join"):
            return True
        joins = [j for j in self.change
                 if self.change[j]["act"] in ("create", "join", "door-join") and self.change[j]["by"] == who]
        leaves = [l for l in self.change
                  if self.change[l]["act"] == "leave" and self.change[l]["by"] == who]
        for j in joins:
            if self.before(g, j) and (c is None or self.before(j, c)):
                return True
            if act == "role" and self.before(j, g) and not any(
                    self.before(j, l) and self.before(l, g) for l in leaves):
                return True
        return False

    def cuts(self, r, g, c):
        """Whether r cuts g, when the power of c is asked for."""
        taken = self.takes(r)
        who, rank = self.gives(g)
        if taken is None or taken[0] != who or rank <= taken[1]:
            return False
        change = self.change[r]
        if change["by"] == who:
            if change["act"] not in ("leave", "role") or self.before(r, g):
                return False
            if c is not None and self.change[c]["act"] == "role" and self.change[c]["rank"] == 5:
                return self.before(r, c)
            return True
        if not self.at_least(r, max(3, rank + 1)):
            return False
        if not self.before(r, g) or self.change[g]["act"] == "door-join":
            return True
        if change["act"] == "ban" or change["act"] == "role" and taken[1] <= 1:
            return any(self.at_least(r, p) and not self.at_least(g, p)
                       for p in range(rank + 1, 6))
        return False

    def counts(self, g, c):
        """Whether a grant counts for the power of c, or at the end."""
        if c is not None and not self.before(g, c):
            return False
        if not self.consented(g, c) or not self.effective(g):
            return False
        return not any(
            self.cuts(r, g, c) for r in self.change
            if c is None or r != c and not self.before(c, r))

    def at_least(self, c, rank):
        if c in self.void or c in self.new and rank > 2:
            return False
        return any(
            self.gives(g) is not None and self.gives(g)[0] == self.change[c]["by"]
            and self.gives(g)[1] >= rank and self.counts(g, c) for g in sorted(self.past[c]))

    def power(self, c):
        return max((p for p in range(1, 6) if self.at_least(c, p)), default=0)

    def latest(self, some):
        return [a for a in some if not any(self.before(a, b) for b in some)]

    def policies(self, some):
        return [p for p in some
                if self.change[p]["act"] == "create"
                or self.change[p]["act"] == "policy" and self.at_least(p, 4)]

    def governing(self, c):
        first = self.latest(self.policies(self.past[c]))
        second = self.latest(self.policies(
            [p for p in self.change if p != c and not self.before(c, p)]))
        return [self.change[p] for p in first + second]

    def effective(self, g):
        c = self.change[g]
        if c["act"] == "invite":
            return all(self.at_least(g, max(2, p["add"])) for p in self.governing(g))
        if c["act"] == "door-join":
            return c["door"] != "" and all(p["door"] == c["door"] for p in self.governing(g))
        if c["act"] == "role":
            if c["rank"] == 5:
                return self.at_least(g, 5)
            return self.at_least(g, max(3, c["rank"] + 1))
        return True

    def result(self):
        ranks = {}
        for g in self.change:
            given = self.gives(g)
            if given and self.counts(g, None):
                ranks[given[0]] = max(ranks.get(given[0], 0), given[1])
        last = [self.change[p] for p in self.latest(self.policies(list(self.change)))]
        doors = {p["door"] for p in last}
        return {
            "add": max(p["add"] for p in last), "door": doors.pop() if len(doors) == 1 else "",
            "power": {c: self.power(c) for c in self.change},
            "ranks": {who: rank for who, rank in ranks.items() if rank > 0},
        }


ACTS = ["invite"] * 5 + ["join"] * 6 + ["door-join"] * 2 + ["leave", "leave", "remove", "remove", "ban"] \
    + ["role"] * 6 + ["policy"] * 2 + ["set"]


def random_log(seed, changes=None, members=None):
    """A log of authors who may do anything, often at old heads."""
    choose = random.Random(seed)
    members = members or choose.randint(2, 7)
    people = ["p%d" % n for n in range(members)]
    doors = ["", "", "d1", "d2"]
    log = [{"id": "c0", "by": "p0", "parents": [], "act": "create", "who": "", "rank": 0,
            "add": choose.randint(0, 4), "door": choose.choice(doors)}]
    for number in range(1, changes or choose.randint(3, 40)):
        age = choose.choice([1, 1, 1, 2, 3, 8, 40])
        parents = set(choose.sample(
            range(max(0, number - age), number), min(choose.choice([1, 1, 2]), min(age, number))))
        act = choose.choice(ACTS)
        by = choose.choice(people[:2] + people)
        log.append({
            "id": "c%d" % number, "by": by, "parents": ["c%d" % p for p in sorted(parents)], "act": act,
            "who": choose.choice(people) if act in ("invite", "remove", "ban", "role") else "",
            "rank": choose.randint(1, 2) if act == "invite"
            else choose.choice([0, 1, 1, 2, 3, 3, 4, 4, 5]) if act == "role" else 0,
            "add": choose.randint(0, 4) if act == "policy" else 0,
            "door": choose.choice(doors) if act in ("policy", "door-join") else ""})
    return log


def random_device_log(seed):
    """A random log whose authors have two devices and lists of them."""
    log = random_log(seed)
    choose = random.Random(seed + 1)
    for c in log[1:]:
        if choose.random() < 0.2:
            states = {str(d): choose.choice(["new", "full", "full", None]) for d in (1, 2)}
            c.update(act="devices", who="", rank=0, add=0, door="", seq=choose.randint(1, 5),
                     states={d: state for d, state in states.items() if state})
        elif c["act"] not in ("join", "door-join") and c["rank"] != 5 and choose.random() < 0.4:
            c["device"] = choose.randint(1, 2)
    return log


def logs_of_devices():
    """Logs in which p0, the owner, has devices, and p1 is a member."""
    def log(*lines):
        made = []
        for by, parents, act, who, rank, more in [
                ("p0", [], "create", "", 0, {}), ("p0", [0], "invite", "p1", 2, {}), ("p1", [1], "join", "", 0, {}),
                *lines]:
            made.append({"id": "c%d" % len(made), "by": by, "parents": ["c%d" % p for p in parents], "act": act,
                         "who": who, "rank": rank, "add": 4 if act == "create" else 0, "door": "", **more})
        return made

    def devices(parent, seq, **states):
        return ("p0", [parent], "devices", "", 0, {"seq": seq, "states": {d[1:]: s for d, s in states.items()}})

    def role(parent, rank, device):
        return ("p0", [parent], "role", "p1", rank, {"device": device})

    return [
        # A full device, a new one, and one on no list.
        log(devices(2, 1, d1="full"), role(3, 4, 1)),
        log(devices(2, 1, d1="new"), role(3, 4, 1), ("p0", [4], "remove", "p1", 0, {"device": 1})),
        log(devices(2, 1, d2="full"), role(3, 4, 1)),
        # A list after the change makes nothing of it count, and takes nothing of it back.
        log(role(2, 4, 1), devices(3, 1, d1="full")),
        log(devices(2, 1, d1="new"), role(3, 4, 1), devices(4, 2, d1="full")),
        log(devices(2, 1, d1="full"), role(3, 4, 1), devices(4, 2)),
        # A list beside the change leaves the device out, or is an earlier one.
        log(devices(2, 1, d1="full"), devices(3, 2), role(3, 4, 1)),
        log(devices(2, 2, d1="full"), devices(2, 1), role(3, 4, 1)),
        # A fork: each of two lists with one number must name the device.
        log(devices(2, 1, d1="full"), devices(2, 1), ("p0", [3, 4], "role", "p1", 4, {"device": 1})),
        log(devices(2, 1, d1="full"), devices(2, 1, d1="new"), ("p0", [3, 4], "role", "p1", 4, {"device": 1})),
        # A new device may write as a member may, and the list of another member names it for nothing.
        log(devices(2, 1, d1="new"), ("p0", [3], "set", "", 0, {"device": 1})),
        log(devices(2, 1, d1="full"), ("p1", [3], "set", "", 0, {"device": 1})),
    ]


def compare(program, count):
    different = 0
    total = 0
    for seed in range(count):
        log = random_log(seed)
        total += len(log)
        expected = Fold(log).result()
        random.Random(seed).shuffle(log)
        text = "".join(json.dumps(line) + "\n" for line in log)
        found = json.loads(subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout)
        if found != expected:
            different += 1
            print("seed", seed, "differs", file=sys.stderr)
            for key in expected:
                if found[key] != expected[key]:
                    print(" ", key, expected[key], found[key], file=sys.stderr)
    print("%d logs, %d changes, %d differ" % (count, total, different))
    return different == 0


def canonical(value):
    # Names here are ASCII, so that their order by code point is that of RFC 8785.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def signed_changes():
    """A log of signed changes with fixed keys: creation, invitation, join, door-join, removal, values."""
    keys = [Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2, 3, 9)]

    def public(key):
        return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)

    ids = ["05" + public(key).hex() for key in keys]
    door = keys[3]
    state = {"group": None, "heads": [], "seq": {}}
    changes = []

    def add(author, act, **members):
        seq = state["seq"].get(author, 0) + 1
        state["seq"][author] = seq
        record = {"v": 1, "type": "group-change", "by": ids[author], "device": ids[author], "seq": seq,
                  "parents": state["heads"], "act": act, "time": "2026-11-24T10:00:00Z", **members}
        if state["group"]:
            record["group"] = state["group"]
        message = b"sotto/record/v1\0group-change\0" + canonical(record)
        record["sig"] = base64.b64encode(keys[author].sign(message)).decode()
        identifier = hashlib.sha256(canonical(record)).hexdigest()
        state["group"] = state["group"] or identifier
        state["heads"] = [identifier]
        changes.append({"id": identifier, "record": canonical(record).decode()})

    policy = {"add": "admin", "edit": "admin", "post": "member", "pin": "moderator", "visibility": "joined",
              "relays": ["tls://relay.example:7668"], "door": public(door).hex()}
    card = "ab" * 32
    add(0, "create", nonce=base64.b64encode(bytes(range(32))).decode(), policy=policy)
    add(0, "set", name="Hiking ⛰")
    add(0, "invite", who=[ids[1]], rank="member")
    add(1, "join", card=card, nickname="bob")
    proof = door.sign(b"sotto/door-join/v1\0" + bytes.fromhex(state["group"]) + public(keys[2]))
    add(2, "door-join", card=card, door=public(door).hex(), proof=base64.b64encode(proof).decode())
    add(0, "role", who=ids[1], rank="moderator")
    add(1, "remove", who=[ids[2]], upto=[{"device": ids[2], "chain": "cd" * 32, "iteration": 7}])
    add(0, "set", timer=3600)
    policy = dict(policy, visibility="granted")
    del policy["door"]
    add(0, "policy", policy=policy)
    add(0, "merge")
    folded = {"members": {ids[0]: "owner", ids[1]: "moderator"}, "nicknames": {ids[1]: "bob"}, "policy": policy,
              "values": {"name": "Hiking ⛰", "timer": 3600}}
    return {"group": state["group"], "changes": changes, "state": canonical(folded).decode(),
            "digest": hashlib.sha256(canonical(folded)).digest()[:16].hex()}


def group_message():
    """The first message of a chain, and its copy for one reader."""
    def hmac(key, message):
        return hmac_module.new(key, message, hashlib.sha256).digest()

    def hkdf(key, salt, info, count):
        return HKDF(algorithm=SHA256(), length=count, salt=salt, info=info).derive(key)

    group, device, reader = (bytes([n]) * 32 for n in (11, 12, 13))
    seed, wrap, key, nonce, copy_nonce = (
        bytes([n]) * count for n, count in ((14, 32), (15, 32), (16, 32), (17, 12), (18, 24)))
    signer = Ed25519PrivateKey.from_private_bytes(seed)
    signing_key = signer.public_key().public_bytes(
        serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    device, reader = (
        Ed25519PrivateKey.from_private_bytes(k).public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw) for k in (device, reader))
    chain = hashlib.sha256(b"sotto/chain/v1\0" + group + device + signing_key).digest()
    # Padding to 64 bytes: 1, the text, random bytes, and their number.
    frame = b"\x01hello" + bytes(54) + (54).to_bytes(4, "big")
    message_key = hmac(key, b"\x01")
    place = (0).to_bytes(4, "big")
    combined = nonce + AESGCM(message_key).encrypt(nonce, frame, chain + place)
    commitment = hmac(message_key, b"commit")
    signature = signer.sign(b"sotto/group/v1\0" + chain + place + commitment + combined)
    message = place + commitment + signature + combined
    keys = hkdf(wrap, reader, b"sotto/group/copy/v1" + chain, 48)
    identifier, time = "8b0e4a9c-7a0e-4b9e-9d42-5f0f6f0b8a11", "2026-11-24T10:00:00Z"
    address = identifier.encode() + b"\0" + b"05" + reader.hex().encode() + b"\0" + time.encode()
    box = copy_nonce + nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(
        message, address, copy_nonce, keys[16:])
    return {"group": group.hex(), "device": device.hex(), "seed": seed.hex(), "wrap": wrap.hex(),
            "key": key.hex(), "nonce": nonce.hex(), "copyNonce": copy_nonce.hex(), "chain": chain.hex(),
            "frame": frame.hex(), "message": message.hex(), "reader": reader.hex(), "id": identifier,
            "time": time, "tag": keys[:16].hex(), "box": box.hex()}


def logs_of_creators():
    """Logs in which the creator of a group gets another rank."""
    def log(*lines):
        made = []
        for by, parents, act, who, rank in [("p0", [], "create", "", 0), ("p0", [0], "invite", "p1", 2),
                                            ("p1", [1], "join", "", 0), ("p0", [2], "role", "p1", 5), *lines]:
            made.append({"id": "c%d" % len(made), "by": by, "parents": ["c%d" % p for p in parents], "act": act,
                         "who": who, "rank": rank, "add": 4 if act == "create" else 0, "door": ""})
        return made

    return [
        # The creator steps down, and another owner gives ownership back.
        log(("p0", [3], "role", "p0", 4), ("p0", [4], "set", "", 0)),
        log(("p0", [3], "role", "p0", 4), ("p0", [4], "set", "", 0), ("p1", [5], "role", "p0", 5)),
        # A role after the creator left needs a join.
        log(("p0", [3], "leave", "", 0), ("p1", [4], "role", "p0", 4)),
        log(("p0", [3], "leave", "", 0), ("p1", [4], "role", "p0", 4), ("p0", [5], "join", "", 0)),
        # Another owner removes the creator at the same time.
        log(("p0", [3], "role", "p0", 2), ("p1", [3], "remove", "p0", 0)),
    ]


def vectors():
    random_logs = [random_log(seed) for seed in range(1_000_000, 1_000_060)]
    logs = [{"log": log, "result": Fold(log).result()} for log in random_logs + logs_of_creators()]
    random_logs = [random_device_log(seed) for seed in range(2_000_000, 2_000_040)]
    device_logs = [{"log": log, "result": Fold(log).result()} for log in random_logs + logs_of_devices()]
    return {"comment": "Made by group.py: a log of signed changes with its state, a message, and random logs with their folds.",
            "signed": signed_changes(), "chain": group_message(), "logs": logs, "deviceLogs": device_logs}


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    if sys.argv[1:2] == ["compare"]:
        sys.exit(0 if compare(sys.argv[2], int(sys.argv[3])) else 1)
    elif sys.argv[1:2] == ["log"]:
        print("\n".join(json.dumps(line) for line in random_log(int(sys.argv[2]))))
    else:
        print(json.dumps(vectors(), ensure_ascii=False, separators=(",", ":")))
