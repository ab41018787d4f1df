#!/usr/bin/env python3
"""Writes bodies.json: bodies of messages with the verdict of sotto-formats(5), BODIES.

It needs only Python and emoji-test.txt (Unicode, UTS #51; Debian's package unicode-data). It does not use Sotto.
"""
import base64
import copy
import json
import re
import unicodedata

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ID = re.compile(r"05[0-9a-fA-F]{64}")
TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?Z")
BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
GROUP = re.compile(r"[0-9a-f]{64}")
YEAR = 365 * 24 * 60 * 60

emoji = []
for line in open("/usr/share/unicode/emoji/emoji-test.txt", encoding="utf-8"):
    if line.strip() and not line.startswith("#"):
        emoji.append("".join(chr(int(code, 16)) for code in line.split(";")[0].split()))
allowed_emoji = set(emoji)


class Bad(Exception):
    pass


def plain(text):
    return not any(
        unicodedata.category(c) in ("Cc", "Zl", "Zp") or ord(c) in BIDI for c in text)


# A rule takes a value and the path of its member, and raises Bad(path) or Bad(path > limit).
def text(limit=None, line=False, least=0):
    def rule(value, path):
        if not isinstance(value, str):
            raise Bad(path)
        size = len(value.encode())
        if limit is not None and size > limit:
            raise Bad(f"{path} > {limit}")
        if size < least or line and (not value or not plain(value)):
            raise Bad(path)
    return rule


def matching(pattern):
    def rule(value, path):
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise Bad(path)
    return rule


def one_of(*values):
    def rule(value, path):
        if value not in values:
            raise Bad(path)
    return rule


def integer(low, high):
    def rule(value, path):
        if type(value) is not int or not low <= value <= high:
            raise Bad(path)
    return rule


def a_boolean(value, path):
    if not isinstance(value, bool):
        raise Bad(path)


def data(limit=None, exact=None, start=b""):
    def rule(value, path):
        try:
            raw = base64.b64decode(value, validate=True)
            if base64.b64encode(raw).decode() != value:
                raise Bad(path)
        except (TypeError, ValueError):
            raise Bad(path)
        if limit is not None and len(raw) > limit:
            raise Bad(f"{path} > {limit}")
        if exact is not None and len(raw) > exact:
            raise Bad(f"{path} > {exact}")
        if exact is not None and len(raw) != exact or not raw.startswith(start):
            raise Bad(path)
    return rule


def many(rule, least, most):
    def check(value, path):
        if not isinstance(value, list):
            raise Bad(path)
        if len(value) > most:
            raise Bad(f"{path} > {most}")
        texts = [json.dumps(v) for v in value]
        if len(value) < least or len(set(texts)) < len(value):
            raise Bad(path)
        for v in value:
            try:
                rule(v, path)
            except Bad:
                raise Bad(path)
    return check


def members(**rules):
    """An object. A name that ends in _ is optional."""
    def check(value, path):
        if not isinstance(value, dict):
            raise Bad(path)
        for name, rule in rules.items():
            key = name.rstrip("_")
            inner = f"{path}.{key}" if path else key
            if key in value:
                rule(value[key], inner)
            elif not name.endswith("_"):
                raise Bad(inner)
    return check


def anything(value, path):
    pass


def an_object(value, path):
    if not isinstance(value, dict):
        raise Bad(path)


def a_file_name(value, path):
    if (not isinstance(value, str) or not 1 <= len(value.encode()) <= 255 or not plain(value)
            or value in (".", "..") or "/" in value or "\\" in value):
        raise Bad(path)


def bytes_32(value, path):
    try:
        data(exact=32)(value, path)
    except Bad:
        raise Bad(path)


def a_blob(value, path):
    members(
        key=bytes_32, digest=bytes_32, size=integer(1, 104_883_216),
        relay_=text(1024, line=True), id_=bytes_32)(value, path)
    if "relay" in value and "id" not in value:
        raise Bad(path + ".id")


def an_emoji(value, path):
    text(64)(value, path)
    if value and value not in allowed_emoji:
        raise Bad(path)


def a_candidate(value, path):
    if not isinstance(value, (str, dict)) or len(compact(value)) > 1024:
        raise Bad(path)


def an_edit(value, path):
    an_object(value, path)
    check(value, path)
    if value["type"] in tables and value["type"] not in ("text", "data", "file"):
        raise Bad(f"not content: {value['type']}")


time, uuid, session = matching(TIME), matching(UUID), matching(ID)
picture = data(8192, start=b"\xff\xd8\xff")
target = members(id=uuid, **{"from": session})
content = dict(
    reply_=members(id=uuid, text_=text(4096), **{"from": session}),
    mentions_=many(session, 0, 256),
    forwarded_=members(from_=session, time_=time),
    expires_=members(after=integer(1, YEAR), **{"from": one_of("sent", "read")}))
