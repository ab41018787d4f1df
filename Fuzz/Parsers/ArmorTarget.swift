import Sotto

extension FuzzTarget {
    /// An armored age file without its first line.
    static let armor = FuzzTarget("armor") { bytes in
        readAge(Array("-----BEGIN AGE ENCRYPTED FILE-----\n".utf8) + bytes)
    }
}
