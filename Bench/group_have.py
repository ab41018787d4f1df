#!/usr/bin/env python3
"""A model of one rule by which the members of a group converge, and a test of each promise that the rule must keep.

usage: group_have.py [--runs N] [--seed S] [--without REPAIR] ... [--promise PROMISE] ...

The rule: a member says of itself what it has (`have`), and everything that another member owes follows from that. A body
carries `have` when its sender asks, answers, or lacks something. The model has two forms of the rule: `stated`, with the
first wording, and `repaired`. Each difference between them is a repair with a name. --without leaves a repair out, to show
which promise breaks without it.

The last line is the summary as JSON. The exit status is 0 only if the repaired rule keeps all promises.
"""
import argparse, collections, dataclasses, json, random, sys

HOUR = 3600
# How long a copy waits, and how long a head that somebody named is asked for.
WAIT = 7 * 24 * HOUR
OWNER = 0


@dataclasses.dataclass
class Rule:
    """The repairs of the stated rule."""

    # A `have` also names older changes at growing distances, so that members whose heads are unknown to each other find what
    # both have. Without it, unknown heads give no difference.
    places: bool = True
    # A `have` names all heads, at most 256. Without it, at most 16.
    heads: bool = True
    # A member asks for chains if its user wants it, while a copy with an unknown tag waits. Without it, the member says to all
    # whose chain it does not know that it has none.
    chain: bool = True
    # A distribution names the first number that the reader may ask for. Without it, the reader asks for all from 0.
    first: bool = True
    # The heads of an answer to a question stay until all of them are here. Without it, a later `have` replaces them.
    answer: bool = True

    @property
    def most_heads(self):
        return 256 if self.heads else 16


REPAIRS = [field.name for field in dataclasses.fields(Rule)]


class Graph:
    """All changes of a group. A change is a number, and a set of changes is an integer with one bit for each."""

    def __init__(self):
        self.past, self.author, self.act, self.who = [], [], [], []
        self.known_members = {}

    def add(self, author, view, act="other", who=None):
        """Adds a change after all changes of a view. Returns its number."""
        self.past.append(view)
        self.author.append(author)
        self.act.append(act)
        self.who.append(who)
        return len(self.past) - 1

    def heads(self, view):
        covered, heads = 0, []
        for change in reversed(numbers(view)):
            if not covered >> change & 1:
                heads.append(change)
                covered |= self.past[change]
        return heads

    def closure(self, changes):
        view = 0
        for change in changes:
            view |= self.past[change] | 1 << change
        return view

    def members(self, view):
        """The owner alone invites and removes, so its last word counts. A person enters with a `join` after an invitation."""
        if view not in self.known_members:
            last, joined = {}, set()
            for change in numbers(view):
                if self.act[change] in ("invite", "remove"):
                    last[self.who[change]] = change
            for change in numbers(view):
                word = last.get(self.author[change])
                if self.act[change] == "join" and word is not None and self.past[change] >> word & 1:
                    joined.add(self.author[change])
            self.known_members[view] = {OWNER} | {
                who for who in joined if self.act[last[who]] == "invite"}
        return self.known_members[view]


def numbers(view):
    found = []
    while view:
        low = view & -view
        found.append(low.bit_length() - 1)
        view ^= low
    return found


def said(rule, graph, view, order):
    """Returns the ids that a `have` names: heads, the last stored first, and older changes at growing distances."""
    place = {change: number for number, change in enumerate(order)}
    heads = sorted(graph.heads(view), key=lambda change: -place[change])[:rule.most_heads]
    older = [order[-1 - (1 << power)] for power in range(len(order).bit_length()) if 1 << power < len(order)]
    return heads, older + order[:1] if rule.places else []


def difference(rule, graph, view, heads, older):
    """Returns what a member with a view gives to one who says `have`; `None` if nothing follows from unknown heads."""
    known = [change for change in heads + older if view >> change & 1]
    if not rule.places and any(not view >> change & 1 for change in heads):
        return None
    return view & ~graph.closure(known)


