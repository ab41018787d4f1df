"""The rules of groups of sotto-formats(5), GROUPS, as definitions over sets of changes, independent of Sotto.

A log is a list of changes, each after its parents. A change has a number, its place in the log. A set of changes is an
integer with one bit for each number.
"""
import functools, hashlib, json, uuid

MESSAGE = -1  # stands for a message in place of the number of a change
RANKS = {"nobody": 0, "reader": 1, "member": 2, "moderator": 3, "admin": 4, "owner": 5}


class Change:
    """A change as `group log` prints it."""

    def __init__(self, line):
        record = json.loads(line)
        self.id = identifier(record)
        self.by, self.act, self.parents = record["by"], record["act"], record["parents"]
        self.policy, self.upto = record.get("policy"), record.get("upto", [])
        who = record.get("who", [])
        self.who = who if isinstance(who, list) else [who]
        self.rank = RANKS[record.get("rank", "nobody")]
        self.sets = [name for name in ("name", "about", "avatar", "timer") if name in record]

    def grant(self, who):
        """Returns the rank that the change gives a person; 0 if it gives none."""
        if who == self.by and self.act in ("create", "door-join"):
            return 5 if self.act == "create" else 2
        return self.rank if who in self.who and self.act in ("invite", "role") else 0

    def takes(self, who):
        """Returns the rank that a cut leaves to a person; `None` if it cuts nothing of this person."""
        if self.act == "leave" and who == self.by:
            return 0
        if self.act in ("remove", "ban") and who in self.who and who != self.by:
            return 0
        return self.rank if self.act == "role" and who in self.who else None


