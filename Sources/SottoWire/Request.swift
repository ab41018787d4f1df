public import Sotto

/// A client's request to a relay.
public enum Request: Sendable, Equatable {
    /// Tests the connection. Answered by `pong`.
    case ping
    /// Asks for a nonce to log in with. Answered by `challenge`.
    case challenge
    /// Opens a mailbox on this connection. Answered by `session`.
    case login(Login)
    /// Opens a mailbox on this connection with the token of an earlier login. Answered by `session`.
    case resume(token: String)
    /// Stores an envelope; needs no login. Answered by `stored`, `duplicate`, `deferred` or `rejected`;
    /// an envelope with a time to live of 0 is not stored, and always answered by `accepted`.
    case send(AddressedEnvelope)
    /// Reads the oldest envelopes after a sequence number, or dead letters, without deleting them. Answered by
    /// `messages`.
    ///
    /// `of` names one of several open mailboxes, here and in the next cases; `nil` is the first one.
    case fetch(max: Int, after: Int64, dead: Bool, of: KeyID? = nil)
    /// Subscribes to a mailbox: waiting and new envelopes are pushed. Answered by `subscribed`.
    case subscribe(of: KeyID? = nil)
    /// Deletes envelopes that were delivered, or counts a failure. Answered by `acked`.
    case ack(ids: [String], Handled, of: KeyID? = nil)

    /// Publishes prekeys; needs no login, because the record is signed. Answered by `stored`, even if nothing in it is
    /// new.
    case publish(PublishedPreKeys)
    /// Claims a bundle of an owner's prekeys under an id that the client chose: a lower-case UUID. Repeating the id
    /// returns the same bundle. `address` is an address of the owner that the client was given; it or a proof of work
    /// gets the last one-time prekeys. Answered by `bundle`.
    case claim(owner: KeyID, id: String, address: KeyID? = nil)
    /// Makes 1 to ``WireLimits/claimCount`` claims of different owners at once. Answered by `bundles`.
    case claims([Claim])

    /// Publishes a card, a login key record, a succession, a revocation or the record of a room in the directory; needs no
    /// login, because the record is signed. Answered by `stored`, even if it is older than the stored one.
    case record(OwnersRecord)
    /// Looks up the card of an id. Answered by `card`.
    case lookup(KeyID)
    /// Looks up the cards with the id of an account in another messenger, 1 to 255 bytes. Answered by `cards`: at most
    /// ``WireLimits/cardCount``. A card can have the account of another person.
    case cards(account: String)
    /// Looks up the successions of an id. Answered by `cards` with their records, the oldest ones first, at most
    /// ``WireLimits/cardCount``.
    case successions(of: KeyID)
    /// Looks up the record of a room by its door. Answered by `room`.
    case room(KeyID)
    /// Asks for credentials for TURN servers; needs a login. Answered by `turn`.
    case turn
    /// Asks for a proof of work, after ``Reason/workRequired``. Answered by `puzzle`.
    case puzzle
    /// Sends the counter that solves a puzzle (`ProofOfWork`). Answered by `accepted`: this connection may then
    /// publish a new id.
    case solution(nonce: [UInt8], counter: UInt64)

    /// Stores a piece of a blob; needs no login. The piece is stored only if its offset is the number of bytes that the
    /// relay has. Answered by `blob`. The answer to the last piece comes when the whole blob is on disk.
    case putBlob(BlobPiece)
    /// Asks for the state of a blob. Answered by `blob`; of an unknown one the relay has 0 bytes.
    case blob(id: [UInt8])
    /// Reads bytes of a complete blob, at most ``WireLimits/blobReadBytes``. Answered by `blob_data`.
    case getBlob(id: [UInt8], offset: Int64, count: Int)
    /// Deletes a blob with its deletion key, 32 bytes. Answered by `accepted`, also if there is no such blob.
    case deleteBlob(id: [UInt8], key: [UInt8])

    /// Makes a place for a meeting, for ``WireLimits/meetingSeconds``. `relay` is the relay's name, as in a login. Answered
    /// by `meeting`.
    case openMeeting(relay: String)
    /// A request about the place of a meeting. Answered by `meeting_message`, `stored` or `accepted`.
    case meeting(MeetingRequest)

    /// Registers where the wake-ups of a kind for a mailbox go, in place of an earlier registration of this kind; it
    /// expires after ``WireLimits/wakeDays`` days. Answered by `stored`.
    case registerWake(WakeRegistration, of: KeyID? = nil)
    /// Ends the registrations of a kind, or of all kinds. Answered by `stored`, also without a registration.
    case unregisterWake(WakeRegistration.Kind?, of: KeyID? = nil)
    /// Stores an invitation that a member made: the tag of the code (16 bytes), its public key (32 bytes), and a name for
    /// the invited person or an empty text. Answered by `stored`.
    case invite(tag: [UInt8], key: [UInt8], label: String)
    /// Asks for the room that the relay offers to everybody. Needs no login. Answered by `announcements`.
    case announcements

