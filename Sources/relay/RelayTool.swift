import Arguments
import Glibc
import Sotto
import SottoDatabase
import SottoServer
import SottoTool
import SottoWire
import Synchronization

/// `relay run`, the default subcommand: stores envelopes until their recipients fetch them.
struct RelayTool: Program {
    static let configuration = CommandConfiguration(
        name: "run",
        abstract: "Store encrypted messages until their recipients fetch them.",
        usage: "sotto relay --store FILE [--listen HOST:PORT] [--name HOST:PORT ...]",
        discussion: """
            A message that the relay calls stored is on disk, and is delivered at least once. The relay sees \
            addresses and sizes, never contents. It shuts down cleanly on SIGTERM.

            EXAMPLES
              sotto relay --listen 127.0.0.1:7667 --store relay.db
              sotto relay --listen 0.0.0.0:7667 --name relay.example.org:7667 --store r.db
            """)

    @Option(
        "--listen", value: "host:port", help: "Listen on this address; port 0 takes any free port.")
    var listen = "127.0.0.1:7667"

    @Option(
        "--store", value: "file",
        help: "Store everything in this SQLite file, or in the database of a postgresql: URL.")
    var store: String

    @Option(
        "--name", value: "host:port",
        help: "A host:port by which clients connect to this relay; may be repeated.")
    var name: [String] = []

    @Option(
        "--ttl", value: "duration",
        help: "Time until an undelivered message is deleted, in whole days.", values: .any)
    var ttl = DayCount(days: 30)

    @Option(
        "--mailbox-messages", value: "n", help: "The most messages in one mailbox.", values: .any)
    var mailboxMessages = 5_000

    @Option(
        "--mailbox-bytes", value: "size",
        help: "The most bytes in one mailbox: 100MB, 1GB, or a plain number.", values: .any)
    var mailboxBytes = "100MB"

    @Option(
        "--announcements", value: "uri",
        help:
            "Offer this room to everybody who runs sotto init: its address from group create with --public-phrase."
    )
    var announcements: String?

    @Option("--max-connections", value: "n", help: "The most connections at once.", values: .any)
    var maxConnections = 10_000

    @Option(
        "--ready-file", value: "file",
        help: "Write host:port to this file once clients can connect.")
    var readyFile: String?

    @Option(
        "--ready-fd", value: "fd", help: "Write host:port to this descriptor instead.", values: .any
    )
    var readyDescriptor: Int32?

    @OptionGroup var tls: TLSOptions

    @OptionGroup var network: NetworkOptions

    @OptionGroup var admission: AdmissionOptions

    @OptionGroup var blobs: BlobOptions

    @OptionGroup var turn: TurnOptions

    @OptionGroup var operations: OperationsOptions

    @Flag("-q", "--quiet", help: "Print only errors.")
    var quiet = false

