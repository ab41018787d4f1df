import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

/// `group check`: whether a room exists.
struct CheckCommand: Program {
    static let configuration = CommandConfiguration(
        name: "check", abstract: "Print whether a relay has a room with a phrase.",
        usage: "sotto group check [--phrase SOURCE] [--relay URL] [URI]",
        discussion: """
            Prints exists or notExists, and exits with 0 or 1. A closed room does not exist. The phrase is hashed for \
            about half a second.
            """)

    @OptionGroup var argument: RoomArgument

    func execute() throws {
        let uri = try argument.address()
        let owner = try argument.options.identity.load()
        let relay = try argument.room.address(uri, owner)
        let content = try argument.room.content(
            of: argument.room.door(at: relay, of: uri), at: relay)
        let exists = content?.group != nil
        let output = try Output(path: "-", content: .text)
        try output.writeText(exists ? "exists\n" : "notExists\n")
        try output.finish()
        guard exists else { throw Failure(.no, "") }
    }
}

/// `group join`: enters a room.
struct JoinCommand: Program {
    static let configuration = CommandConfiguration(
        name: "join", abstract: "Enter a room with its phrase, and tell members.",
        usage: "sotto group join --nickname NAME [--phrase SOURCE] [--relay URL] [URI]",
        discussion: """
            The records go to at most three members of the room, who let you in when they decrypt them and write \
            again. Until then group show says unconfirmed, and you can repeat the command if the records were lost.
            """)

    @Option("--nickname", value: "name", help: "Your name in the room.")
    var nickname: String?

    @OptionGroup var argument: RoomArgument

    func validate() throws {
        try checkCharacters(of: nickname)
        guard nickname != nil else {
            throw UsageError("--nickname is required: the members of a room see it")
        }
    }

    func execute() throws {
        let uri = try argument.address()
        let groups = try argument.options.open()
        try argument.options.records.check()
        let relay = try argument.room.address(uri, groups.owner)
        let door = try argument.room.door(at: relay, of: uri)
        guard var content = try argument.room.content(of: door, at: relay) else {
            throw Failure(
                .no, "\(relay) has no room with this phrase",
                hint: "compare the phrase and the relay with those of the other members")
        }
        if let file = content.file {
            content = content.adding(try argument.room.changes(of: file, at: relay))
        }
        let card = groups.owner.card()
        let (group, records) = try groups.store.transaction { transaction in
            let (group, keepers, changes) = try transaction.enter(
                content, by: door, nickname: nickname ?? "", card: card)
            let bodies = StateTransaction.bodies(of: group.id, changes, cards: [card])
            let records = keepers.flatMap { person in
                bodies.map { $0.record(to: person) }
            }
            return (group, records)
        }
        argument.options.note("entered \(try groups.localName(of: group)), id \(group.id.short)")
        try groups.print(records)
    }
}

/// `group door`: prints the address of a room, or changes its door.
struct DoorCommand: Program {
    static let configuration = CommandConfiguration(
        name: "door", abstract: "Print the address of a room; open, change or close its door.",
        usage: """
            sotto group door ROOM
            sotto group door --new-phrase [--phrase SOURCE | --public-phrase TEXT] [--relay URL] ROOM
            sotto group door --close ROOM
            sotto group door --publish ROOM
            """,
        discussion: """
            Without an option the address is printed, for qr. It does not contain the phrase. --new-phrase closes the \
            old door, and without --phrase shows nine random words once on stderr: those who entered by it stay members, and nobody enters by it later. A group without a door \
            becomes a room. The other options print records for encrypt.
            """)

    @Flag("--new-phrase", help: "Make a new door, and close the old one.")
    var isNew = false

    @Flag("--close", help: "Close the door. Members are then invited.")
    var closes = false

    @Flag("--publish", help: "Print the record of the room again.")
    var publishes = false

    @OptionGroup var room: RoomOptions

    @OptionGroup var group: ChangeArgument

    let given = GivenArguments()

    func checkMode() throws {
        try given.check(
            for: isNew ? DoorMode.new : closes ? .closed : publishes ? .published : .printed)
    }

