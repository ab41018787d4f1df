import Sotto
import TestSupport
import Testing

/// Public keys of others with which nothing can be encrypted are refused when they are read.
struct PublicKeyTests {
    /// u-coordinates of points of low order, some not reduced.
    private static let lowOrder = [
        [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
        bytes(hex: "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")!,
        bytes(hex: "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")!,
        [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [0xED] + [UInt8](repeating: 0xFF, count: 31),
    ]

    /// Returns a key of ML-KEM with another coefficient.
    private static func key(_ key: [UInt8], _ place: Int, _ value: UInt16) -> [UInt8] {
        var key = key
        let start = place / 2 * 3
        if place.isMultiple(of: 2) {
            key[start] = UInt8(truncatingIfNeeded: value)
            key[start + 1] = key[start + 1] & 0xF0 | UInt8(value >> 8)
        } else {
            key[start + 1] = key[start + 1] & 0x0F | UInt8(truncatingIfNeeded: value & 0x0F) << 4
            key[start + 2] = UInt8(value >> 4)
        }
        return key
    }

    private func text(_ key: [UInt8]) -> String { Bech32.encode(prefix: "age1pq", key) }

    /// FIPS 203 §7.2: each coefficient is less than 3329.
    @Test func anEncapsulationKeyIsReduced() {
        let known = People.alice.hybridKey.recipient.publicKey
        #expect(AgeHybridRecipient(text(known)) != nil)
        for place in [0, 1, 2, 255, 256, 511, 766, 767] {
            for value in [0, 3328] as [UInt16] {
                #expect(AgeHybridRecipient(text(Self.key(known, place, value))) != nil)
            }
            for value in [3329, 4095] as [UInt16] {
                let bad = text(Self.key(known, place, value))
                #expect(AgeHybridRecipient(bad) == nil, "\(place): \(value)")
                #expect(AgeRecipient(bad) == nil)
            }
        }
        #expect(AgeHybridRecipient(text([UInt8](repeating: 0xFF, count: 1216))) == nil)
    }

    @Test func anX25519KeyHasLargeOrder() {
        let known = People.alice.hybridKey.recipient.publicKey
        for low in Self.lowOrder {
            #expect(AgeHybridRecipient(text(known[..<1184] + low)) == nil)
            #expect(AgeX25519Recipient(Bech32.encode(prefix: "age", low)) == nil)
            let uri = "sotto:\(People.alice.id)?x=\(Base64.url.encode(low))"
            #expect(throws: ContactURIError.x25519) { try ContactURI(uri) }
        }
    }

    /// The owner signs a card with a key that nobody can use.
    @Test func aCardHasKeysThatCanBeUsed() throws {
        let known = People.bob.hybridKey.recipient.publicKey
        let keys = [
            ("pq", text(Self.key(known, 5, 3329))), ("pq", text(known[..<1184] + Self.lowOrder[2])),
            ("age", Bech32.encode(prefix: "age", Self.lowOrder[3])),
        ]
        for (name, key) in keys {
            var record = try #require(People.bob.card().record)
            record["sig"] = nil
            record[name] = .string(key)
            SignedRecord.sign(&record, with: People.bob.signingKey)
            #expect(throws: CardError.member(name)) { try Card(record: record) }
        }
    }

    /// Bundles, and publications of prekeys at a relay.
    @Test func aBundleHasKeysThatCanBeUsed() throws {
        func signed(_ kind: SecretPreKey.Kind) -> PreKeyBundle.SignedPreKey {
            SecretPreKey(kind, id: 1).signed(by: People.bob, at: .now())
        }
        let kem = signed(.postQuantum)
        let badKEM = Self.key(kem.key, 1023, 3400)
        let cases: [(x25519: [UInt8]?, kem: [UInt8], oneTime: [UInt8]?)] = [
            (Self.lowOrder[1], kem.key, nil), (nil, badKEM, nil),
            (nil, kem.key, Self.lowOrder[4]),
        ]
        func sign(_ key: [UInt8], _ label: [UInt8] = []) -> PreKeyBundle.SignedPreKey {
            PreKeyBundle.SignedPreKey(
                id: 1, key: key, signature: People.bob.signingKey.sign(label + key))
        }
        for (x25519, kem, oneTime) in cases {
            let first = x25519.map { sign($0) } ?? signed(.signed)
            let second = sign(kem, PreKeyBundle.pqLabel)
            let key = oneTime ?? SecretPreKey(.oneTime, id: 1).publicHalf.key
            let bundle = try PreKeyBundle(
                identityKey: People.bob.id.publicKey, signedPreKey: first, pqSignedPreKey: second,
                oneTimePreKey: PreKeyBundle.PreKey(id: 1, key: key))
            #expect(throws: PreKeyBundleError.key) { try PreKeyBundle(record: bundle.record) }
            let publication = PreKeyPublication(
                by: People.bob, signedPreKey: first, pqSignedPreKey: second,
                oneTimePreKeys: [PreKeyBundle.PreKey(id: 1, key: key)])
            #expect(throws: PreKeyBundleError.key) {
                try PreKeyPublication(record: publication.record)
            }
        }
    }
}
