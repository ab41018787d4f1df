import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// `history unsent`: the own messages that reached no outbox, or that members of a group lack.
struct UnsentCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unsent",
        abstract: "Print the messages of the last 30 days that were encrypted here and not sent.",
        usage: "sotto history unsent [--all] [--text | --json] [-q] [WHO]",
        discussion: """
            A message is not sent if none of its envelopes reached the outbox of this home, for example because the pipe \
            to send was forgotten, or if the relay refused it. A message to a group is also printed while members lack it who may read it: the relay of a \
            member is not listed, a key is not trusted, or a restored group is not confirmed. The records are as they were \
            stored, with edits and reactions by themselves. A message that was encrypted less than a minute ago can still be on its way. \
            To send them: sotto history repeat WHO --send
            """)

    @Flag(
        "--all",
        help:
            "Also those whose envelopes were written to a file, encrypted with --elsewhere, dropped from the outbox, or ended there."
    )
    var all = false

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument("who", help: "A contact, an id, me, or the name of a group. Default: all.")
    var who: String?

    func execute() throws {
        let history = try options.open()
        let conversation = try who.map { try history.conversation($0, for: .reading) }
        let entries = try history.unsent(in: conversation, all: all)
        if !options.quiet { try history.noteUntoldGroups(conversation) }
        guard !entries.isEmpty else {
            let waiting = try history.store.waitingForFirstDevice(in: conversation)
            guard waiting == 0 else {
                throw history.nothing(
                    "\(counted(waiting, "message")) \(waiting == 1 ? "waits" : "wait") for machine one, which sends what its devices write: run sotto read and sotto device sync --send there"
                )
            }
            let others = try all ? [] : history.unsent(in: conversation, all: true)
            throw history.nothing(
                (try history.hasQueuedMail()
                    ? "all messages were sent, or wait in the outbox: sotto send --list"
                    : "all messages were sent")
                    + (others.isEmpty
                        ? "" : "; those that were handed on or dropped: sotto history unsent --all")
            )
        }
        let output = try Output(path: "-", content: .text)
        let showing = MessageShowing(
            history, output, text: form.isText, isMixed: conversation == nil)
        if form.isText {
            try showing.print(history.store.views(of: entries))
        } else {
            try showing.print(raw: entries)
        }
        try output.finish()
        guard !options.quiet, form.isText else { return }
        guard !all else {
            return Terminal.say(
                "history: to send one again, by its number: sotto history repeat NUMBER --send")
        }
        for conversation in history.conversations(of: entries) {
            let some = entries.filter { $0.conversation == conversation }
            guard let note = try history.wayOn(for: some, in: conversation) else { continue }
            Terminal.say("history: \(note)")
        }
    }
}

extension OpenHistory {
    /// Names the groups with changes, invitations or grants that were not sent, which are no messages.
    fileprivate func noteUntoldGroups(_ conversation: Conversation?) throws {
        let groups = try store.groups().groups.filter { group in
            conversation.map { $0.group == group.id } ?? true
        }
        let untold = try store.preview { transaction in
            let names = try transaction.groupNames()
            return try groups.filter { try transaction.untold(in: $0) != nil }
                .map { names[$0.id] ?? $0.id.short }
        }
        for name in untold {
            Terminal.note(
                "changes, invitations or grants of \(name) were not sent; to send them: sotto group sync \(shellWord(name)) --send"
            )
        }
    }

    /// Returns the conversations of messages, each once.
    fileprivate func conversations(of entries: [HistoryEntry]) -> [Conversation] {
        var seen: Set<Conversation> = []
        return entries.map(\.conversation).filter { seen.insert($0).inserted }
    }

    /// Returns the command that sends the messages of a conversation again, or what they wait for. `nil` for a chat.
    fileprivate func wayOn(
        for entries: [HistoryEntry], in conversation: Conversation
    ) throws -> String? {
        let ways = try departures(of: entries)
        let isRecent = entries.allSatisfy { ways[$0.number] == .unsent(isRecent: true) }
        func repeating(_ who: String) -> String {
            isRecent
                ? "if it is not sent in a minute: sotto history repeat \(who) --send"
                : "to send it: sotto history repeat \(who) --send"
        }
        switch conversation {
        case .peer(let peer):
            return repeating(try store.readableContact(id: peer)?.argument ?? peer.description)
        case .group(let id):
            let word = shellWord(try store.preview { try $0.groupNames() }[id] ?? id.short)
            let group = try store.preview { transaction in
                try transaction.readableGroup(id).map {
                    (isDoubtful: $0.isDoubtful, synced: try transaction.syncedMessages(in: $0))
                }
            }
            if group?.isDoubtful == true {
                return
                    "no other member confirmed \(word) since it was restored; to ask: sotto group sync \(word) --send"
            }
            let isSynced = entries.allSatisfy { entry in
                entry.id.map { group?.synced.contains($0) == true } ?? false
            }
            return isSynced
                ? "to send it: sotto group sync \(word) --send" : repeating(word)
        default: return nil
        }
    }
}
