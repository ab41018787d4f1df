#!/usr/bin/env python3
"""Twenty members of a group act at random over two relays, while mail is lost, repeated and reordered and programs are killed.

usage: group_simulation.py [options] PROGRAMS

PROGRAMS is the directory of the built programs. Every member has a home of their own and is served by one of two relays.
The pipes between the programs go through lists of the simulation: it loses 10 % of the envelopes that `recv` prints,
repeats 5 %, and changes their order. A `kill -9` ends 5 % of the runs; the action is then repeated, as a user would do it.
A clock, which fault_shim.c gives to all programs, moves on with every action. Only dynamically linked programs, such as
those of a debug build, see it.

Some removed members run a modified client: they keep all that they receive and try to open it at the end.

At the end all members talk without loss. Then a judge, which wrote down for each message who might read it, compares:
  - all honest members have the same changes, state and participants
  - a message is in the history of those who may read it, once, with its author, and in nobody else's
  - a removed member opened no message of an author who had the removal
  - a chain of keys never went to a person who may not read a later message of the chain
  - deletions, edits and reactions agree
  - every exit status is a documented one
The last lines are the summary as JSON. The exit status is 0 only if all of this holds. A message whose envelope was lost,
or the envelope with its chain, counts as lost. With --require-recovery, members ask for lost keys at the end, and a lost
message between two members is an error, if its reader was a member all the time since then.
"""
import argparse, collections, json, os, pathlib, random, shutil, signal, socket, subprocess, sys, tempfile, time
from group_rules import RANKS, Change, Fold

LIMIT = 600  # seconds until a command counts as hung
STEP = 10  # seconds by which the clock moves with an action
HOUR = 3600
# Exit statuses that the manual pages give for what the simulation does.
# decrypt ends with 11 if a message came before the head of its chain, which was lost or is late: it waits in the inbox.
STATUSES = {
    "group": {0, 1, 12, 64, 66, 75}, "encrypt": {0, 1, 12, 15, 75}, "decrypt": {0, 1, 11, 12, 13, 15, 75},
    "send": {0, 75}, "recv": {0, 1}, "compose": {0, 64, 66, 77}, "history": {0, 1}, "keygen": {0}, "contact": {0},
}
# Kinds of actions and their weights.
WEIGHTS = {
    "read": 30, "write": 24, "reply": 3, "react": 4, "edit": 3, "delete": 3, "sync": 10, "flush": 6, "invite": 5,
    "accept": 5, "decline": 0.7, "leave": 0.5, "remove": 1.5, "ban": 0.3, "role": 2, "rename": 1, "policy": 0.7,
    "nickname": 1,
}
EMOJI = ["👍", "❤️", "😂", "😮"]


class Member:
    """A person with a home, and the mail between the programs of this home."""

    def __init__(self, name, relay):
        self.name, self.relay = name, relay
        self.id = self.card = None
        self.contacts = []
        self.outgoing = []  # lines that `send` did not get yet
        self.incoming = []  # lines that `decrypt` did not get yet
        self.seen = set()  # ids of envelopes that `recv` printed
        # What `decrypt` printed, with the numbers of changes before and after the run.
        self.opened = {}  # label of a message -> (id, author, numbers)
        self.refused = {}  # id of an envelope that was refused with status 12 -> numbers
        self.stored = 0  # the number of changes that the member has
        self.is_modified = False
        self.has_left = False
        self.entered = 0  # the number of messages when the member last joined
        self.entries = []  # the numbers of messages when the member joined
        self.was_told = True  # false if a kill took the records of `leave`
        self.lost_keys = False  # whether a kill took envelopes since the last message


class Message:
    """A message that a member encrypted, and who may read it."""

    def __init__(self, label, author, kind, readers, invited, stored):
        self.label, self.author, self.kind, self.readers, self.stored = label, author, kind, readers, stored
        self.invited = invited  # names of the people who were invited then, as far as the author knew
        self.number = int(label.split()[0])
        self.target = None  # the label of the message that an edit, a deletion or a reaction changes
        self.needs_pin = False  # whether it deletes the message of another member
        self.omitted = set()  # names of readers without a copy
        self.copies = {}  # name of the reader -> id of the envelope
        self.chain = {}  # name of the reader -> ids of the envelopes that can have the chain
        self.tags = {}  # name of the reader -> tag