    /// A claim in a batch.
    public struct Claim: Sendable, Equatable {
        /// The owner of the prekeys.
        public let owner: KeyID
        /// The claim's id: a lower-case UUID.
        public let id: String

        /// Creates a claim.
        public init(owner: KeyID, id: String) { (self.owner, self.id) = (owner, id) }
    }

    /// The result of an envelope at its recipient.
    public enum Handled: String, Sendable {
        /// The recipient has stored it.
        case delivered
        /// The recipient could not process it; after ``WireLimits/failures`` failures it is a dead letter.
        case failed
    }

    /// Parses a request. Throws ``Reason/unknownType``, ``Reason/badFields``, ``Reason/tooLarge``, or
    /// ``Reason/loginFailed`` for a malformed login.
    public init(_ frame: Frame) throws(Reason) {
        let payload = Fields<Reason>(frame.payload)
        func mailbox() throws(Reason) -> KeyID? { try payload["id"].optional?.keyID() }
        switch frame.type {
        case "ping": self = .ping
        case "challenge": self = .challenge
        case "login":
            do throws(FieldError) {
                self = .login(try Login(Fields(frame.payload)))
            } catch {
                throw .loginFailed
            }
        case "resume":
            guard let token = frame.payload["token"]?.string, token.utf8.count <= 256 else {
                throw .loginFailed
            }
            self = .resume(token: token)
        case "send": self = .send(try AddressedEnvelope(payload["envelope"].object()))
        case "fetch":
            self = .fetch(
                max: try payload["max"].optional?.integer(in: 1...WireLimits.fetchCount)
                    ?? WireLimits.fetchCount,
                after: try payload["after"].optional?.integer(in: 0...Int64.max) ?? 0,
                dead: try payload["dead"].optional?.bool() ?? false, of: try mailbox())
        case "subscribe": self = .subscribe(of: try mailbox())
        case "ack":
            self = .ack(
                ids: try payload["ids"].list(counts: 1...WireLimits.ackCount) {
                    (id) throws(Reason) in try id.uuid()
                }, try payload["status"].text { Handled(rawValue: $0) }, of: try mailbox())
        case "prekeys": self = .publish(try PublishedPreKeys(payload["publication"].object()))
        case "claim":
            self = .claim(
                owner: try payload["id"].keyID(), id: try payload["claim"].uuid(),
                address: try payload["address"].optional?.keyID())
        case "claims":
            let counts = 1...WireLimits.claimCount
            let owners = try payload["ids"].list(counts: counts) { (id) throws(Reason) in
                try id.keyID()
            }
            let ids = try payload["claims"].list(counts: counts) { (id) throws(Reason) in
                try id.uuid()
            }
            guard owners.count == ids.count, Set(owners).count == owners.count else {
                throw .badFields
            }
            self = .claims(zip(owners, ids).map { Claim(owner: $0, id: $1) })
        case "record": self = .record(try OwnersRecord(payload["record"].object()))
        case "room": self = .room(try payload["id"].keyID())
        case "turn": self = .turn
        case "lookup": self = .lookup(try payload["id"].keyID())
        case "cards":
            self = .cards(
                account: try payload["account"].text {
                    (1...255).contains($0.utf8.count) ? $0 : nil
                })
        case "successions": self = .successions(of: try payload["id"].keyID())
        case "puzzle": self = .puzzle
        case "solution":
            self = .solution(
                nonce: try payload["nonce"].bytes(count: WireLimits.nonceBytes),
                counter: try payload["counter"].integer())
        case "meeting_open": self = .openMeeting(relay: try MeetingRequest.relay(payload))
        case "meeting_get", "meeting_put", "meeting_end":
            self = .meeting(try MeetingRequest(frame.type, payload))
        case "wake_register":
            self = .registerWake(try WakeRegistration(payload), of: try mailbox())
        case "wake_unregister":
            self = .unregisterWake(
                try payload["kind"].optional?.text { WakeRegistration.Kind(rawValue: $0) },
                of: try mailbox())
        case "invite":
            self = .invite(
                tag: try payload["tag"].bytes(count: 16), key: try payload["key"].bytes(count: 32),
                label: try payload["label"].optional?.text {
                    (1...WireLimits.labelBytes).contains($0.utf8.count) ? $0 : nil
                } ?? "")
        case "announcements": self = .announcements
        case "blob_put": self = .putBlob(try BlobPiece(payload))
        case "blob": self = .blob(id: try payload["id"].bytes(count: WireLimits.blobIDBytes))
        case "blob_get":
            self = .getBlob(
                id: try payload["id"].bytes(count: WireLimits.blobIDBytes),
                offset: try payload["offset"].integer(in: 0...Int64.max),
                count: try payload["count"].integer(in: 1...WireLimits.blobReadBytes))
        case "blob_delete":
            self = .deleteBlob(
                id: try payload["id"].bytes(count: WireLimits.blobIDBytes),
                key: try payload["key"].bytes(count: 32))
        default: throw .unknownType
        }
    }

