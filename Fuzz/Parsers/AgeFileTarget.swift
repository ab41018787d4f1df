import Sotto

extension FuzzTarget {
    /// An age file, armored or not, with a signed stream in it. No passphrase is tried, because each would take
    /// seconds.
    static let ageFile = FuzzTarget("age-file") { bytes in readAge(bytes) }

    static func readAge(_ bytes: [UInt8]) {
        do {
            let file = try AgeFileReader(
                MemorySource(bytes),
                identities: [.hybrid(reader.hybridKey), .x25519(reader.ageKey)],
                passphrase: { nil })
            _ = try drain(file)
        } catch {}
    }
}
