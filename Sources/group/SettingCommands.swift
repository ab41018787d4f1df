import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

extension ChangeArgument {
    /// Sets a value of the group, and prints the records.
    fileprivate func set(_ value: GroupChange.Value) throws {
        let (groups, found) = try open()
        try groups.change(found) { group, transaction in
            let changed = try transaction.write(.set(value), in: group)
            let isSet =
                if case .nickname(let name) = value {
                    changed.state.nicknames[groups.owner.id] == name
                } else {
                    changed.state.values[value.key] == value
                }
            guard isSet else { throw GroupError.refused }
            return changed
        }
    }
}

/// `group rename`.
struct RenameCommand: Program {
    static let configuration = CommandConfiguration(
        name: "rename", abstract: "Change the name of a group.",
        usage: "sotto group rename GROUP NAME")

    @OptionGroup var group: ChangeArgument

    @Argument("name", help: "The new name.")
    var name: String

    func validate() throws { try checkCharacters(of: name) }

    func execute() throws { try group.set(.name(name)) }
}

/// `group about`.
struct AboutCommand: Program {
    static let configuration = CommandConfiguration(
        name: "about", abstract: "Describe a group.", usage: "sotto group about GROUP TEXT")

    @OptionGroup var group: ChangeArgument

    @Argument("text", help: "The description, at most 2000 bytes.")
    var text: String

    func execute() throws { try group.set(.about(text)) }
}

/// `group avatar`.
struct AvatarCommand: Program {
    static let configuration = CommandConfiguration(
        name: "avatar", abstract: "Set the picture of a group, or print it.",
        usage: """
            sotto group avatar GROUP > picture.jpg
            sotto group avatar GROUP FILE
            sotto group avatar --remove GROUP
            """,
        discussion: "FILE is a JPEG or PNG picture. It is made small, without its metadata.")

    @Flag("--remove", help: "Remove the picture.")
    var removes = false

    @OptionGroup var group: ChangeArgument

    @Argument("file", help: "The picture.")
    var file: String?

    func validate() throws {
        guard !removes || file == nil else {
            throw UsageError("--remove and a file cannot be combined")
        }
    }

    func execute() throws {
        if removes { return try group.set(.avatar([])) }
        if let file {
            let options = group.group.options
            return try AddressBook.withFiles(
                [file], options.identity.choice, lockTimeout: options.lock.timeout,
                hint: { $0.showing }, { try group.set(.avatar(Self.picture(file))) })
        }
        let (groups, found) = try group.group.open(for: .reading)
        guard case .avatar(let picture)? = found.state.values["avatar"], !picture.isEmpty else {
            throw Failure(.no, "\(try groups.localName(of: found)) has no picture")
        }
        let output = try Output(path: nil, content: .binary)
        try output.write(picture)
        try output.finish()
    }

    /// Returns the small picture of a file.
    private static func picture(_ file: String) throws -> [UInt8] {
        let bytes = try Input(path: file).readAll(limit: 64 << 20)
        let inspection = MediaInspection(path: file, announcer: GroupTool.toolName)
        guard let picture = inspection.smallPicture(of: bytes) else {
            throw Failure(.malformed, "\(file) is not a JPEG or PNG picture that can be read")
        }
        return picture
    }
}

/// `group timer`.
struct TimerCommand: Program {
    static let configuration = CommandConfiguration(
        name: "timer",
        abstract: "Set the time after which the following messages of a group are deleted.",
        usage: "sotto group timer GROUP DURATION",
        discussion: "DURATION is off, or a number with s, m, h, d or w: 30s, 1h, 7d, 4w.")

    @OptionGroup var group: ChangeArgument

    @Argument("duration", help: "Such as 1h or 1w, at most 365d; or off.")
    var duration: Lifetime

    func execute() throws { try group.set(.timer(duration.seconds)) }
}

/// `group nickname`.
struct NicknameCommand: Program {
    static let configuration = CommandConfiguration(
        name: "nickname", abstract: "Set your name in a group.",
        usage: "sotto group nickname GROUP NAME")

    @OptionGroup var group: ChangeArgument

    @Argument("name", help: "Your name in the group.")
    var name: String

    func validate() throws { try checkCharacters(of: name) }

    func execute() throws { try group.set(.nickname(name)) }
}

/// `group policy`.
struct PolicyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "policy", abstract: "Change the rules of a group, or print them.",
        usage: "sotto group policy [--text | --json] GROUP [KEY=VALUE ...]",
        discussion: """
            The keys are add (the rank that invites), edit (that changes the name and the timer), post (that writes), \
            pin (that pins messages and deletes those of others), each with a rank; visibility, with joined, global or \
            granted; and relays, with addresses and commas between them.
            """)

    @OptionGroup var form: GroupForm

    @OptionGroup var group: ChangeArgument

    @Argument("settings", help: "Such as post=admin.")
    var settings: [String] = []

    func validate() throws {
        try form.check(group.group.options)
        guard !form.text || settings.isEmpty else {
            throw UsageError("--text only shows the rules")
        }
    }

    func execute() throws {
        let (groups, found) = try settings.isEmpty ? group.group.open(for: .reading) : group.open()
        guard !settings.isEmpty else {
            var record: JSONObject = ["v": .integer(1), "type": .string("group-policy")]
            for (name, value) in found.state.policy.object.members {
                record[name] = value
            }
            return try form.print(record, group.group.options)
        }
        try groups.change(found) { group, transaction in
            var policy = group.state.policy
            for setting in settings { try policy.apply(setting) }
            return try transaction.set(policy, of: group)
        }
    }
}

