import Sotto

extension FuzzTarget {
    /// A signed stream, unchanged and with a new signature over its header, without which mutations would fail at the
    /// header.
    static let signedStream = FuzzTarget("signed-stream") { bytes in
        readStream(bytes)
        guard bytes.count >= 160 else { return }
        let header = SignedStream.magic + reader.signingKey.publicKey + bytes[48..<96]
        let signature = reader.signingKey.sign(Array("signed-stream/1/header\0".utf8) + header)
        readStream(header + signature + bytes[160...])
    }

    private static func readStream(_ bytes: [UInt8]) {
        do { _ = try drain(try SignedStreamReader(MemorySource(bytes))) } catch {}
    }
}