# Two members


def shuffled_order(graph, view, choose):
    """Returns an order in which a member can have stored the changes of a view."""
    order, left, stored = [], numbers(view), 0
    while left:
        ready = [change for change in left if not graph.past[change] & ~stored]
        change = choose.choice(ready)
        order.append(change)
        left.remove(change)
        stored |= 1 << change
    return order


def random_views(choose):
    """Returns a log that some people wrote while mail was lost, and the parts of it that two of them have."""
    graph = Graph()
    people = choose.randint(2, 8)
    views = [1 << graph.add(OWNER, 0, "create")] * people
    for _ in range(choose.randint(1, 60)):
        author = choose.randrange(people)
        views[author] |= 1 << graph.add(author, views[author])
        for _ in range(choose.choice([0, 0, 1, 3])):
            sender, reader = choose.randrange(people), choose.randrange(people)
            views[reader] |= graph.closure([choose.choice(numbers(views[sender]))])
    # A restored backup has the beginning of what its owner had stored.
    if choose.random() < 0.3:
        order = shuffled_order(graph, views[1], choose)
        views[1] = sum(1 << change for change in order[: choose.randint(1, len(order))])
    return graph, views[0], views[1]


def two_members(rule, choose):
    """Two members have one log after two exchanges. Returns a problem or `None`."""
    graph, first, second = random_views(choose)
    whole = first | second
    views = [first, second]
    for asker, asked in ((0, 1), (1, 0)):
        heads, older = said(rule, graph, views[asker], shuffled_order(graph, views[asker], choose))
        views[asker] |= difference(rule, graph, views[asked], heads, older) or 0
    return None if views == [whole, whole] else "two members have different logs after two exchanges"


def small_budget(rule, choose):
    """With a limit for each answer, each exchange makes progress. Returns a problem or `None`."""
    graph = Graph()
    create = 1 << graph.add(OWNER, 0, "create")
    whole = create
    for author in range(choose.randint(20, 60)):
        whole |= 1 << graph.add(author, create)
    order = shuffled_order(graph, whole, choose)
    view = sum(1 << change for change in order[: choose.randint(1, len(order) - 1)])
    own = [change for change in order if view >> change & 1]
    while view != whole:
        answer = numbers(difference(rule, graph, whole, *said(rule, graph, view, own)) or 0)
        new = [change for change in answer[:8] if not view >> change & 1]
        if not new:
            return "an answer with its most changes brings nothing new"
        view |= sum(1 << change for change in new)
        own += new
    return None


# A group


class Note:
    """What a member stores about another one: facts about own acts, and what the other said last."""

    def __init__(self):
        self.holds = 0  # the own chain that they have
        self.first = {}  # for each own chain the first message that they may read
        self.told = 0  # the number of stored changes up to which they were told
        self.have, self.is_new, self.said = None, False, 0  # what they said last, whether it waits for an answer, and when
        self.asked, self.asks = -HOUR, 0
        self.hour, self.given = -1, collections.Counter()  # answers in this hour
        self.answered = None  # the heads of their answer to the own question


class Chain:
    """What a reader knows of a chain of an author."""

    def __init__(self, author, first, iteration):
        self.author, self.first, self.iteration, self.seen = author, first, iteration, iteration


class Person:
    def __init__(self, name):
        self.name = name
        self.view, self.order, self.waiting = 0, [], 0
        self.chain, self.count, self.earlier = 0, 0, []
        self.notes = collections.defaultdict(Note)
        self.chains, self.history, self.gone, self.held = {}, set(), set(), []
        self.sent = set()
        self.question, self.witnesses = None, set()
        self.was_restored = False
        self.is_hostile = False