    func execute() throws {
        let (groups, found) =
            try isNew || closes
            ? group.open() : group.group.open(for: publishes ? .acting : .reading)
        if isNew { return try change(found, groups) }
        if closes { return try close(found, groups) }
        let noDoor = Failure(
            .no, "\(try groups.localName(of: found)) has no door",
            hint:
                "make one: sotto group door --new-phrase \(try groups.argument(of: found)) | sotto encrypt | sotto send"
        )
        guard found.state.policy.door != nil else { throw noDoor }
        if publishes {
            let records = try groups.store.transaction { transaction in
                let group = try groups.present(found, transaction)
                guard group.state.policy.door != nil else { throw noDoor }
                return try groups.told(
                    transaction.publication(of: group, card: groups.owner.card(), isForced: true))
            }
            guard !records.isEmpty else { throw DoorCommand.noKeys }
            return try groups.print(records)
        }
        let known = try groups.store.preview { try $0.room(of: found)?.keys.relay }
        // Only the keys tell which of several relays has the room.
        let listed = found.state.policy.relays
        guard let relay = known ?? (listed.count == 1 ? listed.first : nil) else {
            throw DoorCommand.noKeys
        }
        let uri = RoomURI(relay: relay, name: found.name.isEmpty ? nil : found.name)
        let output = try Output(path: "-", content: .text)
        try output.writeText(uri.text + "\n")
        try output.finish()
    }

    private static let noKeys = Failure(
        .noKey, "only moderators have the keys of the door, and you have not got them",
        hint: "ask a moderator")

    private func change(_ found: StoredGroup, _ groups: OpenGroups) throws {
        try group.group.options.records.check()
        let relay = try room.address(nil, groups.owner)
        let new = try room.newDoor(at: relay)
        let door = new.door
        // The same phrase at the same host makes the same door: the relay would refuse the record of the new room, and
        // the old one would be closed.
        func check(_ group: StoredGroup) throws(Failure) {
            guard group.log.doors.contains(door.id.publicKey) else { return }
            let isPresent = group.state.policy.door == door.id.publicKey
            throw Failure(
                .usage,
                isPresent
                    ? "the new phrase is the present phrase of the room"
                    : "the new phrase was the phrase of an earlier door of the group",
                hint: "choose a different phrase")
        }
        try groups.changeDoor(of: found) { group, transaction in
            try check(group)
            let changed = try transaction.open(door, at: relay, in: group)
            try new.show()
            return changed
        }
        room.tellAddress(found.name, at: relay, group.group.options)
    }

    private func close(_ found: StoredGroup, _ groups: OpenGroups) throws {
        try groups.changeDoor(of: found) { group, transaction in
            guard group.state.policy.door != nil else {
                throw Failure(.no, "\(try transaction.shownName(of: group.id)) has no door")
            }
            var policy = group.state.policy
            policy.door = nil
            return try transaction.set(policy, of: group)
        }
    }
}

/// The ways to use `group door`, with the options of each.
enum DoorMode: String, CommandMode {
    case printed = ""
    case new = "--new-phrase"
    case closed = "--close"
    case published = "--publish"

    var takes: String {
        switch self {
        case .printed: Self.state
        case .new: "\(Self.state) --new-phrase --phrase --public-phrase --relay --anyway"
        case .closed: "\(Self.state) --close --anyway"
        case .published: "\(Self.state) --publish"
        }
    }

    private static let state = "-i --identity-passphrase --lock-timeout --json -q <group>"
}

extension GroupLog {
    /// The public keys of all doors that the group had.
    fileprivate var doors: Set<[UInt8]> {
        Set(
            changes.compactMap { change in
                switch change.act {
                case .create(_, let policy, _), .policy(let policy): policy.door
                default: nil
                }
            })
    }
}

extension StateTransaction {
    /// Gives a group a new door at a relay, with a new publishing key.
    func open(
        _ door: RoomDoor, at relay: RelayURL, in group: StoredGroup
    ) throws -> StoredGroup {
        var policy = group.state.policy
        policy.door = door.id.publicKey
        if !policy.relays.contains(relay.text) { policy.relays.append(relay.text) }
        let changed = try set(policy, of: group)
        try keep(RoomKeys(door, relay: relay.text), of: changed)
        return changed
    }

    /// Sets the policy of a group. Throws ``GroupError/refused`` if the owner's rank does not permit it.
    func set(_ policy: GroupPolicy, of group: StoredGroup) throws -> StoredGroup {
        let changed = try write(.policy(policy), in: group)
        guard changed.state.policy == .strictest([policy]) else { throw GroupError.refused }
        return changed
    }
}

extension OpenGroups {
    /// Changes the door of a group, and prints the records: that of the new room, that which closes the old one, and those
    /// for the members.
    fileprivate func changeDoor(
        of found: StoredGroup, _ body: (StoredGroup, StateTransaction) throws -> StoredGroup
    ) throws {
        let records = try store.transaction { transaction in
            let group = try present(found, transaction)
            guard group.standing == .member else { throw GroupError.notMember }
            let old = try transaction.room(of: group)
            let changed = try body(group, transaction)
            let new = try transaction.publication(of: changed, card: owner.card())
            let closing = old.map { transaction.closing($0) }
            return try told(new + [closing].compactMap { $0 } + news(of: changed, transaction))
        }
        try print(records)
    }
}
