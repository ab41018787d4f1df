import Arguments
import SottoBytes
import SottoProgram

/// `sotto read`: receives, and shows what is unread.
struct ReadCommand: Program {
    static let configuration = CommandConfiguration(
        name: "read", abstract: "Receive messages, show the unread ones, and mark them as read.",
        usage: "sotto read [--text | --json] [WHO]",
        discussion: """
            Runs recv | decrypt --events, then history --unread WHO for each conversation with unread messages, and then \
            history read WHO | encrypt | send. If another recv runs, such as that of sotto chat, the first step is left \
            to it. The messages of a sender whom contact accept made a contact are opened too, as with contact accept | decrypt. \
            A message is marked as read after it was written to the end. What happened in groups and to your devices is shown first, \
            with the command that answers a question.

            The output is text on a terminal, and message records otherwise. The exit status is 1 if nothing is unread \
            and nothing happened in a group, and that of recv or decrypt if one failed, also if messages were shown.

            EXAMPLES
              sotto read
              sotto read bob
            """)

    @OptionGroup var form: OutputForm

    @OptionGroup var identity: SharedIdentityOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    @Argument("who", help: "A contact or a group. Default: all conversations.")
    var who: String?

    func execute() throws {
        let identity = try identity.open()
        var (failed, hasNews): (Int32, Bool) = (0, false)
        func openAccepted() throws -> Int {
            let requests = try requests(identity)
            for id in requests.accepted {
                let opened = try open(acceptedFrom: id, identity)
                if opened > 1 { failed = opened }
                hasNews = hasNews || opened == 0
            }
            return requests.strangers
        }
        // What waited was written before what comes now.
        let earlier = try openAccepted()
        let received = try receive(identity)
        if received.failed != 0 { failed = received.failed }
        hasNews = hasNews || received.hasNews
        // Another device can have told that a sender is a contact. decrypt tells of the requests that come now.
        let strangers = min(earlier, try openAccepted())
        let conversations = try who.map { [Unread(argument: $0, name: nil)] } ?? unread(identity)
        var shown = 0
        for conversation in conversations {
            shown += try show(conversation, isAlone: conversations.count == 1, identity) ? 1 : 0
        }
        if strangers > 0, !quiet {
            let words =
                strangers == 1 ? "a message request waits" : "\(strangers) message requests wait"
            Terminal.say("sotto: note: \(words): sotto contact requests\(self.identity.option)")
        }
        // A failure is reported although messages were shown.
        try Delivery.end(failed)
        guard shown == 0, !hasNews else { return }
        throw Failure(.no, quiet ? "" : "nothing is unread")
    }

    private var notes: [String] { quiet ? ["-q"] : [] }

    /// Receives and decrypts what waits at the relay, and shows what happened in groups, which is in no conversation as an unread
    /// message. If this fails, what is here can be read nevertheless. Returns the status of a failure, else 0, and whether
    /// something happened.
    private func receive(
        _ identity: SharedIdentity
    ) throws -> (failed: Int32, hasNews: Bool) {
        var recv = identity.run(.recv, notes + ["--lock-timeout", "0"])
        recv.collectsMessages = true
        let received = try recv.run()
        let messages = String(decoding: received.messages, as: UTF8.self)
        // Another recv prints the messages for its own decrypt.
        let isOther =
            received.status == ExitStatus.tryAgain.rawValue
            && messages.contains("another recv is running")
        if !isOther { recv.show(received) }
        let isUsual = isOther || received.status == ExitStatus.no.rawValue
        let failed = isUsual ? 0 : received.status
        // Without envelopes recv can have fetched files about groups.
        guard failed == 0 || !received.output.isEmpty else { return (failed, false) }
        let input = isOther ? [] : received.output
        let opened = try decrypt(input, identity)
        return (opened > 1 ? opened : failed, opened == 0)
    }

    /// Opens envelopes, and shows what happened in groups. A message that cannot be decrypted is reported by decrypt, and hides no other
    /// one. Returns the status of decrypt.
    private func decrypt(_ input: [UInt8], _ identity: SharedIdentity) throws -> Int32 {
        var decrypt = identity.run(
            .decrypt, ["--events", form.isText ? "--text" : "--json"] + notes, input: input)
        decrypt.showsOutput = true
        return try decrypt.run().status
    }

