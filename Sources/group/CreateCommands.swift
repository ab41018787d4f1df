import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

/// `group create`: a new group with its first members.
struct CreateCommand: Program {
    /// The rules of a new group.
    enum Preset: String, CaseIterable, ExpressibleByArgument {
        /// Members write, admins change the group.
        case open
        /// Only the creator renames and removes.
        case creator
        /// Admins write, and all members read.
        case announcements
        /// A phrase admits, and each author decides who reads their messages.
        case room

        var policy: GroupPolicy {
            switch self {
            case .open: GroupPolicy()
            case .creator: GroupPolicy(add: .member, edit: .owner, post: .member, pin: .owner)
            case .announcements: GroupPolicy(post: .admin, pin: .admin, visibility: .global)
            case .room: GroupPolicy(visibility: .granted)
            }
        }
    }

    static let configuration = CommandConfiguration(
        name: "create",
        abstract: "Create a group, and print the invitations.",
        usage: """
            sotto group create [--preset PRESET] [--visibility WHO] [--newcomers] [--nickname NAME] NAME [WHO ...]
            sotto group create --preset room [--phrase SOURCE] [--relay URL] [--nickname NAME] NAME [WHO ...]
            sotto group create --preset announcements --public-phrase TEXT [--relay URL] --nickname NAME NAME
            """,
        discussion: """
            WHO are contacts. The presets are open (members write; admins invite, rename and remove), creator \
            (everybody invites; only the creator renames and removes), announcements (admins write, everybody reads, newcomers also what was written before) \
            and room. With the visibility granted, a later member reads your messages only after group grant. --newcomers grants all later members; without it you \
            are asked if standard input is a terminal.

            A room has a phrase, and whoever knows it can enter with group join. Its visibility is granted. Its record \
            is kept by a relay, which cannot read it, and which can try phrases. Without --phrase \
            the phrase is made of nine random words, and shown once on stderr, which must be a terminal. --phrase makes a room with any preset. \
            With --public-phrase everybody may enter, and the printed address contains the phrase; relay --announcements offers it.
            """)

    @Option(
        "--preset", value: "preset", help: "The rules: open, creator, announcements or room.")
    var preset: Preset = .open

    @Option(
        "--visibility", value: "who",
        help: "The readers of a message: joined or global (all members), or granted.")
    var visibility: GroupPolicy.Visibility?

    @Flag("--newcomers", help: "Members who join later can read your messages.")
    var newcomers = false

    @Option("--nickname", value: "name", help: "Your name in the group.")
    var nickname: String?

    @OptionGroup var room: RoomOptions

    @OptionGroup var options: GroupOptions

    @Argument("name", help: "The name of the group.")
    var name: String

    @Argument("who", help: "The contacts to invite.")
    var people: [String] = []

    private var isRoom: Bool { preset == .room || room.hasPhrase }

    /// Whether each author decides who reads their messages.
    private var authorsDecide: Bool { (visibility ?? preset.policy.visibility) == .granted }

    func validate() throws {
        try checkCharacters(of: name)
        try checkCharacters(of: nickname)
        guard isRoom || room.relay == nil else {
            throw UsageError("--relay is for a room: --preset room, or --phrase")
        }
        guard authorsDecide || !newcomers else {
            throw UsageError(
                "--newcomers is for a group where you decide who reads: --preset room, or --visibility granted"
            )
        }
        guard !isRoom || nickname != nil else {
            throw UsageError("--nickname is required: the members of a room see it")
        }
    }

