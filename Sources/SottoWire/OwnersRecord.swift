public import Sotto

/// A signed record that an owner publishes in a relay's directory: a card or a login key record.
public struct OwnersRecord: Sendable, Equatable {
    /// The kind of record.
    public enum Kind: Sendable, Equatable {
        /// A card, which any client may look up.
        case card
        /// The RSA key that may log in, a SubjectPublicKeyInfo in DER; `nil` revokes it.
        case loginKey([UInt8]?)
    }

    /// The id of the owner.
    public let id: SessionID
    /// The kind of record.
    public let kind: Kind
    /// The time of the signature; of two records of a kind the later one is valid.
    public let issued: Timestamp
    /// The record on one line, without a line feed.
    public let bytes: [UInt8]

    /// Parses a `contact` or `login-key` record with a time of issue.
    ///
    /// Throws ``Reason/badFields`` for another record, one that nests deeper than ``WireLimits/envelopeDepth`` or a
    /// card with an address for a single contact, ``Reason/tooLarge`` over ``WireLimits/cardBytes``, and
    /// ``Reason/badSignature`` unless its id has signed it.
    public init(_ record: JSONObject) throws(Reason) {
        guard JSON.object(record).nests(atMost: WireLimits.envelopeDepth) else { throw .badFields }
        bytes = record.serialized()
        guard bytes.count <= WireLimits.cardBytes else { throw .tooLarge }
        if record["type"]?.string == "login-key" {
            do throws(LoginKeyRecord.Invalid) {
                let read = try LoginKeyRecord(record: record)
                (id, issued, kind) = (read.id, read.issued, .loginKey(read.key))
            } catch {
                throw error == .signature ? .badSignature : .badFields
            }
            return
        }
        do throws(CardError) {
            let card = try Card(record: record)
            guard let issued = card.issued, card.address == nil else {
                throw CardError.member("issued")
            }
            (id, self.issued, kind) = (card.id, issued, .card)
        } catch {
            throw error == .signature ? .badSignature : .badFields
        }
    }

    /// Whether a record is of a kind for the directory.
    public static func isOne(_ record: JSONObject) -> Bool {
        ["contact", "login-key"].contains(record["type"]?.string ?? "")
    }
}