    /// Returns the ids of contacts whose first messages still wait, because they wrote before they were contacts, and the number of
    /// other senders with waiting messages.
    private func requests(
        _ identity: SharedIdentity
    ) throws -> (accepted: [String], strangers: Int) {
        var list = identity.run(.contact, ["requests", "-q", "--json"])
        // recv reports an error of the state.
        list.collectsMessages = true
        let waiting = records(in: try list.run().output).filter { record in
            record["type"]?.string == "requests" && record["count"]?.integer != 0
        }
        let accepted = waiting.filter { $0["name"] != nil }
        return (
            accepted.filter { $0["account"] == nil }.compactMap { $0["from"]?.string },
            waiting.count - accepted.count
        )
    }

    /// Opens the waiting messages of a contact. Returns the status of decrypt.
    private func open(acceptedFrom id: String, _ identity: SharedIdentity) throws -> Int32 {
        let accept = try identity.run(.contact, last: ["accept", "-q", "--", id]).run()
        guard accept.status == 0 else {
            return accept.status
        }
        return try decrypt(accept.output, identity)
    }

    /// A conversation to read.
    private struct Unread {
        /// The word that names it to the tools.
        let argument: String
        let name: String?
        var isGroup = false
    }

    private func unread(_ identity: SharedIdentity) throws -> [Unread] {
        let result = try identity.run(.history, ["unread", "-q"]).run()
        guard [ExitStatus.done, .no].contains(where: { $0.rawValue == result.status }) else {
            try Delivery.end(result.status)
            return []
        }
        return records(in: result.output).compactMap { record in
            let name = record["name"]?.string
            let argument = (record["with"] ?? record["group"])?.string ?? name
            guard record["type"]?.string == "conversation", let argument else { return nil }
            return Unread(argument: argument, name: name, isGroup: record["group"] != nil)
        }
    }

    /// Shows the unread messages of a conversation, and marks them. Returns whether there are any.
    private func show(
        _ conversation: Unread, isAlone: Bool, _ identity: SharedIdentity
    ) throws -> Bool {
        let page = ["--unread", "-q", "--", conversation.argument]
        let unread = try identity.run(.history, last: page).run()
        guard unread.status != ExitStatus.no.rawValue else { return false }
        try Delivery.end(unread.status)
        let messages = records(in: unread.output)
        guard let last = messages.compactMap({ $0["number"]?.integer }).max() else { return false }
        if form.isText {
            if !isAlone || conversation.isGroup, let name = conversation.name {
                try say(name + ":")
            }
            var shown = identity.run(.history, last: ["--text"] + page)
            shown.showsOutput = true
            try Delivery.end(shown.run().status)
        } else {
            let output = try Output(path: "-", content: .text)
            try output.write(unread.output)
            try output.finish()
        }
        // To change something, a name must be whole. A chat has no id in its records.
        let id = messages.first.flatMap { $0["group"] ?? $0["from"] }?.string
        let isChat = messages.first?["suite"]?.string == "phrase"
        try mark(
            isChat ? conversation.argument : id ?? conversation.argument, upTo: last, identity)
        return true
    }

    private func say(_ line: String) throws {
        let output = try Output(path: "-", content: .text)
        try output.writeText(line.split(whereSeparator: \.isNewline).joined(separator: " ") + "\n")
        try output.finish()
    }

    /// Marks the messages up to a number, and sends the receipts, if the contact gets some.
    private func mark(_ who: String, upTo number: Int64, _ identity: SharedIdentity) throws {
        let receipts = try identity.run(
            .history, last: ["read", "-q", "--upto", "\(number)", "--", who]
        ).output()
        guard !receipts.isEmpty else { return }
        var pipe = identity.pipe([
            PipeRun.Stage("encrypt", ["-q"] + identity.options), PipeRun.Stage("send", ["-q"]),
        ])
        pipe.input = receipts
        pipe.showsOutput = false
        // Receipts that wait in the outbox leave with the next send.
        let status = try pipe.run().status
        if status != ExitStatus.tryAgain.rawValue { try Delivery.end(status) }
    }
}
