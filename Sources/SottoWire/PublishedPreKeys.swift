public import Sotto

/// A verified publication of prekeys, and its record on one line.
public struct PublishedPreKeys: Sendable, Equatable {
    /// The contents of the record.
    public let publication: PreKeyPublication
    /// The record on one line, without a line feed.
    public let bytes: [UInt8]

    /// Takes a publication that was just created or parsed.
    public init(_ publication: PreKeyPublication) {
        self.publication = publication
        bytes = publication.record.serialized()
    }

    /// Parses a `prekeys` record. Throws ``Reason/badFields`` for another record or one that nests deeper than
    /// ``WireLimits/envelopeDepth``, ``Reason/tooLarge`` over ``WireLimits/publicationBytes``, and
    /// ``Reason/badSignature`` unless its owner has signed all of it.
    public init(_ record: JSONObject) throws(Reason) {
        guard JSON.object(record).nests(atMost: WireLimits.envelopeDepth) else { throw .badFields }
        let bytes = record.serialized()
        guard bytes.count <= WireLimits.publicationBytes else { throw .tooLarge }
        do throws(PreKeyBundleError) {
            publication = try PreKeyPublication(record: record)
        } catch .signature {
            throw .badSignature
        } catch {
            throw .badFields
        }
        self.bytes = bytes
    }
}

/// The state of an owner's prekeys at a relay, as reported after a login.
public struct PreKeyStatus: Sendable, Equatable {
    /// The number of one-time prekeys that are left.
    public let oneTime: Int
    /// The id of the signed prekey.
    public let signedID: UInt32
    /// The highest id of a one-time prekey that the relay ever stored; 0 before the first.
    public let oneTimeMark: UInt32

    /// Creates a status from its parts.
    public init(oneTime: Int, signedID: UInt32, oneTimeMark: UInt32) {
        self.oneTime = oneTime
        self.signedID = signedID
        self.oneTimeMark = oneTimeMark
    }

    var object: JSONObject {
        [
            "oneTime": .integer(Int64(oneTime)), "signedId": .integer(Int64(signedID)),
            "oneTimeMark": .integer(Int64(oneTimeMark)),
        ]
    }

    init(_ fields: Fields<FieldError>) throws(FieldError) {
        oneTime = try fields["oneTime"].integer(in: 0...Int.max)
        signedID = try fields["signedId"].integer()
        oneTimeMark = try fields["oneTimeMark"].integer()
    }
}