extension GroupPolicy {
    /// Whether a text has the form of a relay's address.
    private static func isRelay(_ text: String) -> Bool {
        let schemes = ["tcp", "tls", "ws", "wss", "http", "https"]
        guard let scheme = schemes.first(where: { text.hasPrefix($0 + "://") }) else {
            return false
        }
        let rest = text.dropFirst(scheme.count + 3)
        return !rest.isEmpty && rest.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Changes the rule that `KEY=VALUE` names. Throws ``UsageError``.
    fileprivate mutating func apply(_ setting: String) throws {
        let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw UsageError("\(setting) is not KEY=VALUE") }
        let (key, value) = (String(parts[0]), String(parts[1]))
        func rank() throws -> GroupRank {
            guard let rank = GroupRank(argument: value) else {
                throw UsageError("\(value) is not a rank: owner, admin, moderator, member, reader")
            }
            return rank
        }
        switch key {
        case "add": add = try rank()
        case "edit": edit = try rank()
        case "post": post = try rank()
        case "pin": pin = try rank()
        case "visibility":
            guard let visibility = Visibility(rawValue: value) else {
                throw UsageError("\(value) is not joined, global or granted")
            }
            self.visibility = visibility
        case "relays":
            let relays = value.split(separator: ",").map(String.init)
            for relay in relays where !Self.isRelay(relay) {
                throw UsageError("\(relay) is not an address such as tls://relay.example.org:7667")
            }
            var object = object
            object["relays"] = .array(relays.map { .string($0) })
            self = try GroupPolicy(object)
        default: throw UsageError("\(key) is not add, edit, post, pin, visibility or relays")
        }
    }
}

/// `group sync`: tells members what they lack.
struct SyncCommand: Program {
    static let configuration = CommandConfiguration(
        name: "sync",
        abstract: "Print what members lack: changes, answers, and questions for missing changes.",
        usage: """
            sotto group sync [--keys] [GROUP ...]
            sotto group sync --anyway GROUP ...
            """,
        discussion: """
            Before a message, encrypt --group does the same, except for invitations that were not sent. People who wait at the door of a room are let in, and the \
            record of a room that changed is printed. Members are asked to confirm a restored group; with --anyway it \
            is used although none did.
            """)

    @Flag(
        "--keys",
        help: "Ask members for the keys of waiting messages too.")
    var keys = false

    @OptionGroup var use: UnconfirmedUse

    @OptionGroup var options: GroupOptions

    @Argument("group", help: "The groups. Default: all.")
    var names: [String] = []

    func validate() throws {
        guard !use.anyway || !names.isEmpty else {
            throw UsageError("--anyway requires the names of groups")
        }
    }

    func execute() throws {
        var groups = try options.open()
        groups.takesDoubtful = use.anyway
        let (chosen, unreadable) =
            try names.isEmpty
            ? groups.store.groups() : (names.map { try groups.group($0, for: .acting) }, [])
        let inTouch = chosen.filter(\.isInTouch)
        let rooms = inTouch.filter { $0.standing == .member && $0.state.policy.door != nil }
        let card = rooms.isEmpty ? nil : groups.owner.card()
        // The transaction writes: it undoes what lost envelopes told, and changes rooms.
        let records = try groups.store.transaction { transaction -> [JSONObject] in
            let records: [JSONObject] = try inTouch.flatMap { found in
                var group = try groups.present(found, transaction)
                var records: [JSONObject] = []
                if let card, group.standing == .member, group.state.policy.door != nil {
                    group = try transaction.admitWaiting(to: group)
                    records += try transaction.publication(of: group, card: card)
                }
                let invited =
                    group.invited.isEmpty
                    ? [] : try transaction.untold(in: group)?.invited ?? []
                return try records + groups.invitations(of: group, for: invited, transaction)
                    + groups.news(of: group, asksForKeys: keys, transaction)
            }
            return try groups.told(records)
        }
        try groups.print(records)
        if records.isEmpty, !options.quiet { try notePendingQuestions(of: inTouch, groups) }
        guard let first = unreadable.first else { return }
        let name = first.name.isEmpty ? first.id?.short ?? "" : first.name
        throw Failure(
            .ioError, "the group \(name) cannot be read: its changes are damaged",
            hint: "the other groups were synchronised; restore a backup")
    }

    /// Prints for each group with members who owe an answer the time at which they are asked again.
    private func notePendingQuestions(of chosen: [StoredGroup], _ groups: OpenGroups) throws {
        for group in chosen {
            let found = try groups.store.preview { transaction in
                try transaction.readableGroup(group.id).flatMap {
                    try transaction.nextQuestion(in: $0)
                }
            }
            guard let (asked, again) = found else { continue }
            let name = try groups.localName(of: group)
            let day = asked.local.day == again.local.day ? "" : again.local.day + " "
            options.note(
                "nothing to send: members of \(name) were asked at \(asked.local.minute), and are asked again from \(day)\(again.local.minute) on"
            )
        }
    }
}
