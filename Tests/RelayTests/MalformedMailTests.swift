import Glibc
import Sotto
import TestSupport
import Testing

/// Unreadable mail.
struct MalformedMailTests {
    /// In Message Flow an unreadable message is never acknowledged, and so is delivered again forever.
    @Test func r14UnreadableMailIsDeliveredOnce() throws {
        let world = try Correspondence()
        defer { world.stop() }
        var junk: [UInt8] = []
        for text in ["AAAA", "", "not base64", String(repeating: "A", count: 4000)] {
            junk += Sample.record(to: world.bob.id, text: text).serialized() + [0x0A]
        }
        world.scratch.write("junk", junk)
        try world.expect("alice", "send < junk > sent")
        try world.expect("alice", "echo good | encrypt --to bob.card | send > sent")
        // Each is printed once; decrypt reports the bad ones and prints the good one.
        #expect(world.shell("bob", "recv > printed-once").status == 0)
        #expect(world.scratch.lines("printed-once").count == 5)
        #expect(world.shell("bob", "decrypt printed-once -o out").status == 15)
        #expect(Correspondence.texts(world.scratch.lines("out")) == ["good"])
        let bad = world.scratch.lines("out").filter { $0.contains(#""type":"error""#) }
        #expect(bad.count == 4)
        // Nothing is delivered again: not by the relay to any machine, and not from the local state.
        let nothing = world.shell("bob", "recv")
        #expect(nothing.status == 1 && nothing.lines.isEmpty)
        #expect(world.shell("bob", "recv --again").status == 1)
        try world.expect("bob", "rm -r state-bob")
        #expect(world.shell("bob", "recv").status == 1)
    }
}