tables = dict(
    text=members(text=text(), **content),
    data=members(data=data(), **content),
    file=members(
        name=a_file_name, contentType=text(100, line=True), size=integer(0, 2**53 - 1),
        key_=data(exact=32), blob_=a_blob, width_=integer(1, 65535), height_=integer(1, 65535),
        duration_=integer(0, YEAR), voice_=a_boolean, thumbnail_=picture, text_=text(), **content),
    reaction=members(target=target, emoji=an_emoji),
    edit=members(target=target, body=an_edit),
    delete=members(target=target),
    pin=members(target=target, until_=time),
    unpin=members(target=target),
    receipt=members(
        status=one_of("delivered", "read"), ids=many(uuid, 1, 256), time=time,
        group_=matching(GROUP)),
    timer=members(seconds=integer(0, YEAR)),
    typing=members(state=one_of("started", "stopped"), group_=text(128, line=True)),
    presence=members(state=one_of("online", "offline"), group_=text(128, line=True)),
    profile=members(
        name_=text(128, line=True), about_=text(1024), avatar_=picture,
        phone_=text(256, line=True), location_=text(256, line=True), issued=time),
    call=members(
        call=uuid, kind=one_of("offer", "answer", "candidates", "hangup", "busy"),
        media_=one_of("audio", "video"), sdp_=text(16384),
        candidates_=many(a_candidate, 0, 64),
        reason_=one_of("accepted", "declined", "busy", "timeout", "failed")),
    group=an_object, devices=an_object, sync=an_object)


def check(body, path=""):
    inner = f"{path}.type" if path else "type"
    if not isinstance(body.get("type"), str):
        raise Bad(inner)
    kind = body["type"]
    if kind == "system":
        raise Bad("system")
    tables.get(kind, anything)(body, path)
    prefix = f"{path}." if path else ""
    if kind == "file" and "key" not in body and "blob" not in body:
        raise Bad(prefix + "key")
    if kind == "call" and body["kind"] in ("offer", "answer") and "sdp" not in body:
        raise Bad(prefix + "sdp")
    if kind == "call" and body["kind"] == "candidates" and not body.get("candidates"):
        raise Bad(prefix + "candidates")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def b64(raw):
    return base64.b64encode(raw).decode()


def an_id(n):
    return f"00000000-0000-4000-8000-{n:012x}"


alice, bob = "05" + "0a" * 32, "05" + "b0" * 32
hers = {"id": an_id(1), "from": alice}
jpeg = b"\xff\xd8\xff\xe0" + bytes(96)
when = "2026-11-22T09:30:00Z"
extras = {
    "reply": {**hers, "text": "shall we?"}, "mentions": [alice, bob],
    "forwarded": {"from": bob, "time": when}, "expires": {"after": 604800, "from": "read"}}
