import Sotto
import SottoDatabase
import SottoMessages
import TestSupport
import Testing

@testable import SottoState

/// The devices of Alice and Bob. Each has a state of its own, and the envelopes are passed on by hand.
final class DeviceWorld {
    /// A device, with its identity file `NAME.key` and the envelopes that wait for it.
    final class Device {
        let name: String
        let identity: Identity
        var mail: [String] = []

        init(_ name: String, _ identity: Identity) {
            (self.name, self.identity) = (name, identity)
        }

        /// The name of the person.
        var person: String { String(name.prefix { $0 != "-" }) }
    }

    let home = Home()
    private(set) var devices: [Device]
    var lists: [String: DeviceList] = [:]

    /// The relay on all cards. With one, a group can need files, which are not passed on.
    let relay: String?

    init(alice: Int = 2, bob: Int = 1, relay: String? = nil) throws {
        self.relay = relay
        let people = [("alice", alice), ("bob", bob)].map { name, count in
            let first = Identity(
                seed: SecretBytes(copying: sha256(Array("person \(name)".utf8))), name: name,
                relay: relay)
            return (name, first, count)
        }
        devices = people.flatMap { name, first, count in
            [Device(name, first)]
                + (0..<count).map { number in
                    let identity = Identity(
                        seed: SecretBytes(
                            copying: sha256(Array("device \(name) \(number)".utf8))),
                        name: name, relay: relay, owner: first.id)
                    return Device("\(name)-\(number)", identity)
                }
        }
        for device in devices {
            home.files.write("\(device.name).key", device.identity.record.serialized())
        }
        for (name, first, _) in people {
            lists[name] = try DeviceList(entries(of: name), after: 0, by: first)
        }
        for device in devices { try introduce(device, knowing: true) }
    }

    func device(_ name: String) throws -> Device {
        try #require(devices.first { $0.name == name })
    }

    func entries(of name: String) -> [DeviceList.Device] {
        devices.filter { $0.name.hasPrefix(name + "-") }.map {
            DeviceList.Device(
                card: $0.identity.card(), name: $0.name, added: .now(), state: .full)
        }
    }

