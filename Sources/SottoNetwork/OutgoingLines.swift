public import NIOCore

/// Bytes that are written to a channel, from which complete lines are taken.
public struct OutgoingLines {
    private var rest = ByteBuffer()

    /// Creates an empty buffer.
    public init() {}

    /// Appends bytes and returns the lines that they complete, without line feeds.
    public mutating func take(_ bytes: ByteBuffer) -> [ByteBuffer] {
        var bytes = bytes
        rest.writeBuffer(&bytes)
        var lines: [ByteBuffer] = []
        while let feed = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(rest.readSlice(length: feed - rest.readerIndex) ?? ByteBuffer())
            rest.moveReaderIndex(forwardBy: 1)
        }
        rest.discardReadBytes()
        return lines
    }
}
