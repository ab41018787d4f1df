import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

/// An identity with more send addresses than a connection may open mailboxes.
@Suite struct ManyAddressTests {
    private static let count = 300

    @Test(arguments: ["tcp", "http"])
    func mailToEachOf300AddressesIsReceived(_ scheme: String) throws {
        let world = try Correspondence()
        defer { world.stop() }
        #expect(Self.count > WireLimits.openMailboxes)
        let addresses = (0..<Self.count).map { _ in SendAddress() }
        let store = try IdentityStore(
            directory: StateDirectory(path: world.scratch("state-bob")),
            identity: world.bob, lockTimeout: 20)
        try store.transaction { state in
            for (number, address) in addresses.enumerated() {
                var contact = Contact(
                    name: "contact \(number)",
                    id: KeyID(
                        publicKey: SigningKey(seed: SecretBytes(randomCount: 32)).publicKey),
                    card: nil)
                contact.address = address
                try state.save(contact)
            }
        }
        let mailboxes = addresses.map { $0.id(of: world.bob) } + [world.bob.id]
        let lines = mailboxes.map { Sample.record(to: $0).serialized() + [0x0A] }
        world.scratch.write("mail", Array(lines.joined()))
        try world.expect("alice", "send < mail > sent")
        let relay = "--relay \(scheme)://\(world.relay.address)"
        let got = try world.expect("bob", "recv --wait 20 --max \(mailboxes.count) \(relay)")
        #expect(Set(got) == Set(world.scratch.lines("mail")))
        // Every mailbox was acknowledged on the connection on which it is open.
        #expect(world.shell("bob", "recv \(relay)").status == 1, "\(world.errors)")
    }
}