class Simulation:
    def __init__(self, arguments):
        self.options = arguments
        self.programs = pathlib.Path(arguments.programs).resolve()
        self.random = random.Random(arguments.seed)
        parent = arguments.directory or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sotto-group-", dir=parent))
        self.shim = self.home / "shim.so"
        source = pathlib.Path(__file__).parent / "relay-faults/shim/fault_shim.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self.shim, source, "-ldl"], check=True)
        self.clock, self.calm = 0, True
        self.relays = [Relay(self, number) for number in range(2)]
        names = [f"m{number:02}" for number in range(arguments.members)]
        self.members = {name: Member(name, self.relays[place % 2]) for place, name in enumerate(names)}
        self.owner = self.members[names[0]]
        self.counts = collections.Counter()
        self.actions = collections.Counter()
        self.statuses = collections.Counter()
        self.refusals = collections.Counter()
        self.spent, self.usual = collections.Counter(), {}
        self.problems = []
        self.fates = {}  # id of an envelope -> made, sent, waiting, dropped, tried
        self.messages = {}  # label -> Message
        self.chains = {}  # (author, reader, tag) -> ids of the envelopes before the first copy with this tag
        self.unprinted = []  # (author, body) of messages that a kill took before they were printed
        self.number = 0
        self.ranks = {}  # name -> rank, as the last author saw them
        self.invited = set()

    # Running programs

    def environment(self, member=None):
        variables = {
            "PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.home), "SWIFT_BACKTRACE": "enable=no",
            "LD_PRELOAD": str(self.shim), "FAULT_CLOCK": str(self.home / "clock"),
        }
        if member:
            variables |= {
                "SOTTO_HOME": str(self.home / member.name), "SOTTO_IDENTITY": str(self.home / f"{member.name}.key"),
                "SOTTO_RELAY": member.relay.url,
            }
        return variables

    def advance(self, seconds):
        self.clock += seconds
        (self.home / "clock").write_text(str(self.clock))

    def run(self, member, program, *words, input=""):
        """Runs a program, and perhaps kills it. Returns its exit status, `None` if it was killed, and its output."""
        begin = time.monotonic()
        usual = self.usual.get((program, words[:1]), 0.1)
        delay = None
        if not self.calm and self.random.random() < self.options.kill:
            delay = self.random.uniform(0, usual)
        process = subprocess.Popen(
            [program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment(member), cwd=self.home, start_new_session=True)
        try:
            output, errors = process.communicate(input.encode(), delay or LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
        spent = time.monotonic() - begin
        self.spent[program] += spent
        self.counts["runs"] += 1
        status = process.returncode
        if status == -signal.SIGKILL and delay is not None:
            self.counts["kills"] += 1
            return None, output.decode(errors="replace")
        self.usual[(program, words[:1])] = usual * 0.8 + spent * 0.2
        self.check(member, program, words, status, errors.decode(errors="replace"))
        return status, output.decode()

    def check(self, member, program, words, status, errors):
        self.statuses[f"{program} {status}"] += 1
        if self.options.trace:
            print(f"{member.name}: {program} {' '.join(words)[:120]}: {status} {errors.strip()[:300]}", file=sys.stderr)
        if status not in STATUSES[program] or "Fatal error" in errors or "Traceback" in errors:
            self.problem(f"{member.name}: {program} {' '.join(words)[:120]}: status {status}: {errors.strip()[-400:]}")

    def must(self, member, program, *words, input=""):
        """Runs a program until it is not killed. Returns its output."""
        status = None
        while status is None:
            status, output = self.run(member, program, *words, input=input)
        return output

    def problem(self, text):
        self.problems.append(text)
        print(f"group_simulation: {text}", file=sys.stderr, flush=True)

    # The beginning

    def prepare(self):
        self.advance(0)
        for relay in self.relays:
            relay.start()
        for member in self.members.values():
            key = f"{member.name}.key"
            self.must(member, "keygen", "-q", "--name", member.name, "--relay", member.relay.url, "-o", key)
            card = self.must(member, "keygen", "public", key)
            (self.home / f"{member.name}.card").write_text(card)
            member.id = json.loads(card)["id"]
        self.by_id = {member.id: member for member in self.members.values()}
        for member in self.members.values():
            self.introduce(member)
        for member in self.members.values():
            self.must(member, "send", "-q", input=self.must(member, "keygen", "prekeys"))
        self.create()

    def introduce(self, member):
        """Adds contacts: the owner and some others. The owner knows everybody."""
        others = [other for other in self.members.values() if other is not member]
        if member is not self.owner:
            some = self.random.sample(others, min(self.options.contacts, len(others)))
            others = list({self.owner.name: self.owner, **{other.name: other for other in some}}.values())
        for other in others:
            self.must(member, "contact", "add", "-q", f"{other.name}.card")
        member.contacts = others

    def create(self):
        """The owner creates the group, and all others join it, without loss."""
        others = [member for member in self.members.values() if member is not self.owner]
        self.receive_all()
        made = self.must(self.owner, "group", "create", "-q", "climbing", *(other.id for other in others))
        self.group = json.loads(self.must(self.owner, "group", "list", "--json").splitlines()[0])["id"]
        self.post(self.owner, made)
        self.flush(self.owner)
        addresses = ",".join(sorted(relay.url for relay in self.relays))
        self.demand(self.owner, "policy", self.group, f"relays={addresses}")
        for member in others:
            self.read(member)
            self.demand(member, "accept", self.group, "--nickname", f"nick of {member.name}")
        for number, rank in enumerate(["admin", "admin", "moderator", "moderator", "moderator"][: len(others) // 2]):
            self.read(self.owner)
            self.demand(self.owner, "role", self.group, others[number].id, rank)
        for _ in range(3):
            self.round()

    # Mail

    def post(self, member, records):
        """Encrypts records and gives the envelopes to the outgoing mail. A user repeats a killed command."""
        if not records.strip():
            return
        path = self.home / f"{member.name}.out"
        path.unlink(missing_ok=True)
        while True:
            status, _ = self.run(member, "encrypt", "-q", "-o", path.name, input=records)
            if path.exists() or status is not None:
                break
            member.lost_keys = True
        if path.exists():
            self.enqueue(member, path.read_text().splitlines())

    def enqueue(self, member, lines):
        """Adds the lines of `encrypt` to the outgoing mail. Returns the envelopes as records."""
        records = [json.loads(line) for line in lines]
        for record in records:
            if record["type"] == "envelope":
                self.fates[record["id"]] = "made"
                self.counts["envelopes"] += 1
            elif record["type"] == "blob":
                self.counts["files"] += 1
            elif record["type"] == "error":
                self.refusals[f"encrypt {record['status']} {record['message']}"] += 1
        member.outgoing += [line for line, record in zip(lines, records) if record["type"] in ("envelope", "blob")]
        return [record for record in records if record["type"] == "envelope"]

    def flush(self, member):
        """Sends the outgoing mail in another order."""
        lines = member.outgoing
        if not lines:
            return
        if not self.calm:
            self.random.shuffle(lines)
        printed = self.must(member, "send", "-q", input="\n".join(lines) + "\n")
        outcomes = {record["id"]: record["status"] for record in map(json.loads, printed.splitlines())}
        for line in lines:
            id = json.loads(line)["id"]
            self.fates[id] = "sent"
            if outcomes.get(id) not in ("stored", "duplicate"):
                self.problem(f"send: the outcome of {id} is {outcomes.get(id)}")
        member.outgoing = []

    def receive(self, member):
        """Receives, and loses and repeats envelopes."""
        status, lines = None, []
        was_killed = False
        while status is None:
            status, output = self.run(member, "recv", "-q")
            if status is None:
                was_killed = True
                lines += complete(output)
            else:
                lines += output.splitlines()
        if was_killed:
            lines += self.must(member, "recv", "-q", "--again").splitlines()
        for line in lines:
            id = json.loads(line)["id"]
            if id in member.seen:
                continue
            member.seen.add(id)
            self.fates[id] = "waiting"
            if not self.calm and not member.is_modified and self.random.random() < self.options.loss:
                self.fates[id] = "dropped"
                self.counts["dropped"] += 1
                continue
            member.incoming.append(line)
            if not self.calm and self.random.random() < self.options.repeat:
                self.counts["repeated"] += 1
                member.incoming.append(line)

    def read(self, member):
        """Receives and opens mail in another order; some waits until later."""
        self.receive(member)
        lines = member.incoming
        if not self.calm:
            self.random.shuffle(lines)
        count = len(lines) if self.calm or self.random.random() < 0.6 else self.random.randint(0, len(lines))
        member.incoming = lines[count:]
        self.open(member, lines[:count])

    def open(self, member, lines):
        if not lines:
            return
        printed, before = [], member.stored
        status = None
        while status is None:
            status, output = self.run(member, "decrypt", "-q", input="\n".join(lines) + "\n")
            printed += complete(output)
        for id in {json.loads(line)["id"] for line in lines}:
            self.fates[id] = "tried again" if self.fates[id].startswith("tried") else "tried"
        numbers = before, self.count_changes(member)
        for line in printed:
            self.note(member, json.loads(line), numbers)

    def count_changes(self, member):
        """Asks a member for the number of changes in the log, which keeps the order of storing."""
        output = self.must(member, "group", "show", self.group)
        member.stored = json.loads(output)["changes"] if output else 0
        return member.stored

    def note(self, member, record, numbers):
        """Writes down what `decrypt` printed."""
        if record["type"] == "error":
            self.counts[f"refused {record['status']}"] += 1
            self.refusals[f"decrypt {record['status']} {record['message']}"] += 1
            id = record.get("id")
            if id in self.fates:
                self.fates[id] += f", status {record['status']}"
            if record["status"] != 12:
                self.counts[f"status {record['status']}: {self.fates.get(id)}"] += 1
            if record["status"] == 12:
                member.refused.setdefault(record.get("id"), numbers)
            return
        if record.get("details", {}).get("state") == "different":
            self.problem(f"{member.name}: the state differs in {record['id']}")
        label = record.get("sim")
        if label is not None:
            member.opened.setdefault(label, (record["id"], record["from"], numbers))
        for event in record["body"].get("events", []):
            if event["event"] == "invited":
                self.invited.add(member.name)

    def receive_all(self):
        for member in self.members.values():
            self.receive(member)

    def sync(self, member):
        keys = ["--keys"] if self.calm and self.options.require_recovery else []
        self.post(member, self.must(member, "group", "sync", "-q", *keys, self.group))

    # Changes and messages

    def change(self, member, command, *words):
        """Runs a command of `group` and posts its records. Returns its exit status."""
        status = None
        while status is None:
            status, output = self.run(member, "group", command, "-q", *words)
            if status is None and command == "leave":
                member.was_told = False
            if status == 75 and command != "accept":
                self.receive(member)
                status = None
        if status == 0 or status == 75:
            self.post(member, output)
        self.counts[f"changes {'made' if status == 0 else 'refused'}"] += 1
        return status

    def demand(self, member, command, *words):
        """Makes a change that must succeed, and sends its records."""
        if self.change(member, command, *words) != 0:
            self.problem(f"{member.name}: group {command} is refused")
        self.flush(member)

    def participants(self, member):
        """Returns the records of the members, without invited people, as a member sees them; `None` if the member knows no such group."""
        output = self.must(member, "group", "participants", "--json", self.group)
        everybody = list(map(json.loads, output.splitlines()))
        people = [person for person in everybody if "standing" not in person]
        if any(person.get("me") for person in people):
            self.ranks = {self.by_id[person["id"]].name: person["role"] for person in people}
        return people, {self.by_id[person["id"]].name for person in everybody if person.get("standing") == "invited"}

    def write(self, member, kind, body, target=None):
        """Encrypts a message, and writes down who may read it."""
        (people, invited), stored = self.participants(member), self.count_changes(member)
        readers = {self.by_id[person["id"]].name for person in people if not person.get("me") and person["seesMe"]}
        path = self.home / f"{member.name}.out"
        path.unlink(missing_ok=True)
        while True:
            self.number += 1
            label = f"{self.number} of {member.name}"
            if "text" in body:
                body["text"] = label
            record = {"v": 1, "type": "message", "group": self.group, "body": body, "sim": label}
            message = Message(label, member, kind, readers, invited, stored)
            message.target = target
            message.needs_pin = kind == "delete" and self.messages[target].author is not member
            self.messages[label] = message
            status, _ = self.run(member, "encrypt", "-q", "-o", path.name, input=json.dumps(record) + "\n")
            if path.exists() or status is not None:
                break
            # A message that was encrypted and not printed is in the author's history, and a member can ask for it.
            self.unprinted.append((member.id, json.loads(json.dumps(body))))
            member.lost_keys = True
        records = self.enqueue(member, path.read_text().splitlines()) if path.exists() else []
        if not any(record["suite"] == "group" for record in records):
            if status == 0 and readers:
                self.problem(f"{label}: encrypt made no copies")
            del self.messages[label]
            return None
        self.judge_copies(message, records)
        return message

    def judge_copies(self, message, records):
        """Compares the readers of the copies with those who may read the message."""
        before = collections.defaultdict(list)
        for record in records:
            reader = self.by_id[record["to"]].name
            if record["suite"] != "group":
                before[reader].append(record["id"])
                continue
            tag = record["payload"]["tag"]
            key = (message.author.name, reader, tag)
            message.copies[reader], message.tags[reader] = record["id"], tag
            message.chain[reader] = self.chains.setdefault(key, [] if message.author.lost_keys else before[reader])
        message.author.lost_keys = False
        if set(message.copies) - message.readers:
            self.problem(
                f"{message.label}: copies for {sorted(message.copies)}, but readers are {sorted(message.readers)}")
        message.omitted = message.readers - set(message.copies)
        message.readers -= message.omitted

    # Actions

    def act(self):
        self.advance(STEP)
        honest = [member for member in self.members.values() if not member.is_modified]
        kind = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        member = self.random.choice(honest)
        self.actions[kind] += 1
        getattr(self, f"act_{kind}")(member)
        if self.random.random() < 0.5:
            self.flush(member)

    def act_read(self, member):
        self.read(member)

    def act_sync(self, member):
        self.sync(member)

    def act_flush(self, member):
        self.flush(member)

    def act_write(self, member):
        self.write(member, "text", {"type": "text", "text": ""})

    def known(self, member, own=None):
        """Returns a message that a member has, as its label and target; `None` if there is none."""
        labels = [
            label for label in list(member.opened)[-40:]
            if self.messages[label].kind == "text" and (own is None or own == (self.messages[label].author is member))]
        if own:
            labels = self.own_labels(member)
        if not labels:
            return None
        label = self.random.choice(labels)
        return label, {"id": self.id_of(label), "from": self.messages[label].author.id}

    def own_labels(self, member):
        """Returns the last texts of a member that somebody has opened, so that their ids are known."""
        own = [m.label for m in self.messages.values() if m.author is member and m.kind == "text"]
        return [label for label in own[-20:] if self.id_of(label)]

    def id_of(self, label):
        for reader in self.messages[label].readers:
            if label in self.members[reader].opened:
                return self.members[reader].opened[label][0]
        return None

    def act_reply(self, member):
        known = self.known(member)
        if known:
            self.write(member, "text", {"type": "text", "text": "", "reply": known[1]})

    def act_react(self, member):
        known = self.known(member)
        if known:
            body = {"type": "reaction", "target": known[1], "emoji": self.random.choice(EMOJI + [""])}
            self.write(member, "reaction", body, known[0])

    def act_edit(self, member):
        known = self.known(member, own=True)
        if known:
            body = {"type": "edit", "target": known[1], "body": {"type": "text", "text": f"edited {self.number}"}}
            self.write(member, "edit", body, known[0])

    def act_delete(self, member):
        known = self.known(member, own=self.random.random() < 0.7)
        if known:
            self.write(member, "delete", {"type": "delete", "target": known[1]}, known[0])

    def leader(self, member):
        """Returns a member who may lead, more often than any other."""
        leaders = [
            self.members[name] for name, rank in self.ranks.items()
            if RANKS[rank] >= 3 and not self.members[name].is_modified]
        return self.random.choice(leaders) if leaders and self.random.random() < 0.8 else member

    def other(self, member, inside=True):
        """Returns another honest person who is, or is not, in the group as its last author saw it."""
        people = [
            person for person in self.members.values()
            if person is not member and person is not self.owner and not person.is_modified
            and (person.name in self.ranks) == inside]
        return self.random.choice(people) if people else None

    def act_invite(self, member):
        member = self.leader(member)
        guests = [
            person for person in member.contacts
            if person.name not in self.ranks and not person.is_modified and person is not self.owner]
        if guests:
            guest = self.random.choice(guests)
            rank = ["--reader"] if self.random.random() < 0.15 else []
            self.change(member, "invite", *rank, self.group, guest.id)
            self.flush(member)

    def act_accept(self, member):
        waiting = [name for name in sorted(self.invited) if not self.members[name].is_modified]
        if waiting:
            member = self.members[self.random.choice(waiting)]
        self.read(member)
        status = self.change(member, "accept", self.group, "--nickname", f"nick {self.number} of {member.name}")
        if status == 0:
            member.has_left, member.was_told, member.entered = False, True, self.number
            member.entries.append(self.number)
        if status == 75:  # A part of the invitation is missing, and the inviter is asked for it.
            self.counts["questions for an invitation"] += 1
        else:
            self.invited.discard(member.name)
        self.flush(member)

    def act_decline(self, member):
        if self.change(member, "decline", self.group) == 0:
            self.invited.discard(member.name)

    def act_leave(self, member):
        if member is not self.owner and self.change(member, "leave", self.group) == 0:
            member.has_left = True
            self.flush(member)

    def act_remove(self, member, command="remove"):
        member = self.leader(member)
        target = self.other(member)
        if not target or self.change(member, command, self.group, target.id) != 0:
            return
        self.counts["removals"] += 1
        modified = sum(person.is_modified for person in self.members.values())
        if modified < self.options.modified and self.random.random() < 0.3:
            target.is_modified = True
            self.flush(target)

    def act_ban(self, member):
        self.act_remove(member, "ban")

    def act_role(self, member):
        member = self.leader(member)
        target = self.other(member)
        if target:
            rank = self.random.choice(["reader", "member", "member", "member", "moderator", "moderator", "admin"])
            self.change(member, "role", self.group, target.id, rank)

    def act_rename(self, member):
        self.change(self.leader(member), "rename", self.group, f"name {self.number}")

    def act_policy(self, member):
        key = self.random.choice(["add", "edit", "pin", "post"])
        rank = self.random.choice(["member", "moderator", "admin"] if key != "post" else ["member", "member", "moderator"])
        self.change(self.leader(member), "policy", self.group, f"{key}={rank}")

    def act_nickname(self, member):
        self.change(member, "nickname", self.group, f"nick {self.number} of {member.name}")

    # The end

    def round(self):
        """All honest people send, receive and sync once. Returns whether anything was sent."""
        before = self.counts["envelopes"]
        for member in self.members.values():
            if not member.is_modified:
                self.flush(member)
                self.read(member)
                self.sync(member)
                self.flush(member)
        return self.counts["envelopes"] > before

    def settle(self):
        """Lets all talk without loss until nothing new comes. Everybody's last change and message name what went before."""
        self.calm = True
        for member in self.members.values():
            if member.is_modified:
                self.receive(member)
        self.round()
        self.change(self.owner, "policy", self.group, "post=member")
        for turn in range(self.options.rounds):
            self.advance((1 if turn < 6 else 25) * HOUR)
            if turn in (1, 3):
                for member in self.members.values():
                    if not member.is_modified:
                        self.change(member, "nickname", self.group, f"last {turn} of {member.name}")
                        self.write(member, "text", {"type": "text", "text": ""})
            if not self.round() and turn > 4:
                break
        self.counts["rounds"] = turn + 1

    def attack(self):
        """The modified clients try to open all that they kept: the messages first, then everything, in several orders."""
        for member in self.members.values():
            if not member.is_modified:
                continue
            self.receive(member)
            messages = [line for line in member.incoming if json.loads(line)["suite"] == "group"]
            self.counts["kept by removed members"] += len(member.incoming)
            self.open(member, messages)
            self.open(member, member.incoming)
            self.open(member, messages)

    def main(self):
        begin = time.monotonic()
        self.prepare()
        prepared = time.monotonic()
        self.calm = False
        for number in range(self.options.actions):
            self.act()
            if number % 100 == 99:
                print(f"{number + 1} actions, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        acted = time.monotonic()
        self.settle()
        self.attack()
        settled = time.monotonic()
        judge = Judge(self)
        judge.judge()
        self.seconds = {
            "prepare": round(prepared - begin), "act": round(acted - prepared), "settle": round(settled - acted),
            "judge": round(time.monotonic() - settled)}
        judge.report()
        return judge.is_satisfied


class Judge:
    """Compares what the members have at the end with what the simulation wrote down."""

    def __init__(self, simulation):
        self.simulation = simulation
        self.counts = collections.Counter()
        self.wrong = []
        self.logs, self.folds, self.histories = {}, {}, {}

    @property
    def is_satisfied(self):
        lost = self.counts["lost between members"] if self.simulation.options.require_recovery else 0
        return not self.wrong and not self.simulation.problems and not self.counts["unread"] and not lost

    def error(self, text):
        self.wrong.append(text)
        print(f"group_simulation: wrong: {text}", file=sys.stderr, flush=True)

    def judge(self):
        self.find_members()
        self.read_logs()
        self.compare_states()
        self.read_histories()
        self.compare_messages()
        self.compare_views()
        self.compare_chains()
        self.compare_verdicts()

    def find_members(self):
        """The members are those whom the owner sees, without the people who left and whose records a kill took."""
        owner = self.simulation.owner
        people, _ = self.simulation.participants(owner)
        self.members = [self.simulation.by_id[person["id"]] for person in people]
        self.members = [member for member in self.members if member.was_told and not member.is_modified]

    def read_logs(self):
        """Reads the changes of everybody, in the order in which they were stored."""
        changes = {}
        for member in self.simulation.members.values():
            lines = self.simulation.must(member, "group", "log", self.simulation.group).splitlines()
            for line in lines:
                if line not in changes:
                    changes[line] = Change(line)
            self.logs[member.name] = [changes[line] for line in lines]

    def compare_states(self):
        simulation, states = self.simulation, collections.defaultdict(list)
        for member in self.members:
            shown = json.loads(simulation.must(member, "group", "show", simulation.group))
            people = frozenset(
                (person["id"], person["role"], person.get("nickname"))
                for person in simulation.participants(member)[0])
            heads = frozenset(Fold(self.logs[member.name]).heads())
            states[shown["state"], heads, people].append(member.name)
            if shown["standing"] != "member":
                self.error(f"{member.name} is a member for the owner, but shows {shown['standing']}")
        self.counts["states"], self.counts["members"] = len(states), len(self.members)
        self.counts["changes"] = len(self.logs[simulation.owner.name])
        if len(states) > 1:
            self.error(f"the states differ: {[(state, names) for (state, _, _), names in states.items()]}")
        expected = Fold(self.logs[simulation.owner.name]).ranks()
        for (_, _, people), names in states.items():
            if {id: RANKS[role] for id, role, _ in people} != expected:
                self.error(f"the participants of {names} are not those of the rules")

    def read_histories(self):
        """Reads the messages in the history of everybody. A message that its author sent again has no label, but its id."""
        simulation = self.simulation
        found = {}
        for member in simulation.members.values():
            output = simulation.must(member, "history", simulation.group, "--raw", "--limit", "1000000")
            found[member.name] = [json.loads(line) for line in output.splitlines()]
        labels = {record["id"]: record["sim"] for records in found.values() for record in records if "sim" in record}
        labels |= {id: label for member in simulation.members.values() for label, (id, _, _) in member.opened.items()}
        for name, records in found.items():
            self.histories[name] = collections.defaultdict(list)
            for record in records:
                label = labels.get(record.get("id"))
                if label is not None:
                    self.histories[name][label].append(record)
                elif record.get("body", {}).get("type") not in ("group", "system", None) \
                        and (record.get("from"), record.get("body")) not in simulation.unprinted:
                    self.error(f"{name} has a message that nobody wrote: {record}")

    def compare_messages(self):
        self.deleted = {message.target for message in self.simulation.messages.values() if message.kind == "delete"}
        for message in self.simulation.messages.values():
            if not message.copies:
                continue
            self.counts["messages"] += 1
            self.compare_omitted(message)
            for member in self.simulation.members.values():
                if member is not message.author:
                    self.compare_copy(message, member)

    def compare_omitted(self, message):
        """A reader without a copy is one whose removal waited at the author, for a change that the author lacked.

        The removal is by another member than the author."""
        log = self.logs[message.author.name]
        known = {change.id for change in log[:message.stored]}
        for name in message.omitted:
            self.counts["omitted"] += 1
            id = self.simulation.members[name].id
            waited = any(
                change.act in ("remove", "ban", "leave", "role") and (id in change.who or change.by == id)
                and change.by != message.author.id and not known.issuperset(change.parents)
                for change in log[message.stored:])
            if not waited:
                self.error(f"{message.label} has no copy for {name}, and no removal explains it")

    def compare_copy(self, message, member):
        records = self.histories[member.name].get(message.label, [])
        has = bool(records) or message.label in member.opened
        if len(records) > 1:
            self.counts["twice"] += 1
            self.error(f"{member.name} has {message.label} {len(records)} times")
        for record in records:
            text = record.get("body", {}).get("text", message.label)
            if record["from"] != message.author.id or message.kind == "text" and text != message.label:
                self.error(f"{member.name} has {message.label} with another author or text")
        if member.name not in message.readers:
            # An author who knew of an invitation sends the message when the entry arrives, if that is earlier. The last messages
            # before the entry can be in its second.
            may_be_late = member.name in message.invited and any(number <= message.number + 3 for number in member.entries)
            if has and not may_be_late:
                self.counts["opened by others"] += 1
                self.error(f"{member.name} opened {message.label}, and may not read it")
            return
        self.counts["copies"] += 1
        outcome = self.outcome(message, member, has)
        self.counts[outcome] += 1
        if outcome.startswith("lost") and member in self.members and message.author in self.members:
            self.note_loss(message, member, outcome)

    def note_loss(self, message, member, outcome):
        """Counts a lost message between two members. A reader who came back meanwhile may not ask for it."""
        if member.entered > message.number:
            self.counts["lost before the reader came back"] += 1
        elif message.author.entered > message.number:
            self.counts["lost before the author came back"] += 1
        elif self.was_removed(member, message) or self.was_removed(message.author, message):
            self.counts["lost before a removal without effect"] += 1
        else:
            self.counts["lost between members"] += 1
            if self.simulation.options.require_recovery:
                print(f"group_simulation: {member.name} has not {message.label} ({message.kind}): {outcome}", file=sys.stderr)

    def was_removed(self, member, message):
        """Whether the author learned of a removal of a member after a message, which others took back."""
        later = self.logs[message.author.name][message.stored:]
        return any(change.act in ("remove", "ban") and member.id in change.who for change in later)

    def outcome(self, message, member, has):
        """Names what became of a copy. A copy that nothing explains is an error."""
        fates = self.simulation.fates
        if has:
            return "read"
        if message.copies[member.name] in member.refused:
            return "refused"
        if message.label in self.deleted or message.target in self.deleted:
            return "deleted"
        if fates[message.copies[member.name]] == "dropped":
            return "lost"
        if not message.chain[member.name] or any(fates[id] == "dropped" for id in message.chain[member.name]):
            return "lost with the chain"
        if member not in self.members:
            return "unread by former members"
        known = {change.id for change in self.logs[member.name]}
        if message.author not in self.members and not known.issuperset(self.heads_of(message.author, message.stored)):
            return "held for changes of former members"
        chain = [fates[id] for id in message.chain[member.name]]
        self.error(f"{member.name} has not {message.label}: {fates[message.copies[member.name]]}, chain {chain}")
        return "unread"

    def compare_views(self):
        """Members who have a message and all that changes it must see it alike."""
        simulation = self.simulation
        events = collections.defaultdict(list)
        for message in simulation.messages.values():
            if message.target and message.copies:
                events[message.target].append(message)
        views = {}
        for member in self.members:
            output = simulation.must(member, "history", simulation.group, "--limit", "1000000")
            views[member.name] = {record.get("id"): record for record in map(json.loads, output.splitlines())}
        for label, changes in events.items():
            id = simulation.id_of(label)
            seen = collections.defaultdict(list)
            for member in self.members:
                if all(self.has(member, message) for message in [simulation.messages[label], *changes]):
                    seen[self.view(views[member.name].get(id))].append(member.name)
            self.counts["views"] += sum(map(len, seen.values()))
            if len(seen) > 1:
                self.error(f"the views of {label} differ: {dict(seen)}")

    def has(self, member, message):
        return member is message.author or message.label in member.opened \
            or message.label in self.histories[member.name]

    @staticmethod
    def view(record):
        """Returns what a member sees of a message. A message that its author deleted has no id in the history."""
        if record is None or record.get("deleted"):
            return "deleted"
        reactions = sorted((reaction["from"], reaction["emoji"]) for reaction in record.get("reactions", []))
        return record["body"].get("text"), tuple(reactions)

    def compare_chains(self):
        """A chain is known by the tag of one reader. Its holders may read all its later messages."""
        holders = {}
        for message in self.simulation.messages.values():
            chains = {(message.author.name, reader, tag) for reader, tag in message.tags.items()}
            known = {id(holders[chain]): holders[chain] for chain in chains if chain in holders}
            if len(known) > 1:
                self.error(f"{message.label} is under several chains")
            chain = next(iter(known.values()), set())
            if chain - message.readers:
                self.counts["leaks"] += 1
                self.error(f"{message.label} is under a chain that {sorted(chain - message.readers)} has")
            chain |= set(message.tags)
            for key in chains:
                holders[key] = chain

    def compare_verdicts(self):
        """Compares who showed and who refused a message with the rules."""
        for message in self.simulation.messages.values():
            opened = [(member, *member.opened[message.label]) for member in self.simulation.members.values()
                      if message.label in member.opened and member is not message.author]
            for member, id, author, numbers in opened:
                self.compare_verdict(message, member, opened[0][1], numbers, True)
                if (id, author) != (opened[0][1], message.author.id):
                    self.error(f"{message.label} has another id or author for {member.name}")
            for reader, envelope in message.copies.items():
                member = self.simulation.members[reader]
                if envelope in member.refused:
                    id = opened[0][1] if opened else None
                    self.compare_verdict(message, member, id, member.refused[envelope], False)

    def compare_verdict(self, message, member, id, numbers, is_shown):
        """The verdict must follow from the changes that the reader had at some time during the run of `decrypt`. If heads of a
        message were missing then, its author has the rank that the reader knew."""
        heads = self.heads_of(message.author, message.stored)
        log = self.logs[member.name]
        if is_shown and self.is_uncontested(log[:numbers[1]], heads):
            self.counts["shown uncontested"] += 1
            return
        for number in [numbers[1], *range(numbers[0], numbers[1])]:
            fold = self.fold_of(member, number)
            is_missing = is_shown and not set(heads) <= {change.id for change in log[:number]}
            named = self.heads_of(member, number) if is_missing else heads
            if fold and fold.permits(message.author.id, named, id, message.needs_pin) == is_shown:
                shown = "shown with missing heads" if is_missing else "shown by the rules"
                self.counts[shown if is_shown else "refused by the rules"] += 1
                return
        self.error(f"{member.name} {'shows' if is_shown else 'refuses'} {message.label} against the rules")

    def fold_of(self, member, number):
        """Returns the rules over the first changes of a member; members with the same changes share it."""
        changes = self.logs[member.name][:number]
        key = frozenset(change.id for change in changes)
        if changes and key not in self.folds:
            self.folds[key] = Fold(changes)
        return self.folds.get(key)

    def heads_of(self, author, number):
        parents = {parent for change in self.logs[author.name][:number] for parent in change.parents}
        return [change.id for change in self.logs[author.name][:number] if change.id not in parents]

    @staticmethod
    def is_uncontested(changes, heads):
        """Whether no change that could forbid a message with these heads is missing in its past."""
        known, past, waiting = {change.id: change for change in changes}, set(), list(heads)
        while waiting:
            id = waiting.pop()
            if id not in past and id in known:
                past.add(id)
                waiting += known[id].parents
        return all(head in past for head in heads) and all(
            change.id in past or change.act in ("invite", "join", "set", "merge") for change in changes)

    def report(self):
        simulation = self.simulation
        report = {
            "seed": simulation.options.seed, "actions": dict(simulation.actions), **simulation.counts,
            "statuses": dict(sorted(simulation.statuses.items())), "refusals": dict(simulation.refusals),
            "judge": {name: self.counts[name] for name in sorted(self.counts)},
            "problems": len(simulation.problems), "wrong": len(self.wrong), "seconds": simulation.seconds,
            "seconds by program": {name: round(spent) for name, spent in simulation.spent.items()},
        }
        print(json.dumps(report, indent=1, ensure_ascii=False))


def complete(output):
    """Returns the complete lines of an output; a kill can cut the last one."""
    return [line for line in output.split("\n")[:-1] if line]


class Relay:
    def __init__(self, simulation, number):
        self.simulation, self.number = simulation, number
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.url = f"tcp://{self.address}"
        self.process = None

    def start(self):
        name = f"relay{self.number}"
        with open(self.simulation.home / f"errors-{name}", "ab") as errors:
            self.process = subprocess.Popen(
                ["relay", "--listen", self.address, "--store", f"{name}.db", "--mailbox-messages", "1000000",
                 "--mailbox-rate", "100000000", "--connection-rate", "100000000", "--surge", "100000000"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd=self.simulation.home,
                env=self.simulation.environment())
        for _ in range(600):
            try:
                socket.create_connection(self.address.split(":"), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"group_simulation: {name} does not start; see {self.simulation.home}")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=5000)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--contacts", type=int, default=6, help="contacts of a member besides the owner; default 6")
    parser.add_argument("--modified", type=int, default=4, help="the most members with a modified client; default 4")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--loss", type=float, default=0.1, help="the share of lost envelopes; default 0.1")
    parser.add_argument("--repeat", type=float, default=0.05, help="the share of repeated envelopes; default 0.05")
    parser.add_argument("--kill", type=float, default=0.05, help="the share of runs with a kill; default 0.05")
    parser.add_argument("--rounds", type=int, default=11, help="the most rounds at the end; default 11")
    parser.add_argument("--directory", help="where the homes are made; default /dev/shm")
    parser.add_argument("--require-recovery", action="store_true", help="a lost message is an error")
    parser.add_argument("--keep", action="store_true", help="keep the homes")
    parser.add_argument("--trace", action="store_true", help="report every run on standard error")
    parser.add_argument("programs")
    options = parser.parse_args()
    print(f"group_simulation: seed {options.seed}", file=sys.stderr)
    simulation = Simulation(options)
    try:
        is_satisfied = simulation.main()
    finally:
        for relay in simulation.relays:
            relay.stop()
    if options.keep or not is_satisfied:
        print(f"group_simulation: kept in {simulation.home}", file=sys.stderr)
    else:
        shutil.rmtree(simulation.home)
    return 0 if is_satisfied else 1


if __name__ == "__main__":
    sys.exit(main())
