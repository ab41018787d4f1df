import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history favourite`: lists a conversation first.
struct FavouriteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "favourite", abstract: "List a conversation before the others.",
        usage: "sotto history favourite [--off] WHO")

    @Flag("--off", help: "List it by its newest message again.")
    var off = false

    @OptionGroup var options: HistoryOptions

    @Argument("who", help: "A contact, an id, me, or the name of a chat.")
    var who: String

    func execute() throws { try options.change(who) { $0.isFavourite = !off } }
}

/// `history mute`: marks a conversation for programs that announce messages.
struct MuteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "mute", abstract: "Mark a conversation whose messages are not to be announced.",
        usage: "sotto history mute [--off] WHO",
        discussion: "Programs that announce messages find the mark in the list of conversations.")

    @Flag("--off", help: "Remove the mark.")
    var off = false

    @OptionGroup var options: HistoryOptions

    @Argument("who", help: "A contact, an id, me, or the name of a chat.")
    var who: String

    func execute() throws { try options.change(who) { $0.isMuted = !off } }
}

/// `history rename`: names a conversation. A contact has one name, in the address book.
struct RenameCommand: Program {
    static let configuration = CommandConfiguration(
        name: "rename", abstract: "Rename a contact, or name another conversation here.",
        usage: """
            sotto history rename WHO NAME
            sotto history rename --off WHO
            """,
        discussion: """
            A contact has one name, so this is the same as contact rename. The name of a group, a chat or your notes is \
            one of this history, and no other member sees it.
            """)

    @Flag("--off", help: "Remove the name of a group, a chat or your notes.")
    var off = false

    @OptionGroup var options: HistoryOptions

    @Argument("who", help: "A contact, an id, me, or the name of a chat.")
    var who: String

    @Argument("name", help: "The new name, 1 to 64 bytes.")
    var name: String?

    func validate() throws {
        guard off == (name == nil) else {
            throw UsageError(off ? "--off takes no name" : "no name is given")
        }
        guard let name else { return }
        guard (1...64).contains(name.utf8.count),
            !name.unicodeScalars.contains(where: \.isInvisible)
        else {
            throw UsageError("the name must have 1 to 64 bytes and no invisible characters")
        }
    }

    func execute() throws {
        let history = try options.open()
        let conversation = try history.conversation(who, for: .acting)
        guard let peer = conversation.peer, peer != history.store.owner.id else {
            return try history.store.transaction { transaction in
                try transaction.change(conversation) { $0.name = self.name }
            }
        }
        guard let name else {
            throw Failure(
                .usage, "the name of a person is the contact's name, which cannot be removed",
                hint: "give the contact another name")
        }
        let notes = try history.book.rename(
            peer, named: who, to: ContactName.checked(name))
        if !options.quiet { for note in notes { Terminal.say("history: \(note)") } }
    }
}

extension HistoryOptions {
    /// Changes the settings of a conversation.
    fileprivate func change(
        _ who: String, _ change: (inout ConversationSettings) -> Void
    ) throws {
        let history = try open()
        let conversation = try history.conversation(who, for: .acting)
        try history.store.transaction { try $0.change(conversation, change) }
    }
}
