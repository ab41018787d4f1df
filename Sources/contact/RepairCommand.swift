import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `contact repair`: tells contacts that the state was lost or restored.
struct RepairCommand: Program {
    static let configuration = CommandConfiguration(
        name: "repair",
        abstract: "Tell contacts that this state was lost or restored, as records for encrypt.",
        usage: "sotto contact repair [--json] [-q] [NAME ...]",
        discussion: """
            Only a state works that was made, found copied, or found earlier than a signature of yours, in the last 30 days. A \
            contact is told if no session began since with one of the contact's machines, or if an envelope that cannot be opened \
            claims to be from the contact; at most once a day. Your other devices are told too. The next message of a contact who was told begins a new session, and the contact can send earlier \
            messages again with history repeat. On a terminal without --json the contacts are listed and nothing is changed. To \
            tell them: sotto contact repair --send
            """)

    @OptionGroup var records: RecordOutput

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "A contact. Default: all who are due.")
    var names: [String] = []

    func execute() throws {
        let book = try options.open()
        let chosen = try names.map { try book.contact($0) }
        guard let store = try book.book.store(),
            let state = try store.preview({ try $0.newState() })
        else {
            throw Failure(
                .no, "this state is neither new nor restored, so contacts are not told anything",
                hint:
                    "if it is an earlier one, begin new sessions: sotto recv --bundle WHO, then sotto encrypt --new-session --to WHO"
            )
        }
        options.note("\(state.words) on \(state.since.description.prefix(10))")
        let all = try store.preview { try $0.repairsDue(state) }
        let due = all.filter { due in
            chosen.isEmpty || chosen.contains { $0.id == due.id }
        }
        let untold = due.filter { $0.told == nil }
        guard !untold.isEmpty else { throw try nothingToTell(due, store) }
        guard records.isForced || !Terminal.isTerminal(1) else { return try list(due) }
        let told = try book.book.writableStore().transaction { transaction in
            // Another process may have told some of them meanwhile.
            try transaction.repairsDue(state).filter { due in
                due.told == nil && untold.contains { $0.id == due.id }
            }.map { due in
                try transaction.beginRepair(with: due)
                return due.id
            }
        }
        let output = try Output(path: "-", content: .text)
        for id in told {
            try output.writeRecord(ComposedMessage(to: id, RepairBody.body(of: state)).record)
        }
        try output.finish()
    }

    /// The reason why nobody is told. `due` were told already.
    private func nothingToTell(
        _ due: [StateTransaction.RepairDue], _ store: IdentityStore
    ) throws -> Failure {
        if let last = due.compactMap(\.told).max() {
            return Failure(
                .no,
                "they were told today already, the last one at \(last): what they write after they read it begins new sessions; a day later you can tell them again"
            )
        }
        guard try store.contacts().allSatisfy(\.name.isEmpty) else {
            return Failure(.no, "sessions with all these contacts began since")
        }
        let isFirst = store.owner.owner == nil
        return Failure(
            .no, "the address book is empty, so no contact can be told",
            hint: isFirst
                ? nil
                : "run on machine one, read the mail here, and try again: sotto device announce NAME --send"
        )
    }

    /// Shows the contacts on a terminal.
    private func list(_ due: [StateTransaction.RepairDue]) throws {
        let output = try Output(path: "-", content: .text)
        for due in due {
            let why =
                due.told.map { "told at \($0)" }
                ?? due.unopened.map {
                    "a message that claims to be from there could not be opened at \($0)"
                }
                ?? "no session since"
            let name = due.isOwn ? ownDevice(named: due.name) : due.name
            try output.writeText("\(Terminal.escapingControls(name))  \(why)\n")
        }
        try output.finish()
        let words = names.map { " " + shellWord($0) }.joined()
        options.note(
            "to tell them: sotto contact repair\(options.identity.choice.identityOption) --send\(words)"
        )
    }
}

extension NewState {
    /// The words for the cause.
    fileprivate var words: String {
        switch cause {
        case .made: "this state was made"
        case .copied: "this state can be an earlier one: it was found in another file"
        case .behind: "this state is an earlier one: a later signature of yours was noticed"
        }
    }
}
