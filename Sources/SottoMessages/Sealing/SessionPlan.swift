package import SottoContacts
package import Sotto
package import SottoState
import SottoTool

/// The sessions for the messages of one run.
package struct SessionPlan {
    /// The tool's name in messages.
    private let tool: String
    private let beginning: SessionBeginning
    private let bundles: [PreKeyBundle]
    /// Whether a session without a post-quantum prekey may begin.
    private let classic: Bool
    /// Whether only classical sessions are used: another messenger reads the messages.
    private let isForMessenger: Bool
    private let quiet: Bool

    /// Days after which a signed prekey is old. Its owner renews it every seven days.
    private static let oldDays: Int64 = 14
    /// Seconds by which its date may be in the future, because clocks differ.
    private static let futureSeconds: Int64 = 86_400

    /// Reads the bundles.
    package init(
        tool: String, _ beginning: SessionBeginning, classic: Bool, isForMessenger: Bool = false,
        quiet: Bool
    ) throws {
        self.tool = tool
        self.beginning = beginning
        self.classic = classic
        self.isForMessenger = isForMessenger
        self.quiet = quiet
        bundles = try beginning.bundles.map { try BundleFile.read($0) }
    }

    /// Returns whether the user requires a session with a recipient.
    package func requires(_ peer: KeyID) -> Bool {
        bundle(of: peer) != nil || beginning.isNew || beginning.needsOneTimePreKey
    }

    /// Returns the given bundle of a recipient, or `nil`.
    private func bundle(of peer: KeyID) -> PreKeyBundle? {
        bundles.first { $0.owner == peer }
    }

    /// Throws if a bundle does not belong to a recipient.
    package func check(_ people: [Correspondent]) throws {
        guard bundles.allSatisfy({ bundle in people.contains { $0.id == bundle.owner } }) else {
            throw SessionError.otherOwner
        }
    }

    /// Returns the given or stored bundle with which a session has to begin, or `nil` if one exists. Throws if none can begin.
    package func bundle(
        for person: Correspondent, _ transaction: StateTransaction
    ) throws -> PreKeyBundle? {
        if !beginning.isNew,
            try transaction.hasSession(with: person.id, isClassical: isForMessenger)
        {
            return nil
        }
        guard let bundle = try bundle(of: person.id) ?? transaction.bundle(of: person.id) else {
            throw SessionError.nothingToSendWith(person.id)
        }
        guard classic || !isForMessenger else { throw SessionError.onlyClassical }
        guard bundle.pqSignedPreKey != nil || classic else { throw SessionError.notPostQuantum }
        guard bundle.oneTimePreKey != nil || !beginning.needsOneTimePreKey else {
            throw SessionError.noOneTimePreKey
        }
        return isForMessenger ? try bundle.classical() : bundle
    }

    /// A session that began.
    package struct Begun {
        fileprivate let person: Correspondent
        fileprivate let origin: PeerSession.Origin
        fileprivate let bundle: PreKeyBundle
    }

    /// Ensures that a session exists: continues one, or begins one. Returns the one that began, for ``report(_:)``.
    package func prepare(
        _ person: Correspondent, _ transaction: StateTransaction
    ) throws -> Begun? {
        guard let bundle = try bundle(for: person, transaction) else {
            if bundle(of: person.id) != nil, !quiet {
                Terminal.say(
                    "\(tool): note: a session with \(person.name) exists, so the bundle was not used; use --new-session to begin another"
                )
            }
            return nil
        }
        return Begun(person: person, origin: try transaction.begin(with: bundle), bundle: bundle)
    }

    /// Reports a session that began. Call it after the transaction: before, the session can still be rolled back.
    package func report(_ begun: Begun) {
        guard !quiet else { return }
        let (person, origin, bundle) = (begun.person, begun.origin, begun.bundle)
        let kind = origin.isPostQuantum ? "PQXDH" : "X3DH, not post-quantum"
        let oneTime =
            origin.hasOneTimePreKey
            ? "with a one-time prekey"
            : "without a one-time prekey: an attacker who stores the first message could replay it"
        Terminal.say("\(tool): began a session with \(person.name): \(kind), \(oneTime)")
        if origin.isPostQuantum, bundle.pairSignature == nil {
            Terminal.say(
                "\(tool): note: the bundle has no signature over both prekeys: an attacker could have paired a new one with an old one"
            )
        }
        guard let made = bundle.date else {
            Terminal.say("\(tool): note: the age of the bundle's signed prekeys is unknown")
            return
        }
        let seconds = Timestamp.now().seconds - made.seconds
        if seconds < -Self.futureSeconds {
            Terminal.say(
                "\(tool): warning: the bundle's signed prekey is dated \(made), in the future: its owner's clock or yours is wrong"
            )
        }
        let days = seconds / 86_400
        guard days > Self.oldDays else { return }
        Terminal.say(
            "\(tool): warning: the bundle's signed prekey is \(days) days old: its owner was offline, or an attacker supplied an old bundle"
        )
    }
}

/// Reads a bundle from a file or pipe.
enum BundleFile {
    private static let limit = 1 << 20

    static func read(_ path: String) throws -> PreKeyBundle {
        let record = try JSON.object(parsing: try Input(path: path).readText(limit: limit))
        if record["type"]?.string == "prekeys" {
            // A publication of the owner is accepted too, but without its one-time prekeys. The relay gives those out;
            // if they were taken here, two senders could use the same one.
            return try PreKeyPublication(record: record).bundle(oneTime: nil)
        }
        return try PreKeyBundle(record: record)
    }
}
