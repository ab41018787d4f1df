import NIOCore

/// What is spoken on a connection, as far as load needs it.
protocol Dialect {
    /// What the client says first.
    mutating func opening() -> [UInt8]

    /// Takes the next complete message off the front of what came; `nil` while there is none.
    mutating func message(from received: inout ByteBuffer) throws -> ByteBuffer?

    /// What is to be said to a message before the connection is open; `nil` when it is.
    mutating func answer(toOpening message: ByteBuffer) throws -> [UInt8]?

    /// Adds the next send, which differs from all others, to what goes out.
    mutating func writeSend(to out: inout ByteBuffer)

    /// Whether the message says that a send is safe.
    func isStored(_ message: ByteBuffer) -> Bool
}

/// Bytes that are the same for each send but for a number at some places.
struct Template {
    private let bytes: [UInt8]
    private let places: [Int]

    /// Eight digits that stand for the number.
    static let mark = "########"

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let mark = Array(Self.mark.utf8)
        places = bytes.indices.filter { bytes[$0...].starts(with: mark) }
    }

    /// Adds the bytes, with the number in hexadecimal at each mark.
    func write(_ number: UInt32, to out: inout ByteBuffer) {
        let start = out.writerIndex
        out.writeBytes(bytes)
        for place in places {
            for digit in 0..<8 {
                let nibble = UInt8(truncatingIfNeeded: number >> (28 - 4 * UInt32(digit)) & 0xF)
                out.setInteger(nibble + (nibble < 10 ? 0x30 : 0x57), at: start + place + digit)
            }
        }
    }
}