class Group:
    """Some people in one group, a relay that loses, repeats and holds back, and a judge."""

    MOST_CHANGES, MOST_MESSAGES, MOST_ASKED = 256, 200, 2

    def __init__(self, rule, choose, people=6):
        self.rule, self.choose = rule, choose
        self.graph, self.time, self.serial = Graph(), 0, 0
        self.people = [Person(name) for name in range(people)]
        self.mail, self.late = [], []
        self.readers = {}  # (chain, number) -> who may read it
        self.opens = collections.defaultdict(dict)  # chain -> reader -> the first number that they can open
        self.answers = collections.defaultdict(list)  # (question, witness) -> the logs of the witness at the answers
        self.problems, self.counts = [], collections.Counter()
        self.loss = 0.0
        owner = self.people[0]
        self.write(owner, "create")
        for person in self.people[1:]:
            self.write(owner, "invite", person.name)
        for person in self.people[1:]:
            self.store(person, numbers(owner.view))
            self.write(person, "join")
        self.settle()
        self.loss = 0.25

    # Logs

    def write(self, person, act="other", who=None):
        change = self.graph.add(person.name, person.view, act, who)
        person.view |= 1 << change
        person.order.append(change)

    def store(self, person, changes):
        for change in changes:
            person.waiting |= 1 << change
        has_progressed = True
        while has_progressed:
            has_progressed = False
            for change in numbers(person.waiting & ~person.view):
                if not self.graph.past[change] & ~person.view:
                    person.view |= 1 << change
                    person.order.append(change)
                    has_progressed = True
        person.waiting &= ~person.view

    def members(self, person):
        return self.graph.members(person.view)

    def entitled(self, person):
        """Who may read what a person writes now."""
        members = self.members(person) - {person.name}
        if person.question is not None:
            confirmed = self.confirmers(person)
            members &= person.witnesses - confirmed if confirmed else set()
        return members

    # Messages

    def post(self, person):
        if person.name not in self.members(person):
            return
        entitled = self.entitled(person)
        holders = {name for name, note in person.notes.items() if person.chain and note.holds == person.chain}
        if not person.chain or holders - entitled:
            if person.chain:
                person.earlier = (person.earlier + [(person.chain, person.count)])[-8:]
            self.serial += 1
            person.chain, person.count = self.serial, 0
        for name, note in person.notes.items():
            if name not in entitled and person.question is None:
                note.first = {}
        for name in entitled:
            note = person.notes[name]
            note.first.setdefault(person.chain, person.count)
            if note.holds != person.chain:
                self.send(person, name, {"chain": self.distribution(person, name)})
        message = (person.chain, person.count)
        self.readers[message] = entitled | {person.name}
        for name in self.opens[person.chain]:
            if name not in self.readers[message]:
                self.problem("a person has the chain of a message that they may not read")
        person.sent.add(message)
        person.history.add(message)
        person.count += 1
        heads = self.graph.heads(person.view)[:16]
        for name in entitled:
            self.put(person, name, {"copy": message, "heads": heads})

    def distribution(self, person, name):
        note = person.notes[name]
        note.holds = person.chain
        first = note.first.setdefault(person.chain, person.count)
        opens = self.opens[person.chain]
        opens[name] = min(opens.get(name, person.count), person.count)
        previous = [(chain, note.first[chain], count) for chain, count in person.earlier if chain in note.first]
        return {"chain": person.chain, "first": first, "iteration": person.count, "previous": previous}

    # What one member owes another

    def sync(self, person, asks_for_chains=False):
        """Sends what a person owes the others and what the person asks. Returns the number of bodies."""
        person.held = [held for held in person.held if self.time - held[2] < WAIT]
        if person.is_hostile:
            return self.lie(person)
        lacks = self.lacks(person)
        asked = self.choose_asked(person, lacks)
        bodies = 0
        for name in sorted(self.members(person) | {w for w in person.witnesses if person.question is not None}):
            if name == person.name:
                continue
            body = self.owed(person, name) if name in self.members(person) else {}
            self.say_have(person, name, body, name in asked, asks_for_chains)
            if body:
                bodies += 1
                self.send(person, name, body)
        for name in set(person.notes) - self.members(person) - {person.name}:
            bodies += self.tell_removed(person, name)
        return bodies

    def owed(self, person, name):
        note, body = person.notes[name], {}
        own = sum(1 << change for change in person.order[note.told:] if self.is_told(person, change))
        have = note.have if note.is_new else None
        if have and person.question is None:
            note.is_new = False
            if note.hour != self.time // HOUR:
                note.hour, note.given = self.time // HOUR, collections.Counter()
            lacked = difference(self.rule, self.graph, person.view, have["heads"], have["older"])
            if lacked is not None:
                own |= sum(1 << change for change in numbers(lacked) if self.is_told(person, change))
                if have["ask"] is not None:
                    left = max(0, self.MOST_CHANGES - note.given["changes"])
                    own |= sum(1 << change for change in numbers(lacked)[:left])
                    note.given["changes"] += lacked.bit_count()
            if have["ask"] is not None and note.given["answers"] < 2:
                note.given["answers"] += 1
                body["answer"] = have["ask"]
            if have["chain"] and person.chain and name in self.entitled(person) and not note.given["chain"]:
                note.given["chain"] += 1
                body["chain"] = self.distribution(person, name)
            self.answer_messages(person, name, have["missing"], body)
        if own:
            body["changes"] = numbers(own)
        note.told = len(person.order)
        return body

    def is_told(self, person, change):
        """Whether a person tells a change to all: it is an own one, or the join of a person who was invited."""
        graph = self.graph
        return graph.author[change] == person.name or person.name == OWNER and graph.act[change] == "join"

    def answer_messages(self, person, name, missing, body):
        note = person.notes[name]
        for chain, number in missing:
            left = self.MOST_MESSAGES - note.given["messages"]
            if left <= 0:
                break
            note.given["messages"] += 1
            may_read = (chain, number) in person.sent and note.first.get(chain, 1 << 30) <= number
            if may_read and name not in self.readers[chain, number]:
                self.problem("a member gets a message that they may not read")
            body.setdefault("history" if may_read else "gone", []).append((chain, number))

    def tell_removed(self, person, name):
        """A person who was removed gets the own changes up to the removal, and nothing else."""
        note = person.notes[name]
        ends = [c for c in person.order[note.told:] if self.graph.act[c] == "remove" and self.graph.who[c] == name
                and self.graph.author[c] == person.name]
        asks = note.have and note.is_new
        if not ends and not asks:
            return 0
        note.is_new, note.told = False, len(person.order)
        removals = [c for c in numbers(person.view) if self.graph.act[c] == "remove" and self.graph.who[c] == name]
        view = self.graph.closure(removals)
        self.put(person, name, {"changes": numbers(view)})
        return 1

    # What a member lacks

    def lacks(self, person):
        """Returns the changes that others named and that are not here, with who named them."""
        named = collections.defaultdict(set)
        for author, body, _ in person.held:
            if not self.has_no_key(person, body["copy"]):
                for head in body["heads"]:
                    named[head].add(author)
        for name, note in person.notes.items():
            if note.have and self.time - note.said < WAIT:
                for head in note.have["heads"]:
                    named[head].add(name)
            for head in note.answered or []:
                named[head].add(name)
        for change in numbers(person.waiting):
            for parent in numbers(self.graph.past[change] & ~person.view):
                named[parent].add(self.graph.author[change])
        return {head: names for head, names in named.items() if not person.view >> head & 1}

    def choose_asked(self, person, lacks):
        """Returns the members who are asked now: two, those who named a missing change first; for a restored state all."""
        members = self.members(person) - {person.name}
        if person.question is not None:
            pool = [name for name in person.witnesses if person.notes[name].answered is None]
        elif lacks:
            pool = list(members)
        else:
            return set()
        self.choose.shuffle(pool)
        naming = set().union(*lacks.values()) if lacks else set()
        ready = [name for name in pool if self.may_ask(person.notes[name])]
        ready.sort(key=lambda name: (person.notes[name].asks, name not in naming))
        return set(ready[: 8 if person.question is not None else self.MOST_ASKED])

    def may_ask(self, note):
        return self.time - note.asked >= min(600 << max(note.asks - 1, 0), 24 * HOUR)

    def missing(self, person, name):
        found = []
        for chain, known in person.chains.items():
            if known.author == name:
                first = known.first if self.rule.first else 0
                found += [(chain, number) for number in range(first, known.seen)]
        return [message for message in found if message not in person.history | person.gone][:256]

    def lacks_chain(self, person, name, asks_for_chains):
        if self.rule.chain:
            return asks_for_chains and any(self.has_no_key(person, body["copy"]) for _, body, _ in person.held)
        return not any(known.author == name and known.iteration is not None for known in person.chains.values())

    @staticmethod
    def has_no_key(person, copy):
        known = person.chains.get(copy[0])
        return known is None or known.iteration is None

    def say_have(self, person, name, body, asks, asks_for_chains):
        """Adds `have` to a body if the person asks, answers or lacks something of the reader."""
        note = person.notes[name]
        missing = self.missing(person, name) if self.may_ask(note) else []
        lacks_chain = self.lacks_chain(person, name, asks_for_chains) and self.may_ask(note)
        answer = body.pop("answer", None)
        # Nothing is said about oneself to a person without a rank here, but the question of a restored state.
        has_rank = name in self.members(person)
        if not (asks or answer is not None or missing or lacks_chain):
            return
        heads, older = said(self.rule, self.graph, person.view, person.order) if has_rank else ([], [])
        ask = None
        if asks:
            ask = person.question if person.question is not None else self.choose.getrandbits(128)
        body["have"] = {"heads": heads, "older": older, "missing": missing, "chain": lacks_chain, "ask": ask,
                        "answer": answer}
        self.counts["have"] += 1
        if asks or missing or lacks_chain:
            note.asked, note.asks = self.time, note.asks + 1
        if answer is not None:
            self.answers[answer, person.name].append(person.view)

    # Restored states

    def restore(self, person, backup):
        """The state is lost and comes back from a backup, without chains."""
        view, order, history, sent = backup
        restored = Person(person.name)
        restored.view, restored.order, restored.was_restored = view, list(order), True
        restored.history, restored.sent = set(history), set(sent)
        restored.question = self.choose.getrandbits(128)
        restored.witnesses = self.members(restored) - {person.name}
        self.people[person.name] = restored

    def confirmers(self, person):
        return {
            name for name in person.witnesses
            if person.notes[name].answered and all(person.view >> head & 1 for head in person.notes[name].answered)}

    def confirm(self, person):
        if person.question is None:
            return
        confirmers = self.confirmers(person)
        others = self.members(person) - {person.name}
        if person.name in self.members(person) and len(confirmers) < min(2, len(person.witnesses)) and others:
            return
        if person.name in self.members(person):
            for name in confirmers:
                if self.people[name].is_hostile:
                    continue
                if all(view & ~person.view for view in self.answers[person.question, name]):
                    self.problem("an answer counted before all changes of its author were here")
        person.question, person.witnesses = None, set()
        for note in person.notes.values():
            note.answered = None

    # Mail

    def send(self, person, name, body):
        self.counts["bodies"] += 1
        self.counts["changes"] += len(body.get("changes", []))
        self.counts["gone"] += len(body.get("gone", []))
        # Long changes are in other bodies than the rest.
        if "changes" in body and self.choose.random() < 0.5:
            body = dict(body)
            self.put(person, name, {"changes": body.pop("changes")})
        if body:
            self.put(person, name, body)

    def put(self, person, name, body):
        if self.choose.random() < self.loss:
            return
        self.mail.append((person.name, name, body))
        if self.loss and self.choose.random() < 0.1:
            self.late.append((person.name, name, body))

    def deliver(self, count=None):
        self.choose.shuffle(self.mail)
        count = len(self.mail) if count is None else count
        taken, self.mail = self.mail[:count], self.mail[count:]
        for sender, name, body in taken:
            person = self.people[name]
            if "copy" in body:
                person.held.append((sender, body, self.time))
                self.open_held(person)
            else:
                self.take(person, sender, body)

    def take(self, person, sender, body):
        self.store(person, body.get("changes", []))
        if sender in self.members(person) or sender in person.witnesses:
            note = person.notes[sender]
            if body.get("changes") or body.get("history") or body.get("chain") or body.get("gone"):
                note.asked, note.asks = -HOUR, 0
            if "chain" in body:
                self.take_chain(person, sender, body["chain"])
            known = {chain for chain, known in person.chains.items() if known.author == sender}
            wanted = set(self.missing(person, sender))
            for message in body.get("history", []):
                if message[0] in known and message in wanted:
                    person.history.add(message)
            person.gone |= {message for message in body.get("gone", []) if message[0] in known}
            if "have" in body:
                self.take_have(person, note, body["have"])
        self.confirm(person)
        self.open_held(person)

    def take_have(self, person, note, have):
        note.have, note.is_new, note.said = have, True, self.time
        is_answer = person.question is not None and have["answer"] == person.question and have["heads"]
        if is_answer:
            note.answered = have["heads"]
        elif note.answered and not self.rule.answer:
            note.answered = have["heads"] or None

    def take_chain(self, person, author, given):
        for chain, first, count in given["previous"]:
            known = person.chains.setdefault(chain, Chain(author, first, None))
            known.seen = max(known.seen or 0, count)
        known = person.chains.get(given["chain"])
        if known is None or known.iteration is None:
            person.chains[given["chain"]] = Chain(author, given["first"], given["iteration"])

    def open_held(self, person):
        left = []
        for held in person.held:
            (chain, number), heads = held[1]["copy"], held[1]["heads"]
            if self.has_no_key(person, (chain, number)) or any(not person.view >> head & 1 for head in heads):
                left.append(held)
                continue
            known = person.chains[chain]
            known.seen = max(known.seen, number + 1)
            if number >= known.iteration:
                person.history.add((chain, number))
        person.held = left

    def lie(self, person):
        """A hostile member states anything."""
        choose, bodies = self.choose, 0
        for name in range(len(self.people)):
            if name == person.name or choose.random() < 0.5:
                continue
            everything = list(range(len(self.graph.past)))
            messages = choose.sample(sorted(self.readers), min(len(self.readers), 20))
            question = self.people[name].question
            ask = choose.choice([None, choose.getrandbits(128)])
            have = {"heads": choose.sample(everything, min(len(everything), choose.randint(0, 4))), "older": [],
                    "missing": messages, "chain": True, "ask": ask, "answer": choose.choice([question, None])}
            self.put(person, name, {"have": have, "gone": messages[:3]})
            bodies += 1
        return bodies

    def problem(self, text):
        self.problems.append(text)

    # Runs

    def settle(self, rounds=150):
        """Everybody talks without loss. Returns whether that ends, but for one question a day of each member to the others."""
        self.loss, said = 0.0, []
        for number in range(rounds):
            self.time += 2 * HOUR
            self.deliver()
            honest = [person for person in self.people if not person.is_hostile]
            said.append(sum(self.sync(person, asks_for_chains=number < 6) for person in honest))
            if not any(said[-13:]) and len(said) > 13:
                return True
        return sum(said[-12:]) <= len(honest) * len(self.people)

    def act(self):
        choose = self.choose
        person = choose.choice(self.people)
        self.time += choose.choice([10, 600, 4000])
        action = choose.random()
        can_write = person.question is None and person.name in self.members(person)
        if action < 0.35:
            self.post(person) if not person.is_hostile else None
        elif action < 0.5 and can_write:
            self.write(person)
        elif action < 0.6 and self.people[0].question is None:
            who = choose.randrange(1, len(self.people))
            owner = self.people[0]
            if who in self.members(owner):
                self.write(owner, "remove", who)
            else:
                self.write(owner, "invite", who)
                self.store(self.people[who], numbers(owner.view))
        elif action < 0.68 and person.question is None and person.name not in self.members(person):
            self.write(person, "join")
        elif action < 0.9:
            self.sync(person)
        self.deliver(choose.randint(0, max(1, len(self.mail))))
        if self.late and choose.random() < 0.1:
            # The relay delivers what it held back.
            self.mail.append(self.late.pop(choose.randrange(len(self.late))))


