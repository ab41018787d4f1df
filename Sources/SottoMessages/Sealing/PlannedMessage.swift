import Sotto
import SottoContacts
import SottoState
import SottoTool

/// A message that has its places in the sessions, before its encryption.
struct PlannedMessage: Sendable {
    /// A copy of the message for one recipient.
    enum Copy: Sendable {
        case suite(any MessageSuite.Type, Recipient, Draft)
        case session(PeerSession.Prepared)
        /// No envelope is made: machine one makes it from the record in the history.
        case machineOne(Draft)

        /// Returns the message on its way. Throws the failure of the encryption.
        func sent(_ keys: SuiteKeys) throws -> Sent {
            if case .machineOne(let draft) = self { return .toMachineOne(draft) }
            return .envelope(try envelope(keys))
        }

        func envelope(_ keys: SuiteKeys) throws -> Envelope {
            switch self {
            case .suite(let suite, let recipient, let draft):
                try suite.seal(draft, to: recipient, with: keys)
            case .session(let prepared): prepared.envelope()
            case .machineOne: throw Failure(.bug, "machine one makes the envelope")
            }
        }
    }

    /// A message that was encrypted, or that machine one encrypts.
    enum Sent {
        case envelope(Envelope)
        case toMachineOne(Draft)

        var id: String {
            switch self {
            case .envelope(let envelope): envelope.id
            case .toMachineOne(let draft): draft.id
            }
        }
    }

    /// A copy of the message for another device of a recipient.
    struct DeviceCopy: Sendable {
        /// The name of the recipient with that of the device.
        let name: String
        /// The device; `nil` if the copy has failed.
        let destination: Destination?
        let copy: Result<Copy, Failure>
    }

    let message: MessageText
    let time: Timestamp
    let destinations: [Destination]
    let bodies: [JSONObject]
    let uploads: [Destination.Upload?]
    /// The copies for the recipients. One that fails does not keep the message from the others.
    let copies: [Result<Copy, Failure>]
    /// The copies for the other devices of each recipient. One that fails does not keep the message from the others.
    let deviceCopies: [[DeviceCopy]]
    /// The places of the conversations with the recipients; `nil` for a message that is not recorded.
    let places: [ConversationPlace?]?
    /// Whether the envelopes do not go to `send` in this home.
    let isHandedOn: Bool

    /// Encrypts the message and its rows, on any thread. Call it once: a session's key must not encrypt twice.
    ///
    /// Throws the failure of the first copy if all fail.
    func encrypted(_ keys: SuiteKeys, _ store: IdentityStore?) throws -> EncryptedMessage {
        var messages: [Sent?] = []
        var failures: [(name: String, failure: Failure)] = []
        for (destination, copy) in zip(destinations, copies) {
            switch try result({ try copy.get().sent(keys) }) {
            case .success(let sent): messages.append(sent)
            case .failure(let failure):
                messages.append(nil)
                failures.append((destination.recipient?.name ?? "the chat", failure))
            }
        }
        if failures.count == copies.count, let first = failures.first { throw first.failure }
        var lines: [JSONObject] = []
        var copied: [(message: String, copies: [String])] = []
        for (index, message) in messages.enumerated() {
            guard case .envelope(let envelope)? = message else {
                // The file goes to the relay from here.
                if message != nil, let upload = uploads[index],
                    let recipient = destinations[index].recipient
                {
                    lines.append(
                        upload.record(to: recipient.card?.address ?? recipient.id).record)
                }
                continue
            }
            let recipient = destinations[index].lines(envelope, uploads[index])
            lines += recipient
            var ids: [String] = []
            for device in deviceCopies[index] {
                switch try result({ try device.copy.get().envelope(keys) }) {
                case .success(let copy):
                    guard var line = device.destination?.line(copy) else { continue }
                    // The file is uploaded once, for the first device.
                    line["blob"] = recipient.last?["blob"]
                    lines.append(line)
                    ids.append(copy.id)
                case .failure(let failure): failures.append((device.name, failure))
                }
            }
            if !ids.isEmpty { copied.append((envelope.id, ids)) }
        }
        return EncryptedMessage(
            lines: lines.map { $0.serialized() }, rows: rows(messages, keys, store),
            copies: copied,
            reached: zip(destinations, messages).compactMap { $1 == nil ? nil : $0 },
            failures: failures)
    }

    /// Returns the rows of the message for the history: one for each recipient, but one for a chat.
    private func rows(
        _ messages: [Sent?], _ keys: SuiteKeys, _ store: IdentityStore?
    ) -> [HistoryRow] {
        guard let store, let places else { return [] }
        let chat = keys.chats.first.map { JSON.object($0.details) }
        var rows: [HistoryRow] = []
        for (index, message) in messages.enumerated() {
            guard let message else { continue }
            var (suite, written) = (Suite.sealed, time)
            var state = HistoryEntry.State.waiting
            if case .envelope(let envelope) = message {
                (suite, written) = (envelope.suite, envelope.time)
                state = isHandedOn ? .handedOn : .new
            }
            let isOfChat = suite.traits.isOfChat
            if isOfChat, index > 0 { continue }
            let sent = Message(
                id: message.id, from: store.owner.id, to: destinations[index].id,
                time: written, suite: SuiteName(suite), authenticated: true,
                trust: .verified, details: isOfChat ? chat.map { ["chat": $0] } : nil,
                body: bodies[index].recorded(in: nil, by: store.owner.id),
                members: JSONObject(self.message.extra.map { ($0.name, $0.value) }))
            rows.append(
                store.row(
                    ofSent: sent, state: state, in: places[index], at: time))
        }
        return rows
    }
}

/// An encrypted message: its serialized lines, and its rows for the history.
struct EncryptedMessage: Sendable {
    let lines: [[UInt8]]
    let rows: [HistoryRow]
    /// The messages that were encrypted for other devices too, with the ids of these envelopes.
    let copies: [(message: String, copies: [String])]
    /// The recipients for whom it was encrypted.
    let reached: [Destination]
    /// The recipients for whom the message could not be encrypted, although it was for others.
    let failures: [(name: String, failure: Failure)]
}
