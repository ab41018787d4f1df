package import Sotto
package import SottoState
import SottoTool

/// The words for the message that a reply, a reaction, an edit, a deletion, a pin or a receipt is about.
package enum TargetWords {
    /// The words for a message whose content is not here.
    package static let unknown = "a message"

    /// The displayed width, in columns.
    private static let width = 32

    /// Returns the first words of the message that the body of a message is about, in quotation marks, or ``unknown``.
    package static func of(_ message: Message, _ store: IdentityStore) throws -> String {
        try of(message.body, in: Conversation(of: message, owner: store.owner.id), store)
    }

    /// Returns the first words of the message that a body of a conversation is about, in quotation marks, or ``unknown``.
    package static func of(
        _ body: JSONObject, in conversation: Conversation, _ store: IdentityStore
    ) throws -> String {
        try of(body, try? MessageBody(body, isLocal: true), in: conversation, store)
    }

    /// Returns the words for the message that a message of the history is about, like ``of(_:in:_:)``.
    package static func of(_ view: MessageView, _ store: IdentityStore) throws -> String {
        try of(view.body ?? [:], view.parsedBody, in: view.entry.conversation, store)
    }

    private static func of(
        _ body: JSONObject, _ parsed: MessageBody?, in conversation: Conversation,
        _ store: IdentityStore
    ) throws -> String {
        guard let target = parsed?.onlyTarget else { return unknown }
        let found = try store.historyEntries(id: target.id, in: conversation).first { entry in
            target.from.map { entry.author(store.owner.id) == $0 } ?? true
        }
        guard let found, let view = try store.views(of: [found]).first,
            let present = view.body
        else { return unknown }
        // An edit is about the text before it.
        let isEdit = body["type"]?.string == "edit"
        let before = isEdit ? view.versions.dropLast().last?.body : nil
        return quoted(Quotation.text(of: before ?? present))
    }

    /// Returns words such as `reply to "lunch?"` for a message that is a reply, or `nil` for another one.
    package static func ofReply(_ message: Message, _ store: IdentityStore) throws -> String? {
        let conversation = Conversation(of: message, owner: store.owner.id)
        guard let quotation = try Quotation(message.body, in: conversation, store) else {
            return nil
        }
        let (text, note) = quotation.shown
        return "reply to " + (text.isEmpty ? unknown : quoted(text))
            + (note.map { ", \($0)" } ?? "")
    }

    /// Returns the first line of a text that another person chose, without characters that a terminal interprets.
    package static func firstLine(of text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).first ?? ""
        let plain = line.unicodeScalars.map { $0.isInvisible ? "\u{FFFD}" : $0 }
        return String(String.UnicodeScalarView(plain))
    }

    /// Returns the first words of a text in quotation marks: no character in them ends the words or the line.
    static func quoted(_ text: String) -> String {
        let plain = firstLine(of: text).unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar {
            case "\"": "'"
            case "[": "("
            case "]": ")"
            default: scalar
            }
        }
        return "\"\(Table.cut(String(String.UnicodeScalarView(plain)), to: width))\""
    }
}

extension MessageBody {
    /// The only message that the body is about; its author, if the body names one.
    fileprivate var onlyTarget: (id: String, from: KeyID?)? {
        switch kind {
        case .reaction(let target, _): (target.id, target.from)
        case .edit(let target, _): (target.id, target.from)
        case .delete(let target): (target.id, target.from)
        case .pin(let target, _): (target.id, target.from)
        case .unpin(let target): (target.id, target.from)
        case .receipt(let receipt): receipt.ids.count == 1 ? (receipt.ids[0], nil) : nil
        case .text, .data, .file, .timer, .typing, .presence, .profile, .call, .history, .other,
            .system, .unknown:
            nil
        }
    }
}