def whole_group(rule, choose, counts):
    """Random actions, and then quiet. Returns a problem or `None`."""
    group = Group(rule, choose)
    if choose.random() < 0.5:
        group.people[choose.randrange(1, 6)].is_hostile = True
    backups = {}
    for number in range(choose.randint(10, 60)):
        group.act()
        person = choose.choice(group.people[1:])
        if choose.random() < 0.1 and person.question is None:
            backups[person.name] = (person.view, list(person.order), set(person.history), set(person.sent))
        if choose.random() < 0.03 and backups:
            name = choose.choice(list(backups))
            if not group.people[name].is_hostile:
                group.restore(group.people[name], backups[name])
    while group.late and choose.random() < 0.9:
        group.mail.append(group.late.pop())
    before = group.counts["bodies"]
    group.settle()
    for person in group.people:
        if not person.is_hostile:
            group.post(person)
    is_quiet = group.settle()
    counts.update(group.counts)
    counts["bodies at the end"] += group.counts["bodies"] - before
    if group.problems:
        return group.problems[0]
    if not is_quiet:
        return "the members go on to talk although nothing is lost"
    return compare(group)


def compare(group):
    owner = group.people[0]
    honest = [p for p in group.people if not p.is_hostile and p.name in group.members(owner)]
    if any(person.view != owner.view for person in honest):
        return "members have different logs"
    for (chain, number), readers in group.readers.items():
        author = next((p for p in group.people if (chain, number) in p.sent), None)
        for person in honest:
            # A message of a state that was lost is gone, and so is one from before a reader's state was lost.
            if author is None or author.was_restored or person.was_restored or author not in honest:
                continue
            if person.name in readers and (chain, number) not in person.history:
                if person.notes[author.name] and person.name in group.members(author) \
                        and author.notes[person.name].first.get(chain, 1 << 30) <= number:
                    return "a message that its author can give is missing"
    return None


