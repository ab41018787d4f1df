import CTestSupport

/// Returns the content of a zlib stream (RFC 1950), or `nil` if it is damaged.
package func inflate(_ bytes: [UInt8]) -> [UInt8]? {
    var input = bytes
    var stream = z_stream()
    guard
        inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { inflateEnd(&stream) }
    var out: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 256 << 10)
    return input.withUnsafeMutableBufferPointer { input in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        while true {
            let (status, count) = block.withUnsafeMutableBufferPointer { block in
                stream.next_out = block.baseAddress
                stream.avail_out = UInt32(block.count)
                let status = CTestSupport.inflate(&stream, Z_NO_FLUSH)
                return (status, block.count - Int(stream.avail_out))
            }
            out += block[..<count]
            if status == Z_STREAM_END { return out }
            guard status == Z_OK, count > 0 || stream.avail_in > 0 else { return nil }
        }
    }
}