    func store(_ device: Device) throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: home.files("state")), identity: device.identity,
            lockTimeout: 30)
    }

    /// Gives a device the list of its owner, and the other person as a contact.
    func introduce(_ device: Device, knowing: Bool) throws {
        let own = device.name.hasPrefix("alice") ? "alice" : "bob"
        let other = own == "alice" ? "bob" : "alice"
        try store(device).transaction { transaction in
            if let list = lists[own], !list.devices.isEmpty {
                if device.identity.owner == nil {
                    try transaction.keep(list)
                } else {
                    let owner = try self.device(own).identity
                    try transaction.keep(ownersCard: owner.card(issued: .now(), devices: list))
                }
            }
            let person = try self.device(other).identity
            try transaction.save(
                Contact(
                    name: other, id: person.id,
                    card: person.card(
                        issued: .now(),
                        devices: knowing && lists[other]?.devices.isEmpty == false
                            ? lists[other] : nil)))
        }
    }

    /// Encrypts, and puts the envelopes into the mailboxes. Returns the mailboxes in the order of the envelopes.
    @discardableResult
    func send(
        _ device: String, _ text: String, _ arguments: [String] = [], status: Int32 = 0
    ) throws -> [String] {
        let run = try home.run(
            "encrypt", ["-q", "-i", "\(device).key"] + arguments, text: text)
        #expect(run.status == status, "\(run.stderr)")
        return try run.lines.compactMap { line in
            let to = try JSON.object(parsing: Array(line.utf8))["to"]?.string
            let found = devices.first { $0.identity.device.description == to }
            found?.mail.append(line)
            return found?.name
        }
    }

    /// Runs a tool of a device, which must succeed.
    @discardableResult
    func must(_ device: String, _ tool: String, _ arguments: [String]) throws -> Run {
        let run = try home.run(tool, arguments + ["-q", "-i", "\(device).key"])
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    // MARK: Groups

    /// Runs `group`, which must succeed, and sends its records.
    func group(_ device: String, _ arguments: String...) throws {
        let records = try must(device, "group", arguments).text
        if !records.isEmpty { try send(device, records, ["--elsewhere"]) }
    }

    /// Alice makes a group with Bob, who enters it. All devices get it.
    func makeTeam(_ random: inout Generator) throws {
        try group("alice", "create", "team", "bob")
        try read("bob", &random)
        try group("bob", "accept", "team")
        try settleGroup(&random)
    }

    /// Writes a text to the group. Returns the mailboxes that get the message itself.
    @discardableResult
    func say(_ device: String, _ text: String) throws -> Set<String> {
        let before = devices.map(\.mail.count)
        try send(device, text, ["--group", "team", "--elsewhere"])
        return Set(
            zip(devices, before).filter { device, count in
                device.mail.dropFirst(count).contains { $0.contains(#""suite":"group""#) }
            }.map(\.0.name))
    }

    /// Opens all mail, and lets the devices tell each other what they lack of the group.
    func settleGroup(_ random: inout Generator, without removed: String? = nil) throws {
        for _ in 0..<4 {
            for device in devices where device.name != removed { try read(device.name, &random) }
            for device in devices where device.name != removed {
                try group(device.name, "sync")
            }
        }
        for device in devices where device.name != removed { try read(device.name, &random) }
    }

    // MARK: Lists

    /// Signs a list of Alice's devices, and tells her contact and her devices unless `isTold` is false. `change` changes the list.
    func changeList(
        isTold: Bool = true, _ change: ([DeviceList.Device]) -> [DeviceList.Device]
    ) throws {
        let alice = try device("alice")
        lists["alice"] = try store(alice).transaction { transaction in
            let known = try transaction.devices(of: transaction.owner.id)
            return try transaction.sign(devices: change(known?.devices ?? []))
        }
        guard isTold else { return }
        try send(
            "alice", must("alice", "device", ["announce", "--json"]).text, ["--elsewhere"])
    }

    /// Makes another device of Alice with a list that names it, as `device add` and `device request` do it.
    func addDevice(
        _ name: String, _ state: DeviceList.State = .full, isTold: Bool = true
    ) throws {
        let alice = try device("alice").identity
        let identity = Identity(
            seed: SecretBytes(copying: sha256(Array("device \(name)".utf8))), name: "alice",
            relay: relay, owner: alice.id)
        let added = Device(name, identity)
        home.files.write("\(name).key", identity.record.serialized())
        devices.append(added)
        try changeList(isTold: isTold) { known in
            known + [
                DeviceList.Device(card: identity.card(), name: name, added: .now(), state: state)
            ]
        }
        try introduce(added, knowing: true)
    }

    /// Opens the mail of a device, in an order that `random` gives. Returns the records.
    @discardableResult
    func read(
        _ name: String, _ random: inout Generator, status: Int32 = 0
    ) throws -> [JSONObject] {
        let device = try device(name)
        let mail = device.mail.shuffled(using: &random)
        device.mail = []
        guard !mail.isEmpty else { return [] }
        let run = try home.run(
            "decrypt", ["-q", "-i", "\(name).key"],
            text: mail.joined(separator: "\n") + "\n")
        #expect(run.status == status, "\(name): \(run.stderr) \(run.text)")
        return try run.lines.map { try JSON.object(parsing: Array($0.utf8)) }
    }

    /// Lets every device tell the others of its owner what they lack, and opens all mail.
    func settle(_ random: inout Generator) throws {
        for _ in 0..<3 {
            for device in devices { try read(device.name, &random) }
            for device in devices {
                guard try store(device).preview({ try $0.hasDueItems() }) else { continue }
                let record = ComposedMessage(
                    to: device.identity.id, MessageBody(.other(.sync))
                ).record
                try send(
                    device.name, String(decoding: record.serialized(), as: UTF8.self) + "\n")
            }
        }
    }

    /// The texts that the history of a device has, with their direction, each as often as it stands there.
    func texts(_ name: String) throws -> [String] {
        let store = try store(device(name))
        return try store.preview { transaction in
            try store.entries(
                "WHERE kind = 0 AND sealed IS NOT NULL", connection: transaction.connection
            ).compactMap { entry in
                entry.record["body"]?.object?["text"]?.string.map { "\(entry.direction) \($0)" }
            }.sorted()
        }
    }
}
