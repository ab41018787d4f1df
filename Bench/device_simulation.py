#!/usr/bin/env python3
"""People with one to three devices write to each other and in a group at random, while mail is repeated and reordered and programs
are killed.

usage: device_simulation.py [options] PROGRAMS

PROGRAMS is the directory of the built programs. Every device has a home of its own; two relays serve the people. The devices are
paired with `sotto device request` and `sotto device add`. An action is done on one device: it writes to a person or the group, reads,
marks, deletes, makes a favourite, renames, verifies, tells its other devices and the group, or is off for a long time. A `kill -9`
ends 5 % of the runs, except those of `encrypt`: it would lose messages, of which `history unsent` tells the user. The action is then
repeated, as a user would do it. One device of a person is removed in the middle.

At the end all devices talk until nothing new comes. Then a judge, which wrote down each message, compares:
  - all devices of a person have the same messages, read marks, names, trust, favourites and state of the group
  - each message is in each history once, with its author, unless the person deleted it; nothing is lost
  - the removed device opened no message of a device that knew of the removal, and got no envelope of it
  - every exit status is a documented one
The last lines of a schedule are its summary as JSON. The exit status is 0 only if all of this holds in each schedule.
"""
import argparse, collections, json, random, shutil, subprocess, sys, time
import group_simulation
from group_simulation import HOUR, STEP, Simulation, complete

# Further exit statuses that the manual pages give for what this simulation does.
group_simulation.STATUSES.update({
    "sotto": {0}, "device": {0, 1}, "history": {0, 1, 66}, "contact": {0, 1},
})
# Programs whose runs are not killed.
UNKILLED = {"encrypt", "sotto", "keygen"}
# Kinds of actions and their weights.
WEIGHTS = {
    "read": 32, "write": 18, "say": 12, "mark": 7, "delete": 4, "favourite": 3, "mute": 2, "call": 2, "rename": 3, "verify": 2,
    "title": 2, "sync": 10, "tell": 4, "off": 0.4,
}