def held_back(rule, choose, counts):
    """A restored state is not confirmed by what the relay held back. Returns a problem or `None`."""
    group = Group(rule, choose)
    group.loss = 0.0
    person = group.people[1]
    backup = (person.view, list(person.order), set(person.history), set(person.sent))
    held = []
    for other in group.people[2:]:
        body = {}
        group.say_have(other, 1, body, True, False)
        held.append((other.name, 1, body))
    for _ in range(choose.randint(1, 4)):
        group.write(choose.choice(group.people[2:]))
    group.write(group.people[0], "remove", 5)
    for other in group.people[2:5]:
        group.store(other, numbers(group.people[0].view))
    group.restore(person, backup)
    group.time += 24 * HOUR
    group.loss = 0.4
    for _ in range(choose.randint(4, 30)):
        group.sync(choose.choice(group.people))
        group.deliver(choose.randint(0, len(group.mail)))
        # The relay delivers an old body after the answer.
        for late in list(held):
            if group.people[1].notes[late[0]].answered and choose.random() < 0.7:
                held.remove(late)
                group.take(group.people[1], late[0], late[2])
        group.time += choose.choice([600, 4000])
    return group.problems[0] if group.problems else None


def newcomer(rule, choose, counts):
    """Nobody asks for messages from before they could read. Returns a problem or `None`."""
    group = Group(rule, choose)
    group.loss = 0.0
    owner, person = group.people[0], group.people[5]
    group.write(owner, "remove", 5)
    group.settle()
    for _ in range(choose.randint(1, 9)):
        group.post(choose.choice(group.people[:5]))
    group.settle()
    group.write(owner, "invite", 5)
    group.store(person, numbers(owner.view))
    group.write(person, "join")
    group.settle()
    for member in group.people[:5]:
        group.post(member)
    group.settle()
    return "a newcomer asks for messages from before the join" if group.counts["gone"] else None


