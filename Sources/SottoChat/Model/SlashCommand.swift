/// The commands that begin with a slash.
enum SlashCommand: String, CaseIterable, Sendable {
    case reply, react, edit, delete, pin, unpin, pins, forward, file, save, copy, search, older,
        info, read, resend
    case timer, receipts, typing, presence, mute, unmute
    case verify, block, unblock, accept, rename
    case members, grant, invite, remove, leave
    case questions, list, open, unlock, lock, help, quit

    /// The arguments after the name.
    enum Arguments: Sendable, Hashable {
        case nothing
        /// A message, which can be left out, and the word in the help for what follows it.
        case message(then: String?)
        /// Others, as the help has them.
        case words(String)
    }

    var arguments: Arguments {
        switch self {
        case .reply, .edit: .message(then: "TEXT")
        case .react: .message(then: "EMOJI")
        case .delete, .pin, .unpin, .save, .copy, .info: .message(then: nil)
        case .forward: .message(then: "NAME")
        case .file: .words("PATH [TEXT]")
        case .search: .words("TEXT")
        case .timer: .words("TIME | off")
        case .receipts, .typing, .presence: .words("on | off")
        case .verify: .words("[NUMBER]")
        case .block, .unblock: .words("[NAME]")
        case .accept: .words("[NAME]")
        case .rename, .open, .grant, .invite, .remove: .words("NAME")
        case .pins, .older, .read, .resend, .mute, .unmute, .members, .leave, .questions, .list,
            .unlock,
            .lock, .help, .quit:
            .nothing
        }
    }

    /// The arguments in the help.
    var usage: String {
        switch arguments {
        case .nothing: ""
        case .message(then: let word): "[-N | #N]" + (word.map { " " + $0 } ?? "")
        case .words(let words): words
        }
    }

    var help: String {
        switch self {
        case .reply: "reply to the last message, to the Nth from the end, or to message N"
        case .react: "react; the same emoji again removes the reaction"
        case .edit: "change your last message"
        case .delete: "delete your last message on both sides"
        case .pin: "pin a message"
        case .unpin: "remove the pin"
        case .pins: "list the pinned messages; Enter goes to one"
        case .forward: "forward a message to a contact or a group"
        case .file: "send a file; quote a path with spaces"
        case .save: "save the file of a message into the current folder"
        case .copy: "copy the text of a message to the clipboard"
        case .search: "search this conversation; Enter goes to a message"
        case .older: "show earlier messages, as PageUp does"
        case .info: "show everything about a message; without N, about the conversation"
        case .read: "mark all messages here as read"
        case .resend: "try your messages again that did not leave this machine"
        case .timer: "delete the following messages after a time such as 8h or 7d"
        case .receipts: "tell the contact what you got and read"
        case .typing: "tell the contact when you type"
        case .presence: "tell the contact when you are online"
        case .mute: "no bell for this conversation"
        case .unmute: "the bell again"
        case .verify: "show the safety number, or compare it with NUMBER"
        case .block: "drop everything from a contact, or from the sender of the open request"
        case .unblock: "take messages of a contact again"
        case .accept: "the name for the sender of the request that is asked about; Ctrl-Y accepts"
        case .rename: "give the conversation another name here"
        case .members: "list the members of the group, and who is invited"
        case .grant: "show your messages to a member"
        case .invite: "invite a contact into the group"
        case .remove: "remove a member, or take an invitation back"
        case .leave: "leave the group"
        case .questions: "ask again what waits for an answer"
        case .list: "back to the list, as Esc does"
        case .open: "open another conversation"
        case .unlock: "ask for the passphrase of the identity"
        case .lock: "lock the identity and end"
        case .help: "this text"
        case .quit: "end, as Ctrl-D does on an empty line"
        }
    }

    /// Whether it is only for groups.
    var isForGroups: Bool {
        switch self {
        case .members, .grant, .invite, .remove, .leave: true
        default: false
        }
    }

    /// Whether it needs an open conversation.
    var needsConversation: Bool {
        switch self {
        case .questions, .list, .open, .unlock, .lock, .help, .quit, .accept, .block, .unblock:
            false
        default: true
        }
    }

    /// Whether it needs the identity. Those with a text of a message need it when they send that.
    var needsIdentity: Bool {
        switch self {
        case .reply, .edit, .file, .questions, .accept, .list, .unlock, .lock, .help, .quit: false
        default: true
        }
    }

    /// The commands whose argument is a name.
    var takesName: Bool {
        switch self {
        case .forward, .open, .grant, .invite, .remove, .block, .unblock: true
        default: false
        }
    }

    /// The lines of the help.
    static func helpLines(isGroup: Bool) -> [String] {
        let keys = [
            ("Enter", "send"),
            ("Alt-Enter, Ctrl-J", "a line break in the text; a paste keeps its line breaks"),
            ("Up on an empty line", "change your last message; Up again selects messages"),
            (
                "Tab on an empty line",
                "select a message: reply, react, edit, delete, pin, forward, save, copy, info"
            ),
            ("Tab", "complete a command, a name or a path"),
            ("PageUp, PageDown", "scroll; End on an empty line goes to the newest message"),
            ("Ctrl-Y, Ctrl-N, Ctrl-O", "answer a question: yes, no, later"),
            ("Esc", "back from a found message, to the newest, to the list"),
            ("Ctrl-L, Ctrl-Z", "paint the screen again; suspend"),
            ("Ctrl-C", "clear the line; twice on an empty line ends"),
        ]
        let commands = allCases.filter { isGroup || !$0.isForGroups }.map {
            ("/" + $0.rawValue + ($0.usage.isEmpty ? "" : " " + $0.usage), $0.help)
        }
        let all =
            keys + [("", "")] + commands + [("//TEXT", "send a text that begins with a slash")]
        let marks = [
            "",
            "Your messages: … waits, ✓ is stored by the relay, ✓✓ is delivered, ✓✓ read is read, [not sent] failed or did not leave this machine.",
            "The list, before a name: ● online, ✓ verified, ! a changed key, # a group, ~ a chat with a phrase, ? waits for your answer. After it is the number of unread messages.",
            "The header: +2 or 2 unread are messages in other conversations; 3 waiting are messages that the relay has not taken; 2 not sent are messages that did not leave this machine.",
            "A friend: sotto add FILE, or sotto meet. A group: sotto group create NAME WHO --send. Both in another terminal.",
            "A text that was not sent can be selected: e edits it, d removes it, c copies it.",
            "Names are those of your contacts. In the list, a name in “quotation marks” is only claimed.",
        ]
        return all.map { MessageRows.padded($0.0, 24) + ($0.1.isEmpty ? "" : "  " + $0.1) } + marks
    }
}
