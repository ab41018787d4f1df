/// The content of a message: an object with a `type`. sotto-formats(5), BODIES.
public struct MessageBody: Sendable, Hashable {
    /// The members that belong to the type.
    public var kind: Kind
    /// The members that any content may have. Empty for a body that is not content.
    public var content: ContentMembers
    /// The members that this version does not know.
    public var extra: JSONObject

    /// The types of bodies with their members.
    public indirect enum Kind: Sendable, Hashable {
        case text(String)
        /// Bytes that are not text.
        case data([UInt8])
        case file(FileBody)
        /// An emoji for a message, or an empty text, which removes it. Each author has one reaction for each target.
        case reaction(MessageTarget, emoji: String)
        /// New content for a message of the same author.
        case edit(MessageTarget, MessageBody)
        case delete(MessageTarget)
        /// The time is the end of the pin.
        case pin(MessageTarget, until: Timestamp?)
        case unpin(MessageTarget)
        case receipt(Receipt)
        /// The lifetime in seconds of the following messages, from 0 to ``BodyLimits/timer``; 0 is no limit.
        case timer(seconds: Int64)
        case typing(Typing, group: String?)
        case presence(Presence, group: String?)
        case profile(OwnerProfile)
        case call(CallSignal)
        /// Messages that their author sends again.
        case history(RepeatedMessages)
        /// A change of a group, a list of devices, data for an own device, the contacts for a new own device, or the news that its author lost a state. Its members are in ``MessageBody/extra``.
        case other(Other)
        /// An event that a program made on this machine, such as a changed key. Its other members are in
        /// ``MessageBody/extra``.
        case system(event: String)
        /// A type that this version does not know. Its members are in ``MessageBody/extra``.
        case unknown(type: String)
    }

    /// Whether the other side types.
    public enum Typing: String, Sendable { case started, stopped }
    /// Whether the other side uses the conversation.
    public enum Presence: String, Sendable { case online, offline }
    /// The types whose members this version does not read.
    public enum Other: String, Sendable { case group, devices, sync, repair, welcome }

    /// Creates a body.
    public init(
        _ kind: Kind, _ content: ContentMembers = ContentMembers(), extra: JSONObject = [:]
    ) {
        self.kind = kind
        self.content = content
        self.extra = extra
    }

    /// Reads a body.
    ///
    /// - Parameter isLocal: Whether the body was made on this machine, so that the type `system` is allowed.
    /// - Throws: ``BodyError`` if a member of a known type is missing or malformed. An unknown type is accepted with any
    ///   members; of these, the members of content are used if they are valid.
    public init(_ record: JSONObject, isLocal: Bool = false) throws(BodyError) {
        do throws(RecordFormError) {
            try RecordForm.body.check(record)
        } catch {
            throw .form(error)
        }
        var reader = BodyReader(record)
        let type = try reader.required("type", reader.text("type"))
        guard type != "system" || isLocal else { throw .system }
        let kind = try Kind(type, &reader)
        content = ContentMembers()
        switch kind {
        case .text, .data, .file: content = try ContentMembers(&reader)
        case .unknown:
            var copy = reader
            if let members = try? ContentMembers(&copy) { (content, reader) = (members, copy) }
        default: break
        }
        self.kind = kind
        extra = reader.rest
    }

    /// The object, with unknown members at its end.
    public var record: JSONObject {
        var record = JSONObject(
            [("type", .string(kind.type))] + kind.members + content.members)
        for (name, value) in extra.members { record[name] = value }
        return record
    }

    /// Whether the body is content, which a message shows, and not an event or a signal.
    public var isContent: Bool {
        switch kind {
        case .text, .data, .file, .unknown: true
        case .reaction, .edit, .delete, .pin, .unpin, .receipt, .timer, .typing, .presence,
            .profile, .call, .history, .other, .system:
            false
        }
    }

    /// The message that the body is for, or `nil`. A reply is content and has no target.
    public var target: MessageTarget? {
        switch kind {
        case .reaction(let target, _), .edit(let target, _), .delete(let target),
            .pin(let target, _), .unpin(let target):
            target
        default: nil
        }
    }
}

