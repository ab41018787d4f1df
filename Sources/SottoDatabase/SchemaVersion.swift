/// The origin of the tables of a file, from its `PRAGMA user_version`: the number of scripts that were run, and in the lower
/// 24 bits a digest of their text.
///
/// An unreleased build had other scripts, and so another digest. Its files are recognized without reading their tables.
package enum SchemaVersion: Sendable, Equatable {
    /// No script, or the first scripts of this version.
    case known
    /// More scripts than this version has.
    case later
    /// Other scripts.
    case other

    private static let digestBits: Int64 = 24

    /// Compares the number of a file with the scripts of this version.
    package init(_ number: Int64, of scripts: [String]) {
        let count = Self.count(in: number)
        if count > scripts.count {
            self = .later
        } else if count >= 0, number == Self.number(of: scripts.prefix(count)) {
            self = .known
        } else {
            self = .other
        }
    }

    /// Returns the number of a file after these scripts; 0 without scripts.
    package static func number(of scripts: some Collection<String>) -> Int64 {
        guard !scripts.isEmpty else { return 0 }
        // FNV-1a, 32 bits.
        var digest: UInt32 = 2_166_136_261
        for script in scripts {
            for byte in script.utf8 { digest = (digest ^ UInt32(byte)) &* 16_777_619 }
        }
        let rest = Int64(digest ^ digest >> 24) & ((1 << digestBits) - 1)
        return Int64(scripts.count) << digestBits | rest
    }

    /// Returns how many scripts were run on a file.
    package static func count(in number: Int64) -> Int { Int(number >> digestBits) }
}
