#!/usr/bin/env python3
"""Two people exchange messages over two relays while every program is killed at random and clocks jump.

usage: soak.py [--seed N] [--kill SHARE] PROGRAMS SECONDS

PROGRAMS is the directory of the built programs. Each of the two sends and receives at the same time, with `sealed` and
`ratchet`, through both relays. In a share of all runs one process gets a `kill -9` after a random time; the relays are
killed too. The clocks of the two and of each relay jump forward and back. Only dynamically linked programs, such as
those of a debug build, see the jumps, because fault_shim.c is preloaded.

At the end all clocks are corrected, everything is sent and received, and two counts must be zero: messages that were
never printed (lost), and messages that were printed as new more than once (twice). Otherwise the exit status is 1.
"""
import argparse, collections, json, os, pathlib, random, signal, socket, subprocess, sys, tempfile, threading, time

HOUR, DAY = 3600, 86400
PEOPLE = {"alice": "bob", "bob": "alice"}
JUMPS = [HOUR, -HOUR, DAY, -DAY, 9 * DAY, -9 * DAY, 40 * DAY, 3650 * DAY]
LIMIT = 300  # seconds until a command counts as hung
BACKLOG = 2000  # a writer waits while the recipient has more unread messages


class Soak:
    def __init__(self, programs, seconds, seed, share):
        self.programs = pathlib.Path(programs).resolve()
        self.seconds, self.share, self.seed = seconds, share, seed
        self.random = random.Random(seed)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sotto-soak-"))
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.sent = {}  # id of an envelope -> (sender, suite)
        self.written = collections.Counter()  # by reader
        self.opened = collections.defaultdict(set)  # the ids that a reader has printed so far
        self.lifetimes = collections.defaultdict(lambda: 0.3)
        self.problems = []
        self.over = threading.Event()
        self.shim = self.home / "shim.so"
        source = pathlib.Path(__file__).parent / "relay-faults/shim/fault_shim.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self.shim, source, "-ldl"], check=True)
        self.relays = [Relay(self, n) for n in range(2)]

    # Running programs

    def environment(self, clock):
        return {
            "PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.home), "SWIFT_BACKTRACE": "enable=no",
            "LD_PRELOAD": str(self.shim), "FAULT_CLOCK": str(self.home / f"clock-{clock}"),
            "SOTTO_HOME": str(self.home / f"state-{clock}"), "SOTTO_IDENTITY": str(self.home / f"{clock}.key"),
        }

    def run(self, who, *stages, input=None, output=None, calm=False):
        """Runs a pipeline, and perhaps kills one of its processes. Returns the exit statuses of its stages."""
        before, processes = subprocess.PIPE if input is not None else subprocess.DEVNULL, []
        errors = open(self.home / f"errors-{who}", "ab")
        for position, stage in enumerate(stages):
            last = position + 1 == len(stages)
            out = (open(output, "ab") if output else subprocess.DEVNULL) if last else subprocess.PIPE
            process = subprocess.Popen(
                stage, stdin=before, stdout=out, stderr=errors, env=self.environment(who), cwd=self.home,
                start_new_session=True)
            if position and before:
                before.close()
            if last and output:
                out.close()
            before = process.stdout
            processes.append(process)
        errors.close()
        killer = None
        if not calm and self.random.random() < self.share:
            victim = self.random.randrange(len(stages))
            killer = threading.Thread(target=self.kill, args=(stages[victim][0], processes[victim]))
            killer.start()
        if input is not None:
            try:
                processes[0].stdin.write(input)
                processes[0].stdin.close()
            except BrokenPipeError:
                pass
        for process in processes:
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.problem(f"hung: {' '.join(map(str, process.args))}")
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if killer:
            killer.join()
        return [process.returncode for process in processes]

    def kill(self, name, process):
        time.sleep(self.random.uniform(0, self.lifetimes[name]))
        alive = process.poll() is None
        if alive:
            # The process alone, or with all that it started.
            try:
                (os.kill if self.random.random() < 0.5 else os.killpg)(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                alive = False
        with self.lock:
            self.counts[f"killed {name}"] += alive
            self.lifetimes[name] = min(3, max(0.002, self.lifetimes[name] * (1.05 if alive else 0.93)))

    def problem(self, text):
        with self.lock:
            self.problems.append(text)
            print(f"soak: {text}", file=sys.stderr, flush=True)

    # People

    def prepare(self):
        for name in PEOPLE:
            self.call(name, ["keygen", "-q", "--name", name, "-o", f"{name}.key"])
            self.run(name, ["keygen", "public", f"{name}.key"], output=self.home / f"{name}.card", calm=True)
        for name, other in PEOPLE.items():
            self.call(name, ["contact", "add", f"{other}.card"])
            for relay in self.relays:
                self.publish(name, relay)

    def call(self, who, command, expected=(0,)):
        status = self.run(who, command, calm=True)[0]
        if status not in expected:
            raise SystemExit(f"soak: {' '.join(command)}: status {status}; see {self.home}")

    def publish(self, who, relay):
        self.run(who, ["keygen", "prekeys"], ["send", "-q", "--relay", relay.url], calm=True)

    def write(self, who):
        """Encrypts and sends until the end; repeats every failed command, as a user would."""
        other, number = PEOPLE[who], 0
        while not self.over.is_set():
            if self.written[other] - len(self.opened[other]) > BACKLOG:
                self.over.wait(0.5)
                continue
            number += 1
            relay, suite = self.random.choice(self.relays), self.random.choice(["sealed", "ratchet"])
            texts = self.home / f"texts-{who}"
            count = self.random.randint(1, 12)
            texts.write_text("".join(json.dumps({"text": f"{who} {number} {i}"}) + "\n" for i in range(count)))
            name, attempt = None, 0
            while name is None and not self.over.is_set():
                attempt += 1
                made = self.home / f"sent-{who}-{number}-{attempt}"
                begin = suite == "ratchet" and (attempt > 3 or self.random.random() < 0.03)
                if begin:
                    self.run(who, ["recv", "-q", "--bundle", other, "--relay", relay.url])
                command = ["encrypt", "-q", "--to", other, "--jsonl", "--suite", suite, "-o", made.name, texts.name]
                status = self.run(who, command + (["--new-session"] if begin else []))[0]
                if made.exists():
                    name = made
                elif status == 10:
                    suite = "ratchet" if attempt < 5 else "sealed"
                elif status not in (0, -signal.SIGKILL, 75):
                    self.problem(f"encrypt: status {status}")
                    time.sleep(0.5)
            if name is None:
                return
            lines = name.read_bytes()
            with self.lock:
                for line in lines.splitlines():
                    self.sent[json.loads(line)["id"]] = (who, suite)
                self.counts[f"sent {suite}"] += len(lines.splitlines())
                self.written[other] += len(lines.splitlines())
            # `send` is repeated until the envelopes are on disk or at the relay.
            for _ in range(1000):
                status = self.run(who, ["send", "-q", "--relay", relay.url], input=lines)[0]
                if status in (0, 75):
                    break
                if status != -signal.SIGKILL:
                    self.problem(f"send: status {status}")
                    time.sleep(0.5)

    def read(self, who):
        number = 0
        while not self.over.is_set():
            number += 1
            self.receive(who, f"out-{who}-{number}", self.random.choice(self.relays))
            for path in [self.home / f"out-{who}-{number}", *self.home.glob(f"out-{who}-{number}.*")]:
                self.opened[who].update(record["id"] for record in messages(path))
            self.random.random() < 0.1 and self.run(
                who, ["recv", "-q", "--again"], ["decrypt", "-q"], output=self.home / f"out-{who}-again-{number}")
            time.sleep(self.random.uniform(0, 0.3))

    def receive(self, who, name, relay, calm=False):
        recv = ["recv", "-q", "--relay", relay.url, "--wait", "0.2", "--max", "100"]
        way = self.random.randrange(3)
        if way == 0:  # a command for each envelope
            return self.run(who, recv + ["--exec", f"decrypt -q > {name}.$$"], calm=calm)
        if way == 1:  # a last stage that can die too
            return self.run(who, recv, ["decrypt", "-q"], ["cat"], output=self.home / name, calm=calm)
        return self.run(who, recv, ["decrypt", "-q"], output=self.home / name, calm=calm)

    # Clocks and relays

    def disturb(self):
        clocks = [*PEOPLE, "relay0", "relay1"]
        while not self.over.wait(self.random.uniform(2, 10)):
            if self.random.random() < 0.5:
                relay = self.random.choice(self.relays)
                relay.kill()
                with self.lock:
                    self.counts["killed relay"] += 1
                self.over.wait(self.random.uniform(0, 1))
                relay.start()
            else:
                clock = self.home / f"clock-{self.random.choice(clocks)}"
                if clock.exists():
                    clock.unlink(missing_ok=True)
                else:
                    clock.write_text(str(self.random.choice(JUMPS)))
                    with self.lock:
                        self.counts["clock jumps"] += 1

    # The end

    def settle(self):
        for clock in self.home.glob("clock-*"):
            clock.unlink()
        for relay in self.relays:
            relay.kill()
            relay.start()
        for who in PEOPLE:
            for relay in self.relays:
                for _ in range(200):
                    if self.run(who, ["send", "-q", "--relay", relay.url], calm=True)[0] == 0:
                        break
                    time.sleep(0.2)
                else:
                    self.problem(f"the outbox of {who} is not empty")
        for round in range(3):
            for who in PEOPLE:
                for relay in self.relays:
                    recv = ["recv", "-q", "--relay", relay.url]
                    for extra in ([], ["--dead"]):
                        for turn in range(50):
                            out = self.home / f"out-{who}-last-{round}-{relay.number}-{turn}-{len(extra)}"
                            if self.run(who, recv + extra, ["decrypt", "-q"], output=out, calm=True)[0] == 1:
                                break
                again = self.home / f"out-{who}-again-last-{round}"
                self.run(who, ["recv", "-q", "--again"], ["decrypt", "-q"], output=again, calm=True)
        for who in PEOPLE:
            # Messages that a run opened before its last stage was killed are printed from the state.
            self.run(who, ["decrypt", "-q", "--again"], output=self.home / f"out-{who}-opened", calm=True)

    def judge(self):
        printed, fresh, texts = set(), collections.Counter(), collections.defaultdict(set)
        refused = collections.Counter()
        for path in self.home.glob("out-*"):
            for record in records(path):
                if record.get("type") == "message":
                    printed.add(record["id"])
                    fresh[record["id"]] += not record.get("seen", False)
                    texts[record["body"].get("text")].add(record["id"])
                elif record.get("type") == "error":
                    refused[f"{record.get('status')} {record.get('message', '')}"] += 1
        lost = [i for i in self.sent if i not in printed]
        twice = [i for i, count in fresh.items() if count > 1] + [t for t, ids in texts.items() if len(ids) > 1]
        report = {
            "seconds": self.seconds, "seed": self.seed, "sent": len(self.sent), "lost": len(lost), "twice": len(twice),
            "lost by suite": collections.Counter(self.sent[i][1] for i in lost),
            "unknown": len(printed - set(self.sent)), "errors": dict(refused.most_common(8)),
            "problems": dict(collections.Counter(self.problems).most_common(8)), **self.counts,
        }
        print(json.dumps(report, indent=1))
        if lost or twice:
            print(f"soak: lost {lost[:5]}, twice {twice[:5]}; kept in {self.home}", file=sys.stderr)
        return not lost and not twice and not any(p.startswith("hung") for p in self.problems)

    def main(self):
        for relay in self.relays:
            relay.start()
        self.prepare()
        threads = [threading.Thread(target=self.disturb)]
        for who in PEOPLE:
            threads += [threading.Thread(target=self.write, args=(who,)), threading.Thread(target=self.read, args=(who,))]
        for thread in threads:
            thread.start()
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and any(thread.is_alive() for thread in threads):
            time.sleep(1)
        self.over.set()
        for thread in threads:
            thread.join()
        self.settle()
        return self.judge()


def records(path):
    """Yields the records in a file, without a last line that a killed program left incomplete."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def messages(path):
    return [record for record in records(path) if record.get("type") == "message"]


class Relay:
    def __init__(self, soak, number):
        self.soak, self.number = soak, number
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.url = f"tcp://{self.address}"
        self.process = None

    def start(self):
        name = f"relay{self.number}"
        errors = open(self.soak.home / f"errors-{name}", "ab")
        for _ in range(100):
            self.process = subprocess.Popen(
                ["relay", "--listen", self.address, "--store", f"{name}.db", "--mailbox-messages", "1000000"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd=self.soak.home,
                env=self.soak.environment(name))
            for _ in range(600):
                if self.process.poll() is not None:
                    break
                try:
                    socket.create_connection(self.address.split(":"), 1).close()
                    errors.close()
                    return
                except OSError:
                    time.sleep(0.05)
        raise SystemExit(f"soak: {name} does not start; see {self.soak.home}")

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--kill", type=float, default=0.5, help="the share of runs with a kill; default 0.5")
    parser.add_argument("programs")
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()
    soak = Soak(arguments.programs, arguments.seconds, arguments.seed, arguments.kill)
    try:
        return 0 if soak.main() else 1
    finally:
        for relay in soak.relays:
            relay.kill()


sys.exit(main())
