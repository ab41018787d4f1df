import Sotto
import SottoBytes

/// Signals of calls as Whisper2's frames: an envelope's payload is then the whole frame.
///
/// The box of an offer and of an answer has `{"sdp"}`, that of a candidate the candidate, and that of an end `{}`. The published
/// documents show only the first. Readers take a text in place of the object too.
extension Whisper2Format {
    /// Encrypts a signal of a call for the recipient's account. `busy` is an end with that reason.
    static func seal(
        _ signal: CallSignal, _ draft: Draft, to recipient: KeyID?, _ account: Whisper2Contact,
        with keys: MessengerKeys
    ) throws -> MessengerEnvelope {
        guard keys.options.group == nil, keys.options.attachment == nil else {
            throw MessengerError.textOnly
        }
        let (type, content): (Whisper2FrameType, JSONObject)
        var hints = Whisper2Call.Hints()
        switch signal.kind {
        case .offer:
            (type, content) = (.callInitiate, ["sdp": .string(signal.sdp ?? "")])
            hints = Whisper2Call.Hints(isVideo: signal.media == .video)
        case .answer: (type, content) = (.callAnswer, ["sdp": .string(signal.sdp ?? "")])
        case .candidates:
            // A frame has one candidate.
            guard signal.candidates.count == 1, let only = signal.candidates.first else {
                throw MessengerError.field("candidates")
            }
            (type, content) = (.callIceCandidate, only.object ?? ["candidate": only])
        case .hangup, .busy:
            (type, content) = (.callEnd, [:])
            let reason = signal.kind == .busy ? .busy : signal.reason
            hints = Whisper2Call.Hints(reason: Self.name(of: reason))
        }
        let call: Whisper2Call
        do {
            call = try Whisper2Call.seal(
                content.serialized(), type: type, hints: hints, with: keys.whisper2Keys(),
                from: keys.ownWhisperID(), to: account, id: signal.call, time: draft.milliseconds)
        } catch let error as Whisper2SealError {
            throw MessengerError(error)
        }
        return MessengerEnvelope(
            id: draft.id, messenger: .whisper2, to: recipient, time: draft.time,
            payload: call.record)
    }

    private static func name(of reason: CallSignal.Reason?) -> String {
        switch reason {
        case .accepted, nil: "ended"
        case .declined, .busy, .timeout, .failed: reason?.rawValue ?? "ended"
        }
    }

    /// Returns the call of a frame or of an envelope's payload, or `nil` for a message. Throws ``Whisper2RecordError``.
    static func call(in record: JSONObject) throws -> Whisper2Call? {
        guard let type = record["type"]?.string.flatMap({ Whisper2FrameType(rawValue: $0) }),
            type.isCall
        else { return nil }
        return try Whisper2Call(record: record)
    }

    /// Opens a signal like a message. What its sender did not sign is in the message's details, under `untrusted`, and not in the
    /// body. Throws ``Whisper2OpenError``, and ``SuiteError/refused`` for other content.
    static func opened(
        _ call: Whisper2Call, _ envelope: MessengerEnvelope,
        _ sender: (id: KeyID?, account: Whisper2Contact),
        _ own: Whisper2Keys, as account: WhisperID, with keys: MessengerKeys
    ) throws -> Message {
        let opened = try call.open(
            with: own, as: account, from: sender.account, allowUnverified: true)
        guard let body = body(of: call, opened.plaintext) else { throw SuiteError.refused }
        let hints = call.untrusted
        let untrusted = JSONObject([
            ("isVideo", hints.isVideo.map { .bool($0) }),
            ("reason", hints.reason.map { .string($0) }),
        ])
        return Message(
            id: envelope.id, from: opened.isVerified ? sender.id : nil, to: keys.ownID,
            time: Timestamp(seconds: call.frame.time / 1000), suite: .whisper2,
            authenticated: opened.isVerified,
            details: JSONObject([
                ("account", opened.isVerified ? .string(call.frame.from.description) : nil),
                ("untrusted", .object(untrusted)),
            ]),
            legacy: legacyReason, body: body.record)
    }

    /// Returns the body of a signal, or `nil` if the box has something else.
    private static func body(of call: Whisper2Call, _ plaintext: [UInt8]) -> MessageBody? {
        let object = try? JSON.object(parsing: plaintext)
        let text = String(validating: plaintext, as: UTF8.self)
        let id = call.frame.id
        let signal: CallSignal
        switch call.frame.type {
        case .callInitiate, .callAnswer:
            guard let sdp = object?["sdp"]?.string ?? (object == nil ? text : nil) else {
                return nil
            }
            signal = CallSignal(
                call.frame.type == .callInitiate ? .offer : .answer, call: id, sdp: sdp)
        case .callIceCandidate:
            guard let candidate = object.map({ JSON.object($0) }) ?? text.map({ .string($0) })
            else { return nil }
            signal = CallSignal(.candidates, call: id, candidates: [candidate])
        case .callEnd: signal = CallSignal(.hangup, call: id)
        case .sendMessage, .groupSendMessage: return nil
        }
        // The limits of bodies hold here too.
        return try? MessageBody(MessageBody(.call(signal)).record)
    }

    /// The id of a signal: all signals of a call have the call's id, so this one is made of what its sender signed.
    static func id(of call: Whisper2Call) -> String {
        UUIDText.text(sha256(call.frame.canonical)[..<16])
    }
}