class DeviceSimulation(Simulation):
    def __init__(self, arguments, seed):
        arguments.seed, arguments.loss = seed, 0
        counts = [1 + random.Random(f"{seed} {person}").randrange(3) for person in range(arguments.people)]
        # Somebody has a device to remove.
        counts[0] = 3
        arguments.members = sum(counts)
        super().__init__(arguments)
        devices = list(self.members.values())
        self.people = []
        for person, count in enumerate(counts):
            own, devices = devices[:count], devices[count:]
            for number, device in enumerate(own):
                device.person, device.first, device.is_first = person, own[0], number == 0
                device.relay = self.relays[person % 2]
                device.back = 0  # the action at which a device that is off comes back
                device.knows = False  # whether the device knows of the removal
            self.people.append(own)
        self.removed, self.is_silent, self.is_removed = self.people[0][2], False, False
        self.texts = []  # (text, person, other person or `None` for the group, whether it is forbidden)
        self.deleted = collections.defaultdict(set)
        self.wrong = []
        self.group = None

    def run(self, member, program, *words, input=""):
        calm = self.calm
        self.calm = calm or program in UNKILLED
        try:
            return super().run(member, program, *words, input=input)
        finally:
            self.calm = calm

    # The beginning

    def prepare(self):
        self.advance(0)
        (self.home / "pass").write_text("a long passphrase")
        (self.home / "pass").chmod(0o600)
        for relay in self.relays:
            relay.start()
        for own in self.people:
            self.make(own[0])
        for own in self.people:
            for other in self.people:
                if other is not own:
                    self.must(own[0], "contact", "add", "-q", f"{other[0].name}.card")
        for own in self.people:
            for device in own[1:]:
                self.pair(own[0], device)
        for device in self.members.values():
            self.must(device, "send", "-q", input=self.must(device, "keygen", "prekeys"))
        for _ in range(2):
            self.round()
        self.create()

    def make(self, first):
        """Makes an identity, and a copy with a passphrase, which changes lists of devices."""
        key = f"{first.name}.key"
        self.must(first, "keygen", "-q", "--name", first.name, "--relay", first.relay.url, "-o", key)
        card = self.must(first, "keygen", "public", key)
        (self.home / f"{first.name}.card").write_text(card)
        shutil.copy(self.home / key, self.home / f"{first.name}-list.key")
        self.must(first, "keygen", "passwd", "-q", "--passphrase", "@FILE:pass", f"{first.name}-list.key")
        for device in self.people[first.person]:
            device.id = json.loads(card)["id"]

    def signing(self, first):
        return ["-i", f"{first.name}-list.key", "--identity-passphrase", "@FILE:pass"]

    def pair(self, first, device):
        request = subprocess.Popen(
            ["sotto", "device", "request", "--name", device.name, "-o", f"{device.name}.key", "--passphrase", "@FILE:pass",
             "--relay", device.relay.url, "--send"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.home,
            env=self.environment(device))
        code, said = None, ""
        for line in request.stderr:
            said += line
            if line.startswith("  "):
                code = line.split()[0]
            if "Waiting" in line:
                break
        if not code:
            raise SystemExit(f"device_simulation: device request shows no code: {said}")
        self.must(first, "sotto", "device", "add", code, *self.signing(first), "--now", "--send")
        said += request.stderr.read()
        if request.wait(group_simulation.LIMIT) != 0:
            raise SystemExit(f"device_simulation: device request failed: {said}")
        self.must(
            device, "keygen", "passwd", "-q", "--unprotected", "--identity-passphrase", "@FILE:pass", f"{device.name}.key")

    def create(self):
        first = self.people[0][0]
        made = self.must(first, "group", "create", "-q", "team", *(own[0].id for own in self.people[1:]))
        self.group = json.loads(self.must(first, "group", "list", "--json").splitlines()[0])["id"]
        self.post(first, made)
        self.flush(first)
        self.demand(first, "policy", self.group, "relays=" + ",".join(sorted(relay.url for relay in self.relays)))
        for own in self.people[1:]:
            self.read(own[0])
            self.demand(own[0], "accept", self.group)
        for _ in range(4):
            self.round()
        for device in self.members.values():
            shown = json.loads(self.must(device, "group", "show", self.group) or "{}")
            if shown.get("standing") != "member":
                self.problem(f"{device.name} does not have the group: {shown.get('standing')}")

    # Mail

    def seal(self, device, input, *words):
        """Encrypts, and gives the envelopes to the outgoing mail. Returns the mailboxes."""
        status, output = self.run(device, "encrypt", "-q", *words, input=input)
        if status != 0:
            self.problem(f"{device.name}: encrypt {' '.join(words)[:100]}: status {status}")
        return {record["to"] for record in self.enqueue(device, output.splitlines())}

    def post(self, member, records):
        if records.strip():
            self.seal(member, records)

    def open(self, member, lines):
        if not lines:
            return
        printed, status = [], None
        while status is None:
            status, output = self.run(member, "decrypt", "-q", input="\n".join(lines) + "\n")
            printed += complete(output)
        for record in map(json.loads, printed):
            if record["type"] == "error":
                self.refusals[f"decrypt {record['status']} {record['message']}"] += 1
                # 11 waits in the inbox, and 13 is an envelope that came again.
                if record["status"] not in (11, 13) and not (self.is_removed and member is self.removed):
                    self.problem(f"{member.name}: refused: {record}")
            elif record.get("body", {}).get("type") == "devices" and "removed" in record["body"]:
                member.knows = member.knows or self.is_removed

    def sync(self, member):
        self.post(member, self.must(member, "device", "sync", "-q", "--json"))

    def tell(self, member):
        if self.group:
            self.post(member, self.must(member, "group", "sync", "-q", self.group))

    # Actions

    def act(self, number):
        self.advance(STEP)
        if number == self.options.actions * 2 // 5:
            self.silence()
        if number == self.options.actions // 2:
            self.remove()
        devices = [
            device for device in self.members.values()
            if device.back <= number and not (self.is_silent and device is self.removed)]
        kind = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        # Around the removal there is a burst.
        if abs(number - self.options.actions // 2) < 20:
            kind = self.random.choice(["write", "say", "say", "read"])
        if kind == "read" and self.is_silent and self.random.random() < 0.1:
            devices = [self.removed]
        device = self.random.choice(devices)
        self.actions[kind] += 1
        getattr(self, f"act_{kind}")(device, number)
        if self.random.random() < 0.6:
            self.flush(device)

    def silence(self):
        """What the device that is removed later did is known everywhere, and it does nothing more."""
        calm, self.calm = self.calm, True
        for device in self.members.values():
            device.back = 0
        for _ in range(3):
            self.round()
        self.calm, self.is_silent = calm, True

    def remove(self):
        first = self.people[0][0]
        records = self.must(first, "device", "remove", "-q", self.removed.name, *self.signing(first))
        self.is_removed, first.knows = True, True
        self.post(first, records)
        self.tell(first)

    def write_down(self, device, text, other, mailboxes):
        is_forbidden = self.is_removed and device.knows
        if is_forbidden and self.mailbox in mailboxes:
            self.problem(f"{device.name} knows of the removal, and {text} goes to the removed device")
        self.texts.append((text, device.person, other, is_forbidden))

    def label(self, device):
        return f"{len(self.texts)} of {device.name}"

    def other(self, device):
        return self.random.choice([own for own in self.people if own[0].person != device.person])[0]

    def act_read(self, device, number):
        self.read(device)

    def act_write(self, device, number):
        other, text = self.other(device), self.label(device)
        self.write_down(device, text, other.person, self.seal(device, text, "--to", other.id))

    def act_say(self, device, number):
        text = self.label(device)
        self.write_down(device, text, None, self.seal(device, text, "--group", self.group))

    def conversation(self, device):
        return self.group if self.random.random() < 0.4 else self.other(device).id

    def act_mark(self, device, number):
        self.must(device, "history", "read", "-q", self.conversation(device))

    def act_delete(self, device, number):
        output = self.must(device, "history", self.conversation(device), "--raw", "--limit", "50")
        records = [record for record in map(json.loads, output.splitlines()) if text_of(record)]
        if records:
            record = self.random.choice(records)
            self.deleted[device.person].add(text_of(record))
            self.must(device, "history", "delete", "-q", record["id"])

    def act_favourite(self, device, number, command="favourite"):
        off = ["--off"] if self.random.random() < 0.4 else []
        self.must(device, "history", command, "-q", *off, self.conversation(device))

    def act_mute(self, device, number):
        self.act_favourite(device, number, "mute")

    def act_call(self, device, number):
        self.must(device, "history", "rename", "-q", self.conversation(device), f"name {number}")

    def act_rename(self, device, number):
        self.must(device, "contact", "rename", "-q", self.other(device).id, f"friend {number}")

    def act_verify(self, device, number):
        other = self.other(device).id
        shown = json.loads(self.must(device, "contact", "show", "--json", other))
        if shown["trust"] == "verified":
            self.must(device, "contact", "unverify", "-q", other)
        else:
            self.must(device, "contact", "verify", "-q", other, shown["safetyNumber"])

    def act_title(self, device, number):
        if device.person == 0:
            self.change(device, "rename", self.group, f"team {number}")

    def act_sync(self, device, number):
        self.sync(device)

    def act_tell(self, device, number):
        self.tell(device)

    def act_off(self, device, number):
        self.flush(device)
        device.back = number + self.random.randrange(50, 300)
        self.counts["times off"] += 1

    # The end

    def round(self):
        before = self.counts["envelopes"]
        for device in self.members.values():
            self.flush(device)
            self.read(device)
            if not (self.is_removed and device is self.removed):
                self.sync(device)
                self.tell(device)
                self.flush(device)
        return self.counts["envelopes"] > before

    def main(self):
        begin = time.monotonic()
        self.prepare()
        for record in map(json.loads, self.must(self.removed, "device", "list", "--json").splitlines()):
            if record.get("here"):
                self.mailbox = record["id"]
        prepared = time.monotonic()
        self.calm = False
        for number in range(self.options.actions):
            self.act(number)
            if number % 100 == 99:
                print(f"{number + 1} actions, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        acted = time.monotonic()
        self.calm = True
        for turn in range(self.options.rounds):
            self.advance((1 if turn < 6 else 25) * HOUR)
            if not self.round() and turn > 2:
                break
        self.judge()
        self.report(prepared - begin, acted - prepared, time.monotonic() - acted)
        return not self.wrong and not self.problems

    # The judge

    def error(self, text):
        self.wrong.append(text)
        print(f"device_simulation: wrong: {text}", file=sys.stderr, flush=True)

    def judge(self):
        for own in self.people:
            present = [device for device in own if device is not self.removed]
            views = {device.name: self.view(device) for device in present}
            for device in present[1:]:
                for part, value in views[device.name].items():
                    expected = views[present[0].name][part]
                    if value != expected:
                        self.error(f"{part} differs: {present[0].name} {short(expected, value)}, "
                                   f"{device.name} {short(value, expected)}")
            for device in present:
                self.compare_texts(device)
        self.compare_removed()

    def history(self, device):
        """Returns the texts of all conversations of a device, as (text, author, conversation)."""
        found = []
        for conversation in [self.group, *(own[0].id for own in self.people if own[0].person != device.person)]:
            output = self.must(device, "history", conversation, "--raw", "--limit", "1000000")
            found += [(text_of(record), record["from"], conversation) for record in map(json.loads, output.splitlines())
                      if text_of(record)]
        return found

    def view(self, device):
        """What a person sees on a device."""
        listed = [json.loads(line) for line in self.must(device, "history", "list", "--json").splitlines()]
        settings = {
            record.get("with") or record.get("group"): [record.get(name) for name in ("favourite", "muted", "name")]
            for record in listed}
        # A change of the group counts as unread, and each device gets its own.
        unread = {
            conversation: sorted(text_of(record) for record in self.unread(device, conversation) if text_of(record))
            for conversation in settings}
        contacts = sorted(
            (record["id"], record["name"], record["trust"])
            for record in map(json.loads, self.must(device, "contact", "list", "--json").splitlines()))
        group = json.loads(self.must(device, "group", "show", self.group))
        return {
            "the history": sorted(self.history(device)), "settings": settings, "unread": unread, "contacts": contacts,
            "the group": [group["state"], group.get("name"), group["standing"]],
        }

    def unread(self, device, conversation):
        output = self.must(device, "history", conversation, "--unread", "--json")
        return [json.loads(line) for line in output.splitlines()]

    def compare_texts(self, device):
        expected = collections.Counter()
        for text, person, other, _ in self.texts:
            if other is None or device.person in (person, other):
                expected[text] += 1
        for text in self.deleted[device.person]:
            expected.pop(text, None)
        authors = {text: self.people[person][0].id for text, person, _, _ in self.texts}
        found = self.history(device)
        counts = collections.Counter(text for text, _, _ in found)
        self.counts["lines"] += len(found)
        for text in expected - counts:
            self.error(f"{device.name} has not {text}")
        for text in counts - expected:
            self.error(f"{device.name} has {text} {counts[text]} times, and not {expected[text]} times")
        for text, author, _ in found:
            if authors.get(text) != author:
                self.error(f"{device.name} has {text} with the author {author}")

    def compare_removed(self):
        """The removed device also tries all that it got, several times in other orders."""
        self.receive(self.removed)
        for _ in range(2):
            self.open(self.removed, self.removed.incoming)
            self.random.shuffle(self.removed.incoming)
        forbidden = {text for text, _, _, is_forbidden in self.texts if is_forbidden}
        self.counts["written with the removal known"] = len(forbidden)
        opened = forbidden & {text for text, _, _ in self.history(self.removed)}
        self.counts["opened by the removed device"] = len(opened)
        for text in sorted(opened):
            self.error(f"the removed device opened {text}")
        if not forbidden:
            self.error("no device heard of the removal")

    def report(self, *seconds):
        print(json.dumps({
            "seed": self.options.seed, "devices": [len(own) for own in self.people], "actions": dict(self.actions),
            **self.counts, "messages": len(self.texts), "deleted": sum(map(len, self.deleted.values())),
            "statuses": dict(sorted(self.statuses.items())), "refusals": dict(self.refusals),
            "problems": len(self.problems), "wrong": len(self.wrong),
            "seconds": dict(zip(("prepare", "act", "settle and judge"), map(round, seconds))),
        }, indent=1, ensure_ascii=False), flush=True)


def text_of(record):
    body = record.get("body") or {}
    return body.get("text") if body.get("type") == "text" else None


def short(value, other):
    """Returns what another value of the same part lacks, cut."""
    items = value.items() if isinstance(value, dict) else value
    others = other.items() if isinstance(other, dict) else other
    return str([item for item in items if item not in others])[:600]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=2000, help="the actions of a schedule; default 2000")
    parser.add_argument("--schedules", type=int, default=20, help="default 20")
    parser.add_argument("--people", type=int, default=3, help="default 3")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the first schedule; the next has the next")
    parser.add_argument("--repeat", type=float, default=0.05, help="the share of repeated envelopes; default 0.05")
    parser.add_argument("--kill", type=float, default=0.05, help="the share of runs with a kill; default 0.05")
    parser.add_argument("--rounds", type=int, default=11, help="the most rounds at the end; default 11")
    parser.add_argument("--directory", help="where the homes are made; default /dev/shm")
    parser.add_argument("--keep", action="store_true", help="keep the homes")
    parser.add_argument("--trace", action="store_true", help="report every run on standard error")
    parser.add_argument("programs")
    options = parser.parse_args()
    failed = []
    for seed in range(options.seed, options.seed + options.schedules):
        print(f"device_simulation: seed {seed}", file=sys.stderr)
        simulation = DeviceSimulation(options, seed)
        try:
            is_satisfied = simulation.main()
        finally:
            for relay in simulation.relays:
                relay.stop()
        if not is_satisfied:
            failed.append(seed)
        if options.keep or not is_satisfied:
            print(f"device_simulation: kept in {simulation.home}", file=sys.stderr)
        else:
            shutil.rmtree(simulation.home)
    print(f"device_simulation: {options.schedules - len(failed)} of {options.schedules} schedules hold"
          + (f"; seeds that do not: {failed}" if failed else ""), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
