import Arguments
import Glibc
import Sotto
import SottoServer
import SottoTool

/// The options for admission and rate limits.
struct AdmissionOptions: ArgumentGroup {
    @Flag(
        "--invited",
        help: "Serve only members: ids that redeemed a code of relay invite or were admitted."
    )
    var invited = false

    @Option(
        "--members", value: "file",
        help:
            "Serve only the ids in this file: an id, card or sotto: URI on each line; read again on SIGHUP."
    )
    var members: String?

    @Option(
        "--invitations-per-member", value: "n",
        help: "The most codes that a member can make with recv --invite; with --invited.",
        values: .any)
    var invitationsPerMember = 0

    @Option(
        "--mailbox-rate", value: "n",
        help: "The most messages that a mailbox gets in a minute; 0 for no limit.",
        values: .any)
    var mailboxRate = 0

    @Option(
        "--connection-rate", value: "n",
        help: "The most requests of a connection in a second; 0 for no limit.",
        values: .any)
    var connectionRate = 10_000

    @Option(
        "--surge", value: "n",
        help:
            "The most publications in a minute before new ids need a proof of work; 0 for no limit.",
        values: .any)
    var surge = 600

    @Option(
        "--directory-bytes", value: "size",
        help: "The most bytes of all cards, login keys, prekeys and records of rooms.",
        values: .any)
    var directoryBytes = "2GB"

    func validate() throws {
        guard mailboxRate >= 0, connectionRate >= 0, surge >= 0 else {
            throw UsageError("--mailbox-rate, --connection-rate and --surge must not be negative")
        }
        guard (0...1_000_000).contains(invitationsPerMember) else {
            throw UsageError("--invitations-per-member must be between 0 and 1000000")
        }
        guard invited || invitationsPerMember == 0 else {
            throw UsageError("--invitations-per-member requires --invited")
        }
    }

    /// Copies the options into a plan.
    func apply(to plan: inout RelayConfiguration) throws {
        plan.admission.isByInvitation = invited
        plan.admission.list = try list()
        plan.admission.invitationsPerMember = Int64(invitationsPerMember)
        plan.mailboxRate = mailboxRate
        plan.connectionRate = connectionRate
        plan.surge = surge
        guard let bytes = RelayTool.size(directoryBytes) else {
            throw Failure(
                .usage, "--directory-bytes is not a size", hint: "for example --directory-bytes 2GB"
            )
        }
        plan.directoryBytes = bytes
    }

    /// Reads the list of members again; `nil` without one.
    func list() throws -> Set<KeyID>? {
        try members.map { Set(try MemberList.read($0)) }
    }
}

/// Parses the ids in lists and arguments.
enum MemberList {
    /// The maximum length of a list in bytes.
    private static let limit = 64 << 20

    /// Reads the ids in a file: an id, a card or a `sotto:` URI on each line; `#` begins a comment.
    static func read(_ path: String) throws -> [KeyID] {
        var ids: [KeyID] = []
        var entries = PastedEntries(try Input(path: path).readText(limit: limit))
        while let (line, bytes) = entries.next() {
            let text = String(decoding: bytes, as: UTF8.self)
            guard let id = id(in: text) ?? id(in: Self.beforeComment(text)) else {
                throw Failure(
                    .malformed, "\(path), line \(line): not an id, a card or a sotto: URI")
            }
            ids.append(id)
        }
        return ids
    }

    /// Returns the id of an argument: an id, a card's file or a `sotto:` URI.
    static func id(of argument: String) throws -> KeyID {
        let argument = RecipientArgument.pasted(argument)
        if let id = KeyID(argument) { return id }
        var status = stat()
        guard RecipientArgument.isWritten(argument) || stat(argument, &status) == 0 else {
            throw Failure(
                .noInput, "\(argument) is neither an id nor a file",
                hint: "give a card's file, a sotto: URI or an id: 05 and 64 hex digits")
        }
        return try RecipientArgument.card(argument).id
    }

    /// Returns the text before a `#` that follows white space.
    private static func beforeComment(_ line: String) -> String {
        line.split(separator: " ").prefix { !$0.hasPrefix("#") }.joined(separator: " ")
    }

    private static func id(in line: String) -> KeyID? {
        if line.hasPrefix("{") {
            return (try? JSON.object(parsing: Array(line.utf8))).flatMap { try? Card(record: $0) }?
                .id
        }
        let text = Pasted.text(line)
        if ContactURI.hasScheme(text) { return (try? ContactURI(text))?.id }
        return KeyID(text)
    }
}
