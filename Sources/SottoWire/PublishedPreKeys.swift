public import Sotto

/// A publication of prekeys as its carriers see it: verified, and on one line.
public struct PublishedPreKeys: Sendable, Equatable {
    /// What is in it.
    public let publication: PreKeyPublication
    /// The record on one line, without a line feed.
    public let bytes: [UInt8]

    /// A publication that was just made or read.
    public init(_ publication: PreKeyPublication) {
        self.publication = publication
        bytes = publication.record.serialized()
    }

    /// Reads a `prekeys` record. Throws ``Reason/badFields`` for another record or one that nests deeper than
    /// ``WireLimits/envelopeDepth``, ``Reason/tooLarge`` over ``WireLimits/publicationBytes``, and
    /// ``Reason/badSignature`` unless all of it is signed by its owner.
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

/// What a relay has of an owner's prekeys, as it says after a login.
public struct PreKeyStatus: Sendable, Equatable {
    /// How many one-time prekeys are left.
    public let oneTime: Int
    /// The number of the signed prekey.
    public let signedID: UInt32
    /// The highest number of a one-time prekey that the relay ever took; 0 before the first.
    public let oneTimeMark: UInt32

    /// A status of these parts.
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

    init?(_ object: JSONObject) {
        guard let oneTime = object["oneTime"]?.integer.flatMap({ Int(exactly: $0) }), oneTime >= 0,
            let signedID = object["signedId"]?.integer.flatMap({ UInt32(exactly: $0) }),
            let mark = object["oneTimeMark"]?.integer.flatMap({ UInt32(exactly: $0) })
        else { return nil }
        self.init(oneTime: oneTime, signedID: signedID, oneTimeMark: mark)
    }
}