    func execute() throws {
        let groups = try options.open()
        let invited = try people.map { try Invited($0, groups) }
        // Before a phrase is shown or a question is asked.
        if isRoom || !invited.isEmpty { try options.records.check() }
        let showsToNewcomers = try newcomers || confirmsNewcomers()
        let relay = isRoom ? try room.address(nil, groups.owner) : nil
        let door = try relay.map { try room.newDoor(at: $0) }
        let keys = relay.flatMap { relay in door.map { RoomKeys($0.door, relay: relay.text) } }
        var policy = preset.policy
        if let visibility { policy.visibility = visibility }
        if let keys { (policy.door, policy.relays) = (keys.door.publicKey, [keys.relay]) }
        let values = [GroupChange.Value.name(name)] + (nickname.map { [.nickname($0)] } ?? [])
        let (group, records) = try groups.store.transaction { transaction in
            var group = try transaction.createGroup(policy, values)
            if showsToNewcomers { group = try transaction.show(toNewcomersOf: group, true) }
            var records: [JSONObject] = []
            if !invited.isEmpty {
                group = try groups.invite(invited, .member, to: group, transaction)
                records =
                    try groups.invitations(of: group, for: invited.map(\.id), transaction)
                    + groups.news(of: group, transaction)
            }
            if let keys {
                try transaction.keep(keys, of: group)
                records =
                    try transaction.publication(of: group, card: groups.owner.card()) + records
            }
            try door?.show()
            return (group, try groups.told(records))
        }
        options.note("created \(try groups.localName(of: group)), id \(group.id.short)")
        if let relay { room.tellAddress(name, at: relay, options) }
        try groups.print(records)
    }

    /// Asks whether later members can read the owner's messages, if standard input is a terminal and the owner decides it.
    private func confirmsNewcomers() throws -> Bool {
        guard authorsDecide, Terminal.isTerminal(0) else { return false }
        return try Terminal.confirms("Type yes to show your messages to all who join later: ")
    }
}

extension GroupPolicy.Visibility: ExpressibleByArgument {
    /// Parses the name of a visibility.
    public init?(argument: String) { self.init(rawValue: argument) }

    /// The names.
    public static var allArguments: [String] { ["joined", "global", "granted"] }
}

/// `group continue`: a new group in place of another one.
struct ContinueCommand: Program {
    static let configuration = CommandConfiguration(
        name: "continue",
        abstract: "Create a group that continues another, and invite its members.",
        usage: "sotto group continue [--without WHO] [--nickname NAME] GROUP",
        discussion: """
            The new group has the rules and the name of the old one, and you own it. The members join it anew, with the \
            rank member or reader. Use it when the identity of an owner was stolen, or when the log is full. A door is \
            not continued.
            """)

    @Option(
        "--without", value: "who",
        help: "A member who is not invited: a contact, an id or a nickname; may be repeated.")
    var without: [String] = []

    @Option("--nickname", value: "name", help: "Your name in the group.")
    var nickname: String?

    @OptionGroup var group: GroupArgument

    func validate() throws { try checkCharacters(of: nickname) }

    func execute() throws {
        let (groups, found) = try group.open()
        guard found.standing == .member else { throw GroupError.notMember }
        let left = Set(try groups.members(without, of: found))
        let (old, new, records) = try groups.store.transaction { transaction in
            let old = try groups.present(found, transaction)
            guard old.standing == .member else { throw GroupError.notMember }
            let notes = try transaction.notes(of: old)
            var policy = old.state.policy
            policy.door = nil
            let name = nickname ?? old.state.nicknames[groups.owner.id]
            let values =
                old.state.values.sorted { $0.key < $1.key }.map(\.value)
                + (name.map { [.nickname($0)] } ?? [])
            var new = try transaction.createGroup(policy, values, continues: old)
            let members = old.members.filter { $0.id != groups.owner.id && !left.contains($0.id) }
            var invited: [Invited] = []
            for rank in [GroupRank.member, .reader] {
                let people = members.filter { min($0.rank, .member) == rank }.compactMap { member in
                    notes[member.id]?.card.map { Invited(id: member.id, card: $0) }
                }
                guard !people.isEmpty else { continue }
                new = try groups.invite(people, rank, to: new, transaction)
                invited += people
            }
            let records =
                try groups.invitations(of: new, for: invited.map(\.id), transaction)
                + groups.news(of: new, transaction)
            return (old, new, try groups.told(records))
        }
        for member in old.members where !left.contains(member.id) && !new.log.names(member.id) {
            group.options.note(
                "\(try groups.name(of: member.id)) is not invited, because no signed card is known")
        }
        group.options.note(
            "created \(try groups.localName(of: new)), id \(new.id.short), which continues \(found.id.short)"
        )
        try groups.print(records)
    }
}
