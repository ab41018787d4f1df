/// Lengths and checks of ML-KEM (FIPS 203).
enum MLKEM {
    /// The length of an encapsulation key of ML-KEM-768, in bytes.
    static let keyBytes768 = 1184
    /// The length of an encapsulation key of ML-KEM-1024, in bytes.
    static let keyBytes1024 = 1568
    /// The length of a ciphertext of ML-KEM-768, in bytes.
    static let ciphertextBytes768 = 1088
    /// The length of a ciphertext of ML-KEM-1024, in bytes.
    static let ciphertextBytes1024 = 1568
    /// The length of the seed at the end of a key, in bytes.
    private static let seedBytes = 32
    /// The modulus q.
    private static let modulus: UInt16 = 3329

    /// Whether all coefficients of an encapsulation key are less than q (FIPS 203 §7.2, "modulus check").
    ///
    /// `key` is ByteEncode₁₂ of the vector, two coefficients in three bytes, and a seed.
    static func isReduced(_ key: some RandomAccessCollection<UInt8>) -> Bool {
        var bytes = key.dropLast(seedBytes).makeIterator()
        while let a = bytes.next(), let b = bytes.next(), let c = bytes.next() {
            let first = UInt16(a) | UInt16(b & 0x0F) << 8
            let second = UInt16(b >> 4) | UInt16(c) << 4
            guard first < modulus, second < modulus else { return false }
        }
        return true
    }
}
