public import Sotto
public import SottoState

/// Whisper2's messages: each is a ``Whisper2Message``.
public enum Whisper2Format: MessengerFormat {
    /// The members of a record that the format interprets.
    public static let payloadMembers = [
        "messageId", "groupId", "from", "to", "timestamp", "nonce", "ciphertext", "sig",
        // The frame of a call.
        "type", "payload",
    ]
    /// The members of a record that are encrypted, and those that prove or describe them.
    public static let encryptedMembers = ["nonce", "ciphertext", "sig"]

    /// The reason to use the format only for exchange with its messenger: one sentence without a full stop.
    public static let legacyReason =
        "an attacker who gets either side's key can decrypt all messages, also old ones, and fields outside the signature can be changed"

    /// The protection in the order of ``SuiteTraits/columns``.
    public static let protection = ["yes", "yes", "no", "no", "no"]

    /// Encrypts a text for the recipient's account, or for one member of a group.
    public static func seal(
        _ draft: Draft, to recipient: MessengerRecipient, with keys: MessengerKeys
    ) throws -> MessengerEnvelope {
        guard let account = recipient.profiles.whisper2 else {
            throw MessengerError.noProfile(.whisper2)
        }
        if draft.body["type"]?.string == CallSignal.type,
            case .call(let signal) = try MessageBody(draft.body).kind
        {
            return try seal(signal, draft, to: recipient.id, account, with: keys)
        }
        let own = try keys.whisper2Keys()
        let text = try draft.text(members: ["replyTo"])
        var hints = Whisper2Hints()
        if let reply = draft.body["replyTo"] {
            guard let id = reply.string, Envelope.isID(id) else { throw SuiteError.textOnly }
            hints = Whisper2Hints(replyTo: id)
        }
        let message: Whisper2Message
        do {
            if let attach = keys.options.attachment {
                hints = Whisper2Hints(
                    kind: .file, replyTo: hints.replyTo, attachment: try attach(own, account))
            }
            message = try Whisper2Message.seal(
                Array(text.utf8), hints: hints, with: own, from: keys.ownWhisperID(), to: account,
                group: keys.options.group, id: draft.id, time: draft.milliseconds)
        } catch let error as Whisper2SealError {
            throw MessengerError(error)
        }
        return MessengerEnvelope(
            id: message.id, messenger: .whisper2, to: recipient.id, time: draft.time,
            payload: message.record)
    }

    /// Returns the account, the group and the unsigned members. An attachment has its key.
    public static func details(
        ofSealed envelope: MessengerEnvelope, to recipient: MessengerRecipient,
        with keys: MessengerKeys
    ) throws -> JSONObject? {
        guard let account = recipient.profiles.whisper2 else {
            throw MessengerError.noProfile(.whisper2)
        }
        if let call = try call(in: envelope.payload) {
            return ["account": .string(call.frame.from.description)]
        }
        // Both sides compute the same key for a box.
        return details(
            try Whisper2Message(record: envelope.payload), true, try keys.whisper2Keys(), account)
    }

    /// Opens a message of a sender whose keys are known. Values outside the signature are in the message's details,
    /// under `untrusted`.
    ///
    /// If the sender's signing key is not known, the message is not authenticated, and its sender is only claimed.
    public static func open(_ envelope: MessengerEnvelope, with keys: MessengerKeys) throws
        -> Message
    {
        do {
            return try opened(envelope, keys)
        } catch is Whisper2RecordError {
            throw SuiteError.refused
        } catch is Whisper2OpenError {
            throw SuiteError.refused
        }
    }

    private static func opened(_ envelope: MessengerEnvelope, _ keys: MessengerKeys) throws
        -> Message
    {
        // A sender who knows only the account addresses the envelope to the account's key.
        let ids = [keys.ownID, KeyID(publicKey: try keys.whisper2Keys().signingKey)]
        guard envelope.to == nil || ids.contains(envelope.to) else { throw SuiteError.refused }
        let call = try call(in: envelope.payload)
        let message = try call == nil ? Whisper2Message(record: envelope.payload) : nil
        guard let frame = call?.frame ?? message?.frame, let to = call?.to ?? message?.to,
            Timestamp.range.contains(frame.time / 1000),
            let sender = try keys.whisper2Account(frame.from)
        else { throw SuiteError.refused }
        if let skew = keys.options.maximumSkew {
            guard frame.skew(from: Timestamp.milliseconds()) <= skew else {
                throw SuiteError.refused
            }
        }
        let own = try keys.whisper2Keys()
        let account = (try? keys.ownWhisperID()) ?? to
        if let call {
            return try self.opened(call, envelope, sender, own, as: account, with: keys)
        }
        guard let message else { throw SuiteError.refused }
        let opened = try message.open(
            with: own, as: account, from: sender.account, allowUnverified: true)
        return Message(
            id: message.id, from: sender.id, to: keys.ownID,
            time: Timestamp(seconds: message.frame.time / 1000), suite: .whisper2,
            authenticated: opened.isVerified,
            details: details(message, opened.isVerified, own, sender.account),
            legacy: legacyReason, body: Message.body(of: opened.plaintext))
    }

