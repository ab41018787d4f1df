import Sotto

extension FuzzTarget {
    /// The header of an age file. Encoding its stanzas gives the same bytes.
    static let ageHeader = FuzzTarget("age-header") { bytes in _ = readHeader(bytes) }

    /// The stanza lines of a header. They are parsed, encoded and tried with every type of identity. The passphrase is
    /// used only with a low work factor.
    static let stanza = FuzzTarget("stanza") { bytes in
        let code = Base64.raw.encode([UInt8](repeating: 0, count: 32))
        let text =
            Array("age-encryption.org/v1\n".utf8) + bytes + Array("\n--- \(code)\n".utf8)
        guard let header = readHeader(text) else { return }
        let isQuick = header.stanzas.first?.arguments.last.map { $0.utf8.count == 1 } == true
        do {
            let file = try AgeFileReader(
                MemorySource(text),
                identities: [
                    .hybrid(reader.hybridKey), .x25519(reader.ageKey),
                    .ssh(AgeSSHIdentity(reader.signingKey)),
                ],
                passphrase: { isQuick ? Passphrase(SecretBytes(copying: "fuzz".utf8)) : nil })
            _ = try drain(file)
        } catch {}
    }

    private static func readHeader(_ bytes: [UInt8]) -> AgeHeader? {
        guard let header = try? AgeHeader(reading: BufferedSource(MemorySource(bytes))) else {
            return nil
        }
        let text = AgeHeader.encode(
            header.stanzas, fileKey: SecretBytes(copying: [UInt8](repeating: 0, count: 16)))
        precondition(text.starts(with: header.authenticated) && text.count <= bytes.count)
        return header
    }
}