extension MessageBody.Kind {
    /// The value of the member `type`.
    public var type: String {
        switch self {
        case .text: "text"
        case .data: "data"
        case .file: "file"
        case .reaction: "reaction"
        case .edit: "edit"
        case .delete: "delete"
        case .pin: "pin"
        case .unpin: "unpin"
        case .receipt: "receipt"
        case .timer: "timer"
        case .typing: "typing"
        case .presence: "presence"
        case .profile: "profile"
        case .call: CallSignal.type
        case .history: RepeatedMessages.type
        case .other(let other): other.rawValue
        case .system: "system"
        case .unknown(let type): type
        }
    }

    fileprivate init(_ type: String, _ reader: inout BodyReader) throws(BodyError) {
        switch type {
        case "text": self = .text(try reader.required("text", reader.text("text")))
        case "data": self = .data(try reader.required("data", reader.data("data")))
        case "file": self = .file(try FileBody(&reader))
        case "reaction":
            let target = try Self.target(&reader)
            let emoji = try reader.required(
                "emoji", reader.text("emoji", limit: BodyLimits.emoji))
            guard emoji.isEmpty || Emoji.isEmoji(emoji) else { throw reader.malformed("emoji") }
            self = .reaction(target, emoji: emoji)
        case "edit":
            let target = try Self.target(&reader)
            let record = try reader.require("body").object()
            let body: MessageBody
            do throws(BodyError) {
                body = try MessageBody(record)
            } catch {
                throw error.within("body")
            }
            guard body.isContent else { throw .notContent(body.kind.type) }
            self = .edit(target, body)
        case "delete": self = .delete(try Self.target(&reader))
        case "pin": self = .pin(try Self.target(&reader), until: try reader.take("until")?.time())
        case "unpin": self = .unpin(try Self.target(&reader))
        case "receipt": self = .receipt(try Receipt(&reader))
        case "timer":
            self = .timer(seconds: try reader.require("seconds").integer(in: 0...BodyLimits.timer))
        case "typing":
            self = .typing(try Self.state(&reader), group: try Self.group(&reader))
        case "presence":
            self = .presence(try Self.state(&reader), group: try Self.group(&reader))
        case "profile": self = .profile(try OwnerProfile(&reader))
        case CallSignal.type: self = .call(try CallSignal(&reader))
        case RepeatedMessages.type: self = .history(try RepeatedMessages(&reader))
        case "system":
            self = .system(
                event: try reader.required(
                    "event", reader.line("event", limit: BodyLimits.name)))
        default:
            self = MessageBody.Other(rawValue: type).map { .other($0) } ?? .unknown(type: type)
        }
    }

    private static func target(_ reader: inout BodyReader) throws(BodyError) -> MessageTarget {
        let target = try reader.object("target") { reader throws(BodyError) in
            try MessageTarget(&reader)
        }
        return try reader.required("target", target)
    }

    private static func state<State: RawRepresentable<String>>(
        _ reader: inout BodyReader
    ) throws(BodyError) -> State {
        try reader.require("state").text { State(rawValue: $0) }
    }

    private static func group(_ reader: inout BodyReader) throws(BodyError) -> String? {
        try reader.line("group", limit: BodyLimits.name)
    }

    fileprivate var members: [(String, JSON?)] {
        func text(_ text: String?) -> JSON? { text.map { .string($0) } }
        return switch self {
        case .text(let value): [("text", .string(value))]
        case .data(let bytes): [("data", .base64(bytes))]
        case .file(let file): file.members
        case .reaction(let target, let emoji):
            [("target", .object(target.record)), ("emoji", .string(emoji))]
        case .edit(let target, let body):
            [("target", .object(target.record)), ("body", .object(body.record))]
        case .delete(let target), .unpin(let target): [("target", .object(target.record))]
        case .pin(let target, let until):
            [("target", .object(target.record)), ("until", text(until?.description))]
        case .receipt(let receipt): receipt.members
        case .timer(let seconds): [("seconds", .integer(seconds))]
        case .typing(let state, let group):
            [("state", .string(state.rawValue)), ("group", text(group))]
        case .presence(let state, let group):
            [("state", .string(state.rawValue)), ("group", text(group))]
        case .profile(let profile): profile.members
        case .call(let call): call.members
        case .history(let repeated): repeated.members
        case .system(let event): [("event", .string(event))]
        case .other, .unknown: []
        }
    }
}

extension BodyError {
    /// Returns the error with the name of an enclosing object before the member.
    fileprivate func within(_ name: String) -> BodyError {
        switch self {
        case .member(let path): .member(name + "." + path)
        case .tooLong(let path, let limit): .tooLong(name + "." + path, limit: limit)
        case .notContent, .system, .form: self
        }
    }
}
