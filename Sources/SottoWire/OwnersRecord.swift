public import Sotto

/// A signed record in a relay's directory: a card, a login key, the succession or the revocation of its owner, or the record of a
/// room.
public struct OwnersRecord: Sendable, Equatable {
    /// The kind of record.
    public enum Kind: Sendable, Equatable {
        /// A card, which any client may look up by its id or by one of these ids of accounts
        /// (``Card/accountNames``).
        case card(accounts: [String])
        /// The RSA key that may log in, a SubjectPublicKeyInfo in DER; `nil` revokes it.
        case loginKey([UInt8]?)
        /// The record of a room. `publisher` is the key that signed it, 32 bytes. Of two records of a publisher the one with
        /// the higher `seq` is valid.
        case room(publisher: [UInt8], seq: Int64)
        /// Another identity replaces the owner's. The directory keeps each one with another `next`.
        case succession(next: KeyID)
        /// The end of the id, which the directory serves in place of its card and its bundles.
        case revocation
    }

    /// The id of the owner, or the door of the room. The old id of a succession.
    public let id: KeyID
    /// The kind of record.
    public let kind: Kind
    /// The time of the signature; of two records of a kind the later one is valid.
    public let issued: Timestamp
    /// The record on one line, without a line feed.
    public let bytes: [UInt8]

    /// Parses a `contact`, `login-key`, `succession`, `revocation` or `room` record with a time of issue.
    ///
    /// Throws ``Reason/badFields`` for another record, one that nests deeper than ``WireLimits/envelopeDepth`` or a
    /// card with an address for a single contact, ``Reason/tooLarge`` over ``WireLimits/cardBytes``, for a room over
    /// ``WireLimits/roomBytes``, and ``Reason/badSignature`` unless its id, or the publisher of the room, has signed it.
    public init(_ record: JSONObject) throws(Reason) {
        guard JSON.object(record).nests(atMost: WireLimits.envelopeDepth) else { throw .badFields }
        bytes = record.serialized()
        let isRoom = record["type"]?.string == RoomRecord.type
        guard bytes.count <= (isRoom ? WireLimits.roomBytes : WireLimits.cardBytes) else {
            throw .tooLarge
        }
        if isRoom {
            do throws(RoomError) {
                let room = try RoomRecord(record: record)
                (id, issued) = (room.door, room.issued)
                kind = .room(publisher: room.publisher, seq: room.seq)
            } catch {
                throw error == .signature ? .badSignature : .badFields
            }
            return
        }
        if record["type"]?.string == "login-key" {
            do throws(LoginKeyRecord.Invalid) {
                let read = try LoginKeyRecord(record: record)
                (id, issued, kind) = (read.id, read.issued, .loginKey(read.key))
            } catch {
                throw error == .signature ? .badSignature : .badFields
            }
            return
        }
        if record["type"]?.string == Succession.type {
            do throws(Succession.Invalid) {
                let read = try Succession(record: record)
                (id, issued, kind) = (read.former, read.issued, .succession(next: read.next))
            } catch {
                throw error == .signature ? .badSignature : .badFields
            }
            return
        }
        if record["type"]?.string == Revocation.type {
            do throws(Revocation.Invalid) {
                let read = try Revocation(record: record)
                (id, issued, kind) = (read.id, read.issued, .revocation)
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
            (id, self.issued, kind) = (card.id, issued, .card(accounts: card.accountNames))
        } catch {
            throw error == .signature ? .badSignature : .badFields
        }
    }

    /// Whether a record is of a kind for the directory.
    public static func isOne(_ record: JSONObject) -> Bool {
        ["contact", "login-key", RoomRecord.type, Succession.type, Revocation.type].contains(
            record["type"]?.string ?? "")
    }
}
