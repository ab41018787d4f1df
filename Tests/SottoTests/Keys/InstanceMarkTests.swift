import Sotto
import Testing

/// The mark of a state in a login.
struct InstanceMarkTests {
    private let mailbox = KeyID(publicKey: Array(32..<64))

    private func mark(_ relay: String, _ instance: [UInt8] = Array(0..<16)) -> String {
        hex(instanceMark(instance: instance, relay: relay, mailbox: mailbox))
    }

    /// The values are those of Python:
    /// `hmac.new(bytes(range(16)), relay.encode() + bytes(range(32, 64)), "sha256").digest()[:16].hex()`.
    @Test(arguments: [
        ("relay.example.org:7667", "e43b16d83c696e1155be3fd428f4674a"),
        ("r", "b0701e0b9fff91c43c769e1d5a65ad3d"),
        (String(repeating: "x", count: 255), "28b0840174a90e9f81589a23c0c795d3"),
    ])
    func theMarkIsHalfOfAnHMAC(_ relay: String, _ expected: String) {
        #expect(mark(relay) == expected)
    }

    @Test func anotherRelayMailboxOrInstanceHasAnotherMark() {
        let marks = Set([
            mark("a:1"), mark("b:1"), mark("a:1", Array(1..<17)),
            hex(
                instanceMark(
                    instance: Array(0..<16), relay: "a:1",
                    mailbox: KeyID(publicKey: Array(33..<65)))),
        ])
        #expect(marks.count == 4)
    }
}
