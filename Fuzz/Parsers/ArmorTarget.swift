import Sotto

extension FuzzTarget {
    /// An armored age file after its first line.
    static let armor = FuzzTarget("armor") { bytes in
        readAge(Array("-----BEGIN AGE ENCRYPTED FILE-----\n".utf8) + bytes)
    }
}