def receipts(rule, choose):
    """What a member says to an author does not depend on how many messages without a gap arrived. Returns a problem or `None`."""
    said_by = []
    count = choose.randint(1, 8)
    for got in (choose.randint(0, count), choose.randint(0, count)):
        chooser = random.Random(1)
        group = Group(rule, chooser)
        group.loss = 0.0
        author, reader = group.people[0], group.people[1]
        group.post(author)
        group.deliver()
        for _ in range(count):
            group.post(author)
        # The relay has the other copies.
        order = sorted((m for m in group.mail if m[1] == 1), key=lambda m: m[2].get("copy", (0, -1)))
        group.mail = order[:got]
        group.deliver()
        group.time += 48 * HOUR
        group.sync(reader)
        said_by.append([(m[1], m[2]) for m in group.mail])
    return None if said_by[0] == said_by[1] else "an author learns what a reader received"


def one_away(rule, choose):
    """Of 1,000 members one was away and gets each change at most three times. Returns a problem or `None`."""
    graph, people = Graph(), 1000
    create = view = 1 << graph.add(OWNER, 0, "create")
    for _ in range(choose.randint(1, 60)):
        view |= 1 << graph.add(choose.randrange(2, people), view if choose.random() < 0.5 else create)
    copies = collections.Counter()
    # The relay lost some bodies of the authors, and delivers others late.
    late = [change for change in numbers(view & ~create) if choose.random() < 0.3]
    away, order = create, [0]
    attempts = 0
    while away != view:
        attempts += 1
        answers = 0
        heads, older = said(rule, graph, away, order)
        for _ in range(2):
            if choose.random() < 0.3:
                continue  # the question or the answer is lost
            answers |= 1
            given = difference(rule, graph, view, heads, older)
            for change in numbers(given or 0):
                copies[change] += 1
                if not away >> change & 1:
                    away |= 1 << change
                    order.append(change)
        if attempts > 200:
            return "the member who was away does not get the changes"
    copies.update(late)
    return f"a change came {max(copies.values())} times" if max(copies.values()) > 3 else None