def identifier(record):
    """The id of a change: SHA-256 of its canonical JSON."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(None)
def message_places(chain):
    """Returns the ids of the messages of a chain with their iterations."""
    places = {}
    for iteration in range(1000):
        digest = bytearray(hashlib.sha256(bytes.fromhex(chain) + iteration.to_bytes(4, "big")).digest()[:16])
        digest[6] = digest[6] & 0x0F | 0x40
        digest[8] = digest[8] & 0x3F | 0x80
        places[str(uuid.UUID(bytes=bytes(digest)))] = iteration
    return places


class Fold:
    """The rules over the first changes of a log."""

    def __init__(self, changes):
        self.changes = changes
        self.number = {change.id: number for number, change in enumerate(changes)}
        self.past = []
        self.all = (1 << len(changes)) - 1
        for change in changes:
            self.past.append(self.past_of(change.parents))
        self.grants, self.cutters, self.joins, self.leaves = {}, {}, {}, {}
        for number, change in enumerate(changes):
            self.index(number, change)
        self.at_least = functools.lru_cache(None)(self.holds)
        self.effective = functools.lru_cache(None)(self.is_effective)
        self.needed = functools.lru_cache(None)(self.demanded)

    def past_of(self, parents):
        past = 0
        for parent in parents:
            number = self.number[parent]
            past |= self.past[number] | 1 << number
        return past

    def index(self, number, change):
        for who in {change.by, *change.who}:
            if change.grant(who):
                self.grants.setdefault(who, []).append(number)
            if change.takes(who) is not None:
                self.cutters.setdefault(who, []).append(number)
        if change.act in ("create", "join", "door-join"):
            self.joins.setdefault(change.by, []).append(number)
        if change.act == "leave":
            self.leaves.setdefault(change.by, []).append(number)

    def past_at(self, c):
        return self.all if c is None else self.message_past if c == MESSAGE else self.past[c]

    def before(self, a, b):
        return a != MESSAGE and bool(self.past_at(b) >> a & 1)

    # Definitions

    def consented(self, g, who, c):
        change = self.changes[g]
        if change.act in ("create", "door-join"):
            return True
        for join in self.joins.get(who, []):
            if self.before(g, join) and (c is None or self.before(join, c)):
                return True
            if change.act == "role" and self.before(join, g) and not any(
                    self.before(join, leave) and self.before(leave, g) for leave in self.leaves.get(who, [])):
                return True
        return False

    def cuts(self, r, g, who, c):
        """Whether r cuts the grant g of a person, when the power of c is asked for."""
        cut, grant = self.changes[r], self.changes[g]
        rank, left = grant.grant(who), cut.takes(who)
        if rank <= left:
            return False
        if cut.by == who:
            if cut.act not in ("leave", "role") or self.before(r, g):
                return False
            is_ownership = c not in (None, MESSAGE) and self.changes[c].act == "role" and self.changes[c].rank == 5
            return self.before(r, c) if is_ownership else True
        if not self.at_least(r, max(3, rank + 1)):
            return False
        if not self.before(r, g) or grant.act == "door-join":
            return True
        if cut.act == "ban" or cut.act == "role" and left <= 1:
            return any(self.at_least(r, p) and not self.at_least(g, p) for p in range(rank + 1, 6))
        return False

    def is_cut(self, g, who, c):
        return any(
            self.cuts(r, g, who, c) for r in self.cutters.get(who, [])
            if c in (None, MESSAGE) or r != c and not self.before(c, r))

    def counts(self, g, who, c):
        """Whether a grant counts for the power of c; for the state if c is `None`."""
        return (c is None or self.before(g, c)) and self.consented(g, who, c) and self.effective(g) \
            and not self.is_cut(g, who, c)

    def holds(self, c, rank):
        """Whether the power of a change is at least a rank."""
        who = self.changes[c].by
        return any(
            self.changes[g].grant(who) >= rank and self.counts(g, who, c) for g in self.grants.get(who, []))

    def power(self, c):
        return max((rank for rank in range(1, 6) if self.at_least(c, rank)), default=0)

    def message_power(self, author, heads):
        """Returns the power of a message: that of a change of its author after its heads."""
        self.message_past = self.past_of(heads)
        return max(
            (self.changes[g].grant(author) for g in self.grants.get(author, []) if self.counts(g, author, MESSAGE)),
            default=0)

    def latest(self, numbers):
        past = 0
        for number in numbers:
            past |= self.past[number]
        return [number for number in numbers if not past >> number & 1]

    def policies(self, some):
        """Returns the effective policies of a set of changes."""
        return [
            p for p, change in enumerate(self.changes) if some >> p & 1
            and (change.act == "create" or change.act == "policy" and self.at_least(p, 4))]

    def governing(self, c):
        later = 0
        for number in range(c, len(self.changes)):
            if number == c or self.before(c, number):
                later |= 1 << number
        first = self.latest(self.policies(self.past[c]))
        second = self.latest(self.policies(self.all & ~later))
        return [self.changes[p].policy for p in first + second]

    def is_effective(self, g):
        change = self.changes[g]
        if change.act == "invite":
            return all(self.at_least(g, max(2, RANKS[policy["add"]])) for policy in self.governing(g))
        if change.act == "door-join":
            return False  # The groups of the simulation have no door.
        if change.act == "role":
            return self.at_least(g, 5) if change.rank == 5 else self.at_least(g, max(3, change.rank + 1))
        return True

    # Results

    def rank(self, who):
        return max((self.changes[g].grant(who) for g in self.grants.get(who, []) if self.counts(g, who, None)), default=0)

    def ranks(self):
        """Returns the rank of each member."""
        ranks = {who: self.rank(who) for who in self.grants}
        return {who: rank for who, rank in ranks.items() if rank}

    def demanded(self, key):
        """Returns the rank that the policy of the state demands."""
        return max(RANKS[self.changes[p].policy[key]] for p in self.latest(self.policies(self.all)))

    def heads(self):
        past = 0
        for some in self.past:
            past |= some
        return [change.id for number, change in enumerate(self.changes) if not past >> number & 1]

    def permits(self, author, heads, id, needs_pin):
        """Whether a reader with these changes shows a message. `id` is that of the message."""
        if any(head not in self.number for head in heads):
            return False
        rank = self.message_power(author, heads)
        if rank == 0:
            rank = self.former_rank(author, heads, id)
        return rank >= max(1, self.needed("post"), self.needed("pin") if needs_pin else 0)

    def former_rank(self, author, heads, id):
        """Returns the rank of a message of a former member, at most member: each removal must keep it."""
        past = self.past_of(heads)
        changes = [change for number, change in enumerate(self.changes) if past >> number & 1]
        former = Fold(changes).message_power(author, heads)
        # The heads have the removals before them. A removal needs more power than the rank that it takes.
        removals = [
            change for number, change in enumerate(self.changes)
            if not past >> number & 1
            and (change.act == "leave" and change.by == author
                 or change.act in ("remove", "ban") and author in change.who and change.by != author
                 and self.power(number) >= max(3, former + 1))]
        if not removals or not all(self.keeps(change, author, id) for change in removals):
            return 0
        return min(former, 2, self.rank(author) or 2)

    @staticmethod
    def keeps(change, author, id):
        return any(
            limit["device"] == author and message_places(limit["chain"]).get(id, 1000) <= limit["iteration"]
            for limit in change.upto)
