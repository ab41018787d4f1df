import NIOCore
import Sotto

/// The part of MQTT 3.1.1 that publishes 1,024 bytes at least once (QoS 1) to the topic `bench`.
struct MQTTDialect: Dialect {
    private let publish: [UInt8]
    private let identifierPlace: Int
    private var count: UInt16 = 0

    init() {
        let topic = Array("bench".utf8)
        let head = [0, UInt8(topic.count)] + topic
        publish = Self.packet(0x32, head + [0, 0] + [UInt8](repeating: 0x41, count: 1024))
        identifierPlace = publish.count - 1024 - 2
    }

    /// Returns a control packet (§2.2): its type with flags, the length of the rest, the rest.
    private static func packet(_ first: UInt8, _ rest: [UInt8]) -> [UInt8] {
        rest.count < 128
            ? [first, UInt8(rest.count)] + rest
            : [first, UInt8(rest.count & 0x7F | 0x80), UInt8(rest.count >> 7)] + rest
    }

    mutating func opening() -> [UInt8] {
        let name = Array(hex(randomBytes(8)).utf8)
        // CONNECT (§3.1): level 4, a clean session, no keep-alive limit.
        return Self.packet(
            0x10, [0, 4] + "MQTT".utf8 + [4, 2, 0, 0, 0, UInt8(name.count)] + name)
    }

    mutating func message(from received: inout ByteBuffer) throws -> ByteBuffer? {
        // Only CONNACK and PUBACK arrive; both have two bytes behind their header.
        received.readSlice(length: 4)
    }

    mutating func answer(toOpening message: ByteBuffer) throws -> [UInt8]? {
        guard message.readableBytesView.elementsEqual([0x20, 2, 0, 0]) else {
            throw LoadError.unexpected("CONNACK \(hex(Array(message.readableBytesView)))")
        }
        return nil
    }

    mutating func writeSend(to out: inout ByteBuffer) {
        count = count == .max ? 1 : count + 1
        let start = out.writerIndex
        out.writeBytes(publish)
        out.setInteger(count, at: start + identifierPlace)
    }

    func isStored(_ message: ByteBuffer) -> Bool {
        message.readableBytesView.starts(with: [0x40, 2])
    }
}
