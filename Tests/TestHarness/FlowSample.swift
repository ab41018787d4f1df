package import Sotto
package import SottoWire

/// Envelopes that have the form of Message Flow's messages. Their ciphertext is not one.
package enum FlowSample {
    package static let payload = #"""
        {"ciphertext":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==","ratchetPublicKey":"i0zX7H5XrmGIc5M9axqZRGFrrmxl+xKk+g9RNnA27hI=","chainLength":1,"previousChainLength":0}
        """#

    /// Returns the message of an envelope as Message Flow's document writes it.
    package static func message(_ id: String, from: KeyID, to: KeyID, preKey: String = "") -> String
    {
        #"{"id":"\#(id)","from":"\#(from)","to":"\#(to)","encryptedPayload":\#(payload)"#
            + (preKey.isEmpty ? "" : #","preKey":\#(preKey)"#)
            + #","timestamp":"2025-12-27T09:30:00Z"}"#
    }

    /// Returns the envelope of ``message(_:from:to:preKey:)``.
    package static func record(
        _ id: String = Envelope.newID(), from: KeyID = Sample.identity().id, to: KeyID
    ) throws -> JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("envelope")), ("id", .string(id)),
            ("suite", .string("ratchet")), ("to", .string(to.description)),
            ("from", .string(from.description)), ("time", .string("2025-12-27T09:30:00Z")),
            ("payload", .object(try JSON.object(parsing: Array(payload.utf8)))),
        ])
    }

    package static func envelope(
        _ id: String = Envelope.newID(), from: KeyID = Sample.identity().id, to: KeyID
    ) throws -> AddressedEnvelope {
        try AddressedEnvelope(record(id, from: from, to: to))
    }
}
