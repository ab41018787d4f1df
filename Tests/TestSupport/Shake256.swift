/// SHAKE256 (FIPS 202), which generates the longer inputs of the vectors. The cryptographic library does not provide
/// it, and only the tests need it.
package func shake256(_ text: String, count: Int) -> [UInt8] {
    let rate = 136
    var message = Array(text.utf8)
    message.append(0x1F)
    message += [UInt8](repeating: 0, count: (rate - message.count % rate) % rate)
    message[message.count - 1] |= 0x80
    var state = [UInt64](repeating: 0, count: 25)
    for block in stride(from: 0, to: message.count, by: rate) {
        for lane in 0..<(rate / 8) {
            for byte in 0..<8 {
                state[lane] ^= UInt64(message[block + lane * 8 + byte]) << UInt64(8 * byte)
            }
        }
        keccakF1600(&state)
    }
    var out: [UInt8] = []
    out.reserveCapacity(count + rate)
    while true {
        for lane in 0..<(rate / 8) {
            withUnsafeBytes(of: state[lane].littleEndian) { out += $0 }
        }
        if out.count >= count { return Array(out[..<count]) }
        keccakF1600(&state)
    }
}

private let roundConstants: [UInt64] = [
    0x0000_0000_0000_0001, 0x0000_0000_0000_8082, 0x8000_0000_0000_808A, 0x8000_0000_8000_8000,
    0x0000_0000_0000_808B, 0x0000_0000_8000_0001, 0x8000_0000_8000_8081, 0x8000_0000_0000_8009,
    0x0000_0000_0000_008A, 0x0000_0000_0000_0088, 0x0000_0000_8000_8009, 0x0000_0000_8000_000A,
    0x0000_0000_8000_808B, 0x8000_0000_0000_008B, 0x8000_0000_0000_8089, 0x8000_0000_0000_8003,
    0x8000_0000_0000_8002, 0x8000_0000_0000_0080, 0x0000_0000_0000_800A, 0x8000_0000_8000_000A,
    0x8000_0000_8000_8081, 0x8000_0000_0000_8080, 0x0000_0000_8000_0001, 0x8000_0000_8000_8008,
]

private func keccakF1600(_ state: inout [UInt64]) {
    func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
        count == 0 ? value : value << count | value >> (64 - count)
    }
    state.withUnsafeMutableBufferPointer { a in
        for constant in roundConstants {
            // θ
            let c = (0..<5).map { x in
                stride(from: x, to: 25, by: 5).reduce(UInt64(0)) { $0 ^ a[$1] }
            }
            for x in 0..<5 {
                let d = c[(x + 4) % 5] ^ rotate(c[(x + 1) % 5], 1)
                for y in 0..<5 { a[x + 5 * y] ^= d }
            }
            // ρ and π
            var (x, y) = (1, 0)
            var lane = a[1]
            for t in 0..<24 {
                (x, y) = (y, (2 * x + 3 * y) % 5)
                let next = a[x + 5 * y]
                a[x + 5 * y] = rotate(lane, UInt64((t + 1) * (t + 2) / 2 % 64))
                lane = next
            }
            // χ
            for y in 0..<5 {
                let row = (0..<5).map { a[$0 + 5 * y] }
                for x in 0..<5 { a[x + 5 * y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]) }
            }
            // ι
            a[0] ^= constant
        }
    }
}