    /// Returns a record without its malformed unsigned members, so that an attacker in transit cannot make a message
    /// unreadable by changing them.
    private static func tolerant(_ record: JSONObject) -> JSONObject {
        var record = record
        if Whisper2Hints.Kind(rawValue: record["msgType"]?.string ?? "") == nil {
            record["msgType"] = .string(Whisper2Hints.Kind.file.rawValue)
        }
        for name in ["replyTo", "reactions", "attachment"] {
            guard let value = record[name] else { continue }
            let alone: JSONObject = ["msgType": .string("text"), name: value]
            if (try? Whisper2Hints(record: alone)) == nil { record[name] = nil }
        }
        return record
    }

    private static func details(
        _ message: Whisper2Message, _ isVerified: Bool, _ own: Whisper2Keys,
        _ sender: Whisper2Contact
    ) -> JSONObject {
        let hints = message.untrusted
        let signed: [(String, JSON?)] = [
            ("account", .string(message.frame.from.description)),
            ("group", message.group.map { .string($0) }),
        ]
        let untrusted = JSONObject(
            (isVerified ? [] : signed) + [
                ("msgType", .string(hints.kind.rawValue)),
                ("replyTo", hints.replyTo.map { .string($0) }),
                ("reactions", hints.reactions.map { .object($0) }),
                ("attachment", hints.attachment.map { .object(attachment($0, own, sender)) }),
            ])
        return JSONObject((isVerified ? signed : []) + [("untrusted", .object(untrusted))])
    }

    /// Returns the pointer with the file's key in place of the key box, if the box can be opened.
    private static func attachment(
        _ pointer: Whisper2AttachmentPointer, _ own: Whisper2Keys, _ sender: Whisper2Contact
    ) -> JSONObject {
        var key: String?
        if let secret = try? pointer.fileKey(with: own, from: sender) {
            key = secret.withBytes { Base64.standard.encode(Array($0)) }
        }
        return JSONObject([
            ("suite", .string(SuiteName.whisper2.rawValue)),
            ("objectKey", .string(pointer.objectKey)),
            ("contentType", .string(pointer.contentType)),
            ("size", .integer(pointer.ciphertextSize)),
            ("key", key.map { .string($0) }),
        ])
    }

    /// The longest record, in bytes, that waits for the keys of its sender. The record is not authenticated yet.
    static let waitingLimit = 32 << 10

    /// Returns the account of a sender whose keys are not known, if the message is for the user and not longer than
    /// ``waitingLimit``.
    public static func unknownSender(
        of envelope: MessengerEnvelope, with keys: MessengerKeys
    ) throws -> UnknownSender? {
        guard let message = try? Whisper2Message(record: envelope.payload),
            try message.to == (try? keys.ownWhisperID()) ?? message.to,
            try keys.whisper2Account(message.frame.from) == nil,
            envelope.payload.serialized().count <= waitingLimit
        else { return nil }
        // An identity without words has no account.
        _ = try keys.whisper2Keys()
        let account = message.frame.from
        return UnknownSender(id: account.accountID, account: account.description)
    }

    /// The message's own id, which the signature covers.
    public static func repeatID(of envelope: MessengerEnvelope) -> String {
        if envelope.payload["type"] != nil { return "whisper2/call/" + envelope.id }
        return "whisper2/" + (envelope.payload["from"]?.string ?? "") + "/"
            + (envelope.payload["messageId"]?.string ?? "")
    }

    /// Returns the records in the apps' form. A group message becomes one frame with a box for each member.
    public static func records(
        of envelopes: [MessengerEnvelope], with keys: MessengerKeys
    ) throws -> [JSONObject] {
        guard keys.options.group != nil else { return envelopes.map(\.payload) }
        do {
            let messages = try envelopes.map { try Whisper2Message(record: $0.payload) }
            return [try Whisper2GroupMessage(joining: messages).record]
        } catch let error as Whisper2SealError {
            throw MessengerError(error)
        }
    }

    /// Creates an envelope from a record. From a group frame it takes the user's own message. Malformed members without a
    /// signature are left out.
    public static func envelope(
        of record: JSONObject, with keys: MessengerKeys
    ) throws -> MessengerEnvelope {
        do {
            if let call = try call(in: record) {
                return MessengerEnvelope(
                    id: id(of: call), messenger: .whisper2, to: keys.ownID,
                    time: Timestamp(seconds: call.frame.time / 1000), payload: call.record)
            }
        } catch is Whisper2RecordError {
            throw SuiteError.refused
        }
        let record = tolerant(record)
        let message: Whisper2Message
        do {
            if record["recipients"] == nil {
                message = try Whisper2Message(record: record)
            } else {
                let group = try Whisper2GroupMessage(record: record)
                guard let own = group.message(to: try keys.ownWhisperID()) else {
                    throw SuiteError.refused
                }
                message = own
            }
        } catch is Whisper2RecordError {
            throw SuiteError.refused
        }
        return MessengerEnvelope(
            id: message.id, messenger: .whisper2, to: keys.ownID,
            time: Timestamp(seconds: message.frame.time / 1000), payload: message.record)
    }
}

extension MessengerError {
    init(_ error: Whisper2SealError) {
        switch error {
        case .tooLong(let limit): self = .tooLong(limit: limit)
        case .notText: self = .textOnly
        case .field(let name): self = .field(name)
        case .recipientKey: self = .recipientKey
        case .recipientCount: self = .memberCount(limit: Whisper2GroupMessage.memberLimit)
        case .duplicateRecipient: self = .duplicateMember
        }
    }
}