bodies = [
    {"type": "text", "text": ""},
    {"type": "text", "text": "hello\n\u202eworld\u0000", **extras},
    {"type": "data", "data": b64(bytes(range(256))), "reply": hers},
    {"type": "file", "name": "sunset over Ōsaka.jpg", "contentType": "image/jpeg", "size": 2048,
     "key": b64(bytes(32)), "width": 4032, "height": 3024, "thumbnail": b64(jpeg),
     "text": "look", "expires": {"after": 1, "from": "sent"}},
    {"type": "file", "name": "a", "contentType": "audio/ogg", "size": 0, "duration": 12,
     "voice": True,
     "blob": {
         "relay": "tls://relay.example", "id": b64(bytes(32)), "key": b64(bytes(range(32))),
         "digest": b64(bytes(32)), "size": 4128}},
    {"type": "file", "name": "b", "contentType": "a/b", "size": 1, "text": "see the mail",
     "blob": {"key": b64(bytes(32)), "digest": b64(bytes(32)), "size": 104_883_216}},
    {"type": "reaction", "target": hers, "emoji": "👍"},
    {"type": "reaction", "target": hers, "emoji": ""},
    {"type": "edit", "target": hers, "body": {"type": "text", "text": "hello, world"}},
    {"type": "edit", "target": hers, "body": {"type": "poll", "question": "when?"}},
    {"type": "delete", "target": hers},
    {"type": "pin", "target": hers, "until": when},
    {"type": "pin", "target": hers},
    {"type": "unpin", "target": hers},
    {"type": "receipt", "status": "read", "ids": [an_id(1), an_id(2)], "time": when},
    {"type": "receipt", "status": "delivered", "ids": [an_id(1)], "time": when, "group": "9f" * 32},
    {"type": "timer", "seconds": 604800},
    {"type": "typing", "state": "started", "group": "friends"},
    {"type": "presence", "state": "online"},
    {"type": "profile", "name": "Alice", "about": "line one\nline two", "avatar": b64(jpeg),
     "phone": "+420 123 456 789", "location": "Brno", "issued": when},
    {"type": "profile", "issued": when},
    {"type": "call", "call": an_id(3), "kind": "offer", "media": "video", "sdp": "v=0\r\n"},
    {"type": "call", "call": an_id(3), "kind": "candidates",
     "candidates": ["candidate:1 1 UDP 1 192.0.2.1 9 typ host",
                    {"candidate": "x", "sdpMLineIndex": 0}]},
    {"type": "call", "call": an_id(3), "kind": "hangup", "reason": "declined"},
    {"type": "group", "changes": []},
    {"type": "devices", "seq": 1},
    {"type": "sync", "kind": "read"},
    {"type": "poll", "question": "when?", "reply": 7},
]
# Values that replace a member in turn, wherever it is.
general = [None, True, 0, -1, 1.5, "", "x", [], {}, [1], ["x"], "x" * 129, "\u0007", "a\u202eb"]
special = {
    "type": ["system", "unheard-of", "Text", "reaction"],
    "id": [an_id(9).upper()[:35] + "A", "0" * 36, an_id(1) + "0"],
    "from": ["15" + "0a" * 32, "05" + "0a" * 31, "05" + "0a" * 33, "sent"],
    "time": ["2026-11-22", "2026-13-01T00:00:00Z", "2026-11-22T09:30:00+25:00",
             "2026-11-22T24:00:00Z"],
    "text": ["é" * 2048, "é" * 2048 + "x"],
    "mentions": [[alice] * 2, ["05" + f"{n:064x}" for n in range(256)],
                 ["05" + f"{n:064x}" for n in range(257)]],
    "after": [1, YEAR, YEAR + 1],
    "seconds": [YEAR, YEAR + 1],
    "name": [".", "..", "...", "a/b", "a\\b", "../x", "x" * 255, "x" * 256, "ü" * 128, "\u2028"],
    "contentType": ["x" * 100, "x" * 101],
    "size": [2**53 - 1, 2**53],
    "width": [1, 65535, 65536], "height": [65536], "duration": [YEAR, YEAR + 1],
    "key": [b64(bytes(31)), b64(bytes(33)), b64(bytes(32))[:-1]],
    "data": ["AA=A", "QQ", "QR==", "QQ==\n"],
    "thumbnail": [b64(jpeg + bytes(8092)), b64(jpeg + bytes(8093)), b64(b"\x89PNG")],
    "avatar": [b64(jpeg + bytes(8092)), b64(jpeg + bytes(8093))],
    "emoji": ["👍👍", "👍 ", "1", "#", "é", "☆", "\ufe0f", "\u200d", "👍\u200d", "\u200d👍", "🇨", "🇨🇿🇨🇿",
              "🏴\U000e0067\U000e0062", ":+1:", "👍\u202e", "👩" + "\u200d👩" * 9, "©", "1\ufe0f\u20e3"],
    "ids": [[an_id(n) for n in range(256)], [an_id(n) for n in range(257)], [an_id(1)] * 2],
    "about": ["x" * 1024, "x" * 1025],
    "phone": ["x" * 256, "x" * 257],
    "sdp": ["x" * 16384, "x" * 16385],
    "candidates": [[str(n) for n in range(64)], [str(n) for n in range(65)], ["x" * 1022],
                   ["x" * 1023]],
    "body": [{"type": t, "target": hers, "emoji": "👍", "text": "x"} for t in
             ("edit", "reaction", "delete", "pin", "unpin", "group", "sync", "system", "text")],
    "group": ["9F" * 32, "9f" * 31, "9f" * 33],
    "state": ["started", "stopped", "online", "offline", "away"],
}


def places(value, path=()):
    for name, inner in value.items():
        yield path + (name,)
        if isinstance(inner, dict):
            yield from places(inner, path + (name,))


def changed(body, path, value, remove=False):
    body = copy.deepcopy(body)
    inside = body
    for name in path[:-1]:
        inside = inside[name]
    if remove:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return body


cases, seen = [], set()


def add(body):
    line = compact(body).decode()
    if line in seen:
        return
    seen.add(line)
    try:
        check(body)
        cases.append({"body": line})
    except Bad as error:
        cases.append({"body": line, "error": str(error)})


for body in bodies:
    add(body)
    add({**body, "x-unknown": {"kept": [1, None]}})
    for path in places(body):
        add(changed(body, path, None, remove=True))
        for value in general + special.get(path[-1], []):
            add(changed(body, path, value))
for sequence in emoji[::25]:
    add({"type": "reaction", "target": hers, "emoji": sequence})

meta = {"see": "sotto-formats(5), BODIES", "made_by": "bodies.py, CPython",
        "error": "the member, or the member > its limit, or the type that is refused",
        "emoji": "every sequence of Unicode's emoji-test.txt"}
with open(__file__.replace(".py", ".json"), "w", encoding="utf-8") as out:
    out.write('{\n "_meta": ' + json.dumps(meta) + ',\n "cases": [\n  ')
    out.write(",\n  ".join(json.dumps(c, ensure_ascii=False) for c in cases))
    out.write('\n ],\n "emoji": ' + json.dumps(" ".join(emoji), ensure_ascii=False) + "\n}\n")
