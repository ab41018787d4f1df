public import Sotto

/// A signed record that an id's owner gives to a relay's directory: a card, or a word on a login key.
public struct OwnersRecord: Sendable, Equatable {
    /// What it is.
    public enum Kind: Sendable, Equatable {
        /// A card, for whoever asks.
        case card
        /// The RSA key that may log in, a SubjectPublicKeyInfo in DER; `nil` where none may.
        case loginKey([UInt8]?)
    }

    /// Whose it is.
    public let id: SessionID
    /// What it is.
    public let kind: Kind
    /// When it was signed; of two of a kind the later one counts.
    public let issued: Timestamp
    /// The record on one line, without a line feed.
    public let bytes: [UInt8]

    /// Reads a `contact` or `login-key` record that says when it was issued.
    ///
    /// Throws ``Reason/badFields`` for another record, one that nests deeper than ``WireLimits/envelopeDepth``
    /// or a card with an address for one person alone, ``Reason/tooLarge`` over ``WireLimits/cardBytes``, and
    /// ``Reason/badSignature`` unless it is signed by its id.
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

    /// Whether a record is of a kind that goes into a directory.
    public static func isOne(_ record: JSONObject) -> Bool {
        ["contact", "login-key"].contains(record["type"]?.string ?? "")
    }
}