PROMISES = {
    "two members": lambda rule, choose, counts: two_members(rule, choose),
    "progress": lambda rule, choose, counts: small_budget(rule, choose),
    "receipts": lambda rule, choose, counts: receipts(rule, choose),
    "one away": lambda rule, choose, counts: one_away(rule, choose),
    "newcomer": newcomer,
    "held back": held_back,
    "group": whole_group,
}


def run(rule, runs, seed, promises):
    """Returns for each promise its problems with the numbers of runs, and counts."""
    broken, counts = {}, collections.Counter()
    for promise in promises:
        check = PROMISES[promise]
        problems = collections.Counter()
        for number in range(runs):
            problem = check(rule, random.Random(f"{promise} {seed} {number}"), counts)
            if problem:
                problems[problem] += 1
        broken[promise] = dict(problems)
    return broken, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", choices=REPAIRS, action="append", default=[])
    parser.add_argument("--promise", choices=list(PROMISES), action="append")
    options = parser.parse_args()
    rule = Rule(**{name: False for name in options.without})
    broken, counts = run(rule, options.runs, options.seed, options.promise or PROMISES)
    for promise, problems in broken.items():
        for problem, times in problems.items():
            print(f"group_have: {promise}: {problem}: {times} of {options.runs} runs", file=sys.stderr)
    print(json.dumps({"runs": options.runs, "without": options.without, "broken": broken, "counts": counts}))
    return 1 if any(broken.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