    /// Returns the request as a line.
    public func line(requestID: String) -> [UInt8] {
        func line(_ type: String, _ payload: JSONObject = [:]) -> [UInt8] {
            Frame(type: type, requestID: requestID, payload: payload).line
        }
        switch self {
        case .ping: return line("ping")
        case .challenge: return line("challenge")
        case .login(let login): return line("login", login.payload)
        case .resume(let token): return line("resume", ["token": .string(token)])
        case .send(let envelope): return Self.sendLine(envelope.bytes, requestID: requestID)
        case .fetch(let max, let after, let dead, let mailbox):
            return line(
                "fetch",
                JSONObject([
                    ("id", Self.json(mailbox)), ("max", .integer(Int64(max))),
                    ("after", .integer(after)), ("dead", .bool(dead)),
                ]))
        case .subscribe(let mailbox):
            return line("subscribe", JSONObject([("id", Self.json(mailbox))]))
        case .ack(let ids, let handled, let mailbox):
            return line(
                "ack",
                JSONObject([
                    ("id", Self.json(mailbox)), ("ids", .array(ids.map { .string($0) })),
                    ("status", .string(handled.rawValue)),
                ]))
        case .publish(let published):
            return Self.publishLine(published.bytes, requestID: requestID)
        case .claim(let owner, let id, let address):
            return line(
                "claim",
                JSONObject([
                    ("id", .string(owner.description)), ("claim", .string(id)),
                    ("address", Self.json(address)),
                ]))
        case .claims(let claims):
            return line(
                "claims",
                [
                    "ids": .array(claims.map { .string($0.owner.description) }),
                    "claims": .array(claims.map { .string($0.id) }),
                ])
        case .record(let record): return Self.recordLine(record.bytes, requestID: requestID)
        case .lookup(let id): return line("lookup", ["id": .string(id.description)])
        case .cards(let account): return line("cards", ["account": .string(account)])
        case .successions(let id): return line("successions", ["id": .string(id.description)])
        case .room(let door): return line("room", ["id": .string(door.description)])
        case .turn: return line("turn")
        case .puzzle: return line("puzzle")
        case .solution(let nonce, let counter):
            return line(
                "solution",
                [
                    "nonce": .base64(nonce),
                    "counter": .integer(Int64(clamping: counter)),
                ])
        case .openMeeting(let relay): return line("meeting_open", ["relay": .string(relay)])
        case .meeting(let request): return line(request.type, request.payload)
        case .registerWake(let registration, let mailbox):
            var payload = registration.payload
            payload["id"] = Self.json(mailbox)
            return line("wake_register", payload)
        case .unregisterWake(let kind, let mailbox):
            return line(
                "wake_unregister",
                JSONObject([
                    ("id", Self.json(mailbox)), ("kind", kind.map { .string($0.rawValue) }),
                ]))
        case .invite(let tag, let key, let label):
            return line(
                "invite",
                JSONObject([
                    ("tag", .base64(tag)), ("key", .base64(key)),
                    ("label", label.isEmpty ? nil : .string(label)),
                ]))
        case .announcements: return line("announcements")
        case .putBlob(let piece): return line("blob_put", piece.payload)
        case .blob(let id): return line("blob", ["id": .base64(id)])
        case .getBlob(let id, let offset, let count):
            return line(
                "blob_get",
                [
                    "id": .base64(id), "offset": .integer(offset),
                    "count": .integer(Int64(count)),
                ])
        case .deleteBlob(let id, let key):
            return line("blob_delete", ["id": .base64(id), "key": .base64(key)])
        }
    }

    private static func json(_ mailbox: KeyID?) -> JSON? {
        mailbox.map { .string($0.description) }
    }

    /// Returns the line that sends an envelope, which must be on one line.
    public static func sendLine(_ envelope: [UInt8], requestID: String) -> [UInt8] {
        line("send", "envelope", envelope, requestID)
    }

    /// Returns the line that publishes prekeys; the record must be on one line.
    public static func publishLine(_ publication: [UInt8], requestID: String) -> [UInt8] {
        line("prekeys", "publication", publication, requestID)
    }

    /// Returns the line that publishes a record in the directory; the record must be on one line.
    public static func recordLine(_ record: [UInt8], requestID: String) -> [UInt8] {
        line("record", "record", record, requestID)
    }

    private static func line(_ type: String, _ member: String, _ record: [UInt8], _ id: String)
        -> [UInt8]
    {
        Frame.line(
            type: type, requestID: id, payload: Frame.payload(member: member, record: record))
    }
}
