import NIOCore

/// The protocol of a connection, as far as the load needs it.
protocol Dialect {
    /// Returns the first bytes of the client.
    mutating func opening() -> [UInt8]

    /// Removes and returns the next complete message, or `nil`.
    mutating func message(from received: inout ByteBuffer) throws -> ByteBuffer?

    /// Returns the answer to a message before the connection is ready, or `nil` if it is ready now.
    mutating func answer(toOpening message: ByteBuffer) throws -> [UInt8]?

    /// Writes the next send, which differs from all others.
    mutating func writeSend(to out: inout ByteBuffer)

    /// Whether a message confirms that a send is stored.
    func isStored(_ message: ByteBuffer) -> Bool
}

/// Bytes that are the same for each send, except for a number at some places.
struct Template {
    private let bytes: [UInt8]
    private let places: [Int]

    /// The placeholder for the number, eight digits.
    static let mark = "########"

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let mark = Array(Self.mark.utf8)
        places = bytes.indices.filter { bytes[$0...].starts(with: mark) }
    }

    /// Writes the bytes, with the number in hexadecimal at each placeholder.
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
