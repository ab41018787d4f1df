import Sotto

extension FuzzTarget {
    /// An age file, armored or not, and in it a signed stream. No passphrase is tried: that would take seconds each.
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
