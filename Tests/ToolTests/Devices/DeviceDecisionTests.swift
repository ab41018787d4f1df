import Sotto
import SottoContacts
import SottoProgram
import SottoState
import TestSupport
import Testing

/// The lists of devices in the state, and the decisions of own devices about each other.
struct DeviceDecisionTests {
    private let files = TemporaryDirectory()
    private let now = Timestamp(seconds: 1_800_000_000)

    private func store(of identity: Identity = People.alice) throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: files("state")), identity: identity, lockTimeout: 5)
    }

    private func device(
        _ name: String, of owner: Identity = People.alice, _ state: DeviceList.State = .new
    ) -> DeviceList.Device {
        let identity = Identity(
            seed: SecretBytes(copying: sha256(Array("device \(name)".utf8))), name: name,
            relay: "tcp://relay.example.org:7667", owner: owner.id)
        return DeviceList.Device(card: identity.card(), name: name, added: now, state: state)
    }

    private func later(_ seconds: Int64) -> Timestamp { Timestamp(seconds: now.seconds + seconds) }

    private func states(_ store: IdentityStore) throws -> [DeviceList.State] {
        try store.preview { try $0.devices(of: $0.owner.id) }?.devices.map(\.state) ?? []
    }

    private func failure(_ body: () throws -> Void) -> Failure? {
        do {
            try body()
            return nil
        } catch {
            return error as? Failure
        }
    }

    // MARK: New and full

    @Test func aDeviceIsFullAfterADay() throws {
        let store = try store()
        try store.transaction { _ = try $0.sign(devices: [device("laptop")], at: now) }
        #expect(try store.transaction { try $0.settleDevices(at: later(86_399)) }.isEmpty)
        #expect(try states(store) == [.new])
        let settled = try store.transaction { try $0.settleDevices(at: later(86_400)) }
        #expect(settled.map(\.name) == ["laptop"] && settled.map(\.state) == [.full])
        #expect(try states(store) == [.full])
        // Nothing more is signed.
        let list = try store.preview { try $0.devices(of: People.alice.id) }
        #expect(try store.transaction { try $0.settleDevices(at: later(900_000)) }.isEmpty)
        #expect(try store.preview { try $0.devices(of: People.alice.id) } == list)
    }

    @Test func anObjectionKeepsADeviceNewAndRemovesNothing() throws {
        let store = try store()
        let (laptop, desktop) = (device("laptop"), device("desktop", .full))
        try store.transaction { transaction in
            _ = try transaction.sign(devices: [desktop, laptop], at: now)
            #expect(try transaction.take(.objects, about: laptop.id, by: desktop.id))
            #expect(try transaction.settleDevices(at: later(10 * 86_400)).isEmpty)
            // Not even if it was confirmed too.
            #expect(try transaction.take(.confirms, about: laptop.id, by: desktop.id))
            #expect(try transaction.settleDevices(at: later(10 * 86_400)).isEmpty)
        }
        #expect(try states(store) == [.full, .new])
        try store.transaction { transaction in
            #expect(try transaction.hasObjection(to: laptop.id))
            try transaction.forgetDecisions(about: laptop.id)
            #expect(try transaction.settleDevices(at: later(86_400)).map(\.id) == [laptop.id])
        }
    }

    @Test func aFullDeviceConfirmsAnotherOne() throws {
        let store = try store()
        let (laptop, desktop, stranger) = (
            device("laptop"), device("desktop", .full), device("tablet")
        )
        try store.transaction { transaction in
            _ = try transaction.sign(devices: [desktop, laptop, stranger], at: now)
            // Itself, another new one, and one that is on no list.
            for author in [laptop.id, stranger.id, People.bob.id] {
                #expect(try transaction.take(.confirms, about: laptop.id, by: author) == false)
            }
            #expect(try transaction.settleDevices(at: later(60)).isEmpty)
            #expect(try transaction.take(.confirms, about: laptop.id, by: desktop.id))
            #expect(try transaction.settleDevices(at: later(60)).map(\.id) == [laptop.id])
            // It is full already, and a device on no list is none.
            #expect(try transaction.take(.objects, about: laptop.id, by: desktop.id) == false)
            #expect(try transaction.take(.objects, about: People.bob.id, by: desktop.id) == false)
        }
        #expect(try states(store) == [.full, .full, .new])
    }

    @Test func aDeviceThatIsAddedAgainStartsAnew() throws {
        let store = try store()
        let (laptop, desktop) = (device("laptop"), device("desktop", .full))
        try store.transaction { transaction in
            _ = try transaction.sign(devices: [desktop, laptop], at: now)
            _ = try transaction.take(.objects, about: laptop.id, by: desktop.id)
            _ = try transaction.sign(devices: [desktop], at: now)
            #expect(try transaction.person(ofDevice: laptop.id) == nil)
            _ = try transaction.sign(devices: [desktop, laptop], at: now)
            #expect(try transaction.hasObjection(to: laptop.id) == false)
            #expect(try transaction.devices(of: People.alice.id)?.seq == now.seconds + 2)
        }
    }

    /// Only machine one signs.
    @Test func anotherDeviceSettlesNothing() throws {
        let identity = Identity(
            seed: SecretBytes(copying: sha256(Array("device laptop".utf8))), name: "",
            relay: nil, owner: People.alice.id)
        let store = try store(of: identity)
        let list = try DeviceList([device("laptop")], after: 0, by: People.alice, at: now)
        try store.transaction { transaction in
            let taken = try transaction.keep(list)
            #expect(taken == .kept(before: nil))
            let settled = try transaction.settleDevices(at: later(10 * 86_400))
            #expect(settled.isEmpty)
        }
    }

    // MARK: The lists of contacts

    private func card(_ names: [String], after last: Int64 = 0) throws -> Card {
        let list = try DeviceList(
            names.map { device($0, of: People.bob) }, after: last, by: People.bob, at: now)
        return People.bob.card(issued: now, devices: list)
    }

    @Test func theCardOfADeviceIsNoContact() throws {
        let store = try store()
        let refused = try #require(
            failure {
                try store.transaction {
                    _ = try $0.introduce(
                        device("laptop", of: People.bob).card, as: "bob", accounts: OpaqueAccounts()
                    )
                }
            })
        #expect(refused.status == .usage && refused.message.contains("a device of"))
        // Its URI does not name its owner. The known list does.
        let known = try card(["laptop"])
        try store.transaction {
            _ = try $0.introduce(known, as: "bob", accounts: OpaqueAccounts())
        }
        let uri = try Card(uri: #require(known.devices?.devices.first?.card.uri))
        let again = try #require(
            failure {
                try store.transaction {
                    _ = try $0.introduce(uri, as: "laptop", accounts: OpaqueAccounts())
                }
            })
        #expect(again.message.contains("a device of bob"))
    }

    @Test func anEarlierListAndAForkAreRefused() throws {
        let store = try store()
        let (first, second) = (
            try card(["laptop"]), try card(["laptop", "desktop"], after: 1_800_000_000)
        )
        let fork = try card(["tablet"], after: 1_800_000_000)
        func introduce(_ card: Card) throws {
            try store.transaction {
                _ = try $0.introduce(card, as: "bob", accounts: OpaqueAccounts())
            }
        }
        try introduce(first)
        try introduce(second)
        let earlier = try #require(failure { try introduce(first) })
        #expect(earlier.status == .untrusted && earlier.message.contains("earlier list"))
        let forked = try #require(failure { try introduce(fork) })
        #expect(forked.status == .untrusted && forked.message.contains("other devices"))
        let kept = try store.preview { try $0.devices(of: People.bob.id) }
        #expect(kept == second.devices)
        #expect(try store.contact(id: People.bob.id)?.card?.devices == second.devices)
        // A group's card of a member does not lower the number either.
        try store.transaction { transaction in
            let lists = try [first, fork].map { try #require($0.devices) }
            #expect(try transaction.take(devices: lists[0]) == .older)
            #expect(try transaction.take(devices: lists[1]) == .fork)
        }
        #expect(try store.preview { try $0.devices(of: People.bob.id) } == second.devices)
    }

    /// The list can be known before the person is a contact, and survives the contact.
    @Test func theNumberOutlivesTheContact() throws {
        let store = try store()
        let (first, second) = (try card(["laptop"]), try card([], after: 1_800_000_000))
        try store.transaction {
            _ = try $0.introduce(second, as: "bob", accounts: OpaqueAccounts())
            try $0.remove(id: People.bob.id)
        }
        let refused = failure {
            try store.transaction {
                _ = try $0.introduce(first, as: "bob", accounts: OpaqueAccounts())
            }
        }
        #expect(refused?.status == .untrusted)
    }
}