    mutating func execute() throws {
        var plan = try plan()
        plan.onNotice = Self.tell
        // Threads inherit this mask: only sigwait(3) below takes these signals. Dispatch's sources lose one in a
        // thousand.
        var ends = sigset_t()
        sigemptyset(&ends)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&ends, number) }
        pthread_sigmask(SIG_BLOCK, &ends, nil)
        let lost = Mutex<StoreError?>(nil)
        try tls.prepare(plan, say: say)
        warnAboutCertificate()
        let relay = try start(plan) { error in
            lost.withLock { $0 = error }
            kill(getpid(), SIGTERM)
        }
        operations.began(relay, say)
        say("ready on \(relay.address), store \(StoreLocation(store).name)")
        let addresses = RelayAddresses(plan, listening: relay.address, tls: tls)
        for text in try addresses.texts() { say("address for its users: \(text)") }
        if plan.plainConnections == .local {
            say("connections without TLS are closed, except those from this machine")
        }
        if let warning = addresses.warning { Terminal.say("relay: warning: \(warning)") }
        if let minutes = relay.clockError {
            let text = StoreClock.explanation(minutes, store: StoreLocation(store).name)
            Terminal.say("relay: warning: \(text)")
        }
        try announce(relay.address)
        var number: Int32 = 0
        repeat {
            sigwait(&ends, &number)
            if number == SIGHUP, rereads { reread(relay) }
        } while number == SIGHUP && rereads
        ServiceManager.tell("STOPPING=1")
        if let error = lost.withLock({ $0 }) {
            // The store is not used again: after a failed synchronization its state is unknown.
            throw error
        }
        try relay.stop()
        say("ended: \(relay.summary)")
    }

    /// Starts the relay. Problems of the store are reported here, where the option is known.
    private func start(
        _ plan: RelayConfiguration, onFailure: @escaping @Sendable (StoreError) -> Void
    ) throws -> Relay {
        try Output.check(readyFile, isNoneOf: [store])
        var status = stat()
        if stat(store, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else {
                let what =
                    status.st_mode & S_IFMT == S_IFDIR ? "is a directory" : "is not a regular file"
                throw Failure(
                    .cannotCreate, "cannot open the store \(store): \(what)",
                    hint: "give --store a file; it is created if it does not exist")
            }
            // SQLite's error would be less precise. Its locks are not lost, because it has not opened the file yet.
            let descriptor = open(store, O_RDWR | O_CLOEXEC)
            guard descriptor >= 0 else {
                let failure = Failure(errno: errno, "open", "the store \(store)")
                throw Failure(
                    failure.status == .permission ? .permission : .cannotCreate, failure.message)
            }
            close(descriptor)
        }
        do throws(RelayError) {
            return try Relay.start(plan, onFailure: onFailure)
        } catch {
            if case .store(.database(.damaged)) = error {
                throw Failure(.malformed, "\(store) is damaged, or is not a relay's store")
            }
            guard case .store(.database(.locked)) = error else { throw error }
            throw Failure(
                .tryAgain, "the store \(store) is in use, perhaps by another relay",
                hint: "stop the other relay, or give --store another file")
        }
    }

    func plan() throws -> RelayConfiguration {
        func address(_ text: String, _ option: String) throws(Failure) -> RelayURL {
            do throws(RelayURL.Invalid) { return try RelayURL(name: text) } catch {
                throw Failure(
                    .usage,
                    error == .form
                        ? "\(option) is not host:port" : "the address of \(option) \(error.reason)",
                    hint: "for example \(option) 127.0.0.1:7667")
            }
        }
        var plan = RelayConfiguration(listen: try address(listen, "--listen"), store: store)
        for name in name { plan.names.append(try address(name, "--name").name) }
        guard mailboxMessages > 0, maxConnections > 0 else {
            throw Failure(.usage, "--mailbox-messages and --max-connections must be at least 1")
        }
        guard let bytes = Self.size(mailboxBytes) else {
            throw Failure(.usage, "--mailbox-bytes is not a size", hint: "for example 100MB")
        }
        (plan.tls, plan.plainConnections) = (tls.files, tls.plainConnections)
        plan.ttlDays = ttl.days
        plan.mailboxMessages = Int64(mailboxMessages)
        plan.mailboxBytes = bytes
        plan.maximumConnections = maxConnections
        plan.announcements = try announcements.map { text throws(Failure) in try Self.room(text) }
        plan.operations = try operations.plan()
        network.apply(to: &plan)
        try admission.apply(to: &plan)
        try blobs.apply(to: &plan)
        plan.turn = try turn.servers()
        return plan
    }

    /// Returns the address of a room that everybody may enter. Throws a failure with status 64 for another text.
    private static func room(_ text: String) throws(Failure) -> String {
        guard let uri = RoomURI(text), uri.phrase != nil,
            uri.text.utf8.count <= WireLimits.roomURIBytes
        else {
            throw Failure(
                .usage, "--announcements is not the address of a room with its phrase",
                hint:
                    "make a room and its address: sotto group create --preset announcements --public-phrase PHRASE --nickname NAME NEWS --send"
            )
        }
        return uri.text
    }

    /// Parses a number of bytes, with the decimal units `kB`, `MB` or `GB`. Returns `nil` for an invalid one.
    static func size(_ text: String) -> Int64? {
        let units: [(String, Int64)] = [
            ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("", 1),
        ]
        for (suffix, factor) in units where text.uppercased().hasSuffix(suffix) {
            guard let number = Int64(text.dropLast(suffix.count)), number > 0 else { return nil }
            let (size, overflow) = number.multipliedReportingOverflow(by: factor)
            return overflow ? nil : size
        }
        return nil
    }

    /// Whether SIGHUP reads files again. A service manager may send it even if there are no files; without a service
    /// manager SIGHUP means the end of the terminal.
    private var rereads: Bool {
        tls.files != nil || admission.members != nil || ServiceManager.isThere
    }

    /// Reads the files again. If one cannot be read, the old contents stay in use.
    private func reread(_ relay: Relay) {
        if tls.files != nil {
            do {
                try tls.checkKey()
                try relay.reloadCertificate()
                say("read the certificate again")
                warnAboutCertificate()
            } catch {
                let message =
                    (error as? any FailureError)?.failure.message
                    ?? "the certificate cannot be read"
                Terminal.say("relay: error: \(message); the old certificate stays in use")
            }
        }
        do {
            guard let list = try admission.list() else { return }
            relay.replaceMembers(list)
            say("read the members again: \(list.count)")
        } catch {
            let message = (error as? Failure)?.message ?? "the members cannot be read"
            Terminal.say("relay: error: \(message); the old list stays in use")
        }
    }

    private func warnAboutCertificate() {
        if let warning = tls.warning { Terminal.say("relay: warning: \(warning)") }
    }

    private static func tell(_ notice: RelayNotice) {
        let text =
            switch notice {
            case .storeFull: "the store has no space; new messages are deferred"
            case .storeUsable: "the store has space again; messages are stored"
            }
        Terminal.say("relay: warning: \(text)")
    }

    private func announce(_ address: String) throws(Failure) {
        let line = Array((address + "\n").utf8)
        if let readyFile {
            let output = try Output(path: readyFile, content: .text)
            try output.write(line)
            try output.finish()
        }
        if let readyDescriptor {
            guard write(readyDescriptor, line, line.count) == line.count else {
                throw Failure(errno: errno, "write", "descriptor \(readyDescriptor)")
            }
            close(readyDescriptor)
        }
    }

    private func say(_ line: String) {
        if !quiet { Terminal.say("relay: \(line)") }
    }
}
