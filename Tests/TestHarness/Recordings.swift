extension Sample {
    /// A WAV file of silence.
    package static func wav(seconds: Int, rate: Int = 8_000) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let samples = [UInt8](repeating: 0, count: seconds * rate * 2)
        let format = [(1, 2), (1, 2), (rate, 4), (rate * 2, 4), (2, 2), (16, 2)]
        return Array("RIFF".utf8) + number(36 + samples.count, 4) + Array("WAVEfmt ".utf8)
            + number(16, 4) + format.flatMap(number) + Array("data".utf8)
            + number(samples.count, 4) + samples
    }
}
