import Glibc
import Sotto
import SottoClient
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

/// `recv --blob`: fetches the encrypted file of a message.
struct BlobFetch {
    /// A file with the record, `-`, or the number of an opened message.
    let record: String
    let identity: IdentityChoice
    let lockTimeout: Double
    let relay: AskedRelay
    /// Whether the file stays in the state.
    let isKept: Bool
    let quiet: Bool

    func run() throws {
        try AddressBook.withFiles(
            [record], identity, lockTimeout: lockTimeout,
            hint: { "to save the files of its messages: sotto save --all \($0.argument)" },
            { try fetch() })
    }

    private func fetch() throws {
        let book = AddressBook(identity.load, lockTimeout: lockTimeout)
        let file = try AttachedFile.file(record, in: book)
        guard case .blob(let pointer, _) = try file.validForm(), let place = pointer.place else {
            throw Failure(
                .noInput, "the file of the message is not at a relay",
                hint: "ask the sender for it, and open it with sotto decrypt --attachment")
        }
        guard isKept || !Terminal.isTerminal(1) else {
            throw Failure(
                .usage, "refusing to write an encrypted file to the terminal",
                hint: file.savingCommand(
                    shellWord(record),
                    identity: identity.identityOption))
        }
        let address = try address(place.relay, file.group, book)
        let folder = try BlobFolder(directory: .standard())
        let download = BlobDownload(
            pointer, id: place.id, to: folder.incoming(place.id, of: file.record))
        let output = isKept ? nil : try Output(path: nil, content: .binary)
        let meter = TransferMeter(tool: RecvTool.toolName, quiet: quiet)
        defer { meter.clear() }
        try download.run(at: address) { have in meter.note(have, of: pointer.size) }
        try book.existingStoreWithoutPrompt(identity)?.noteFetched(file.record)
        guard let output else { return }
        try copy(from: Input(path: download.path), to: output)
        try output.finish()
        unlink(download.path)
    }

    /// Returns the relay to ask. The sender chose the one in the message, so it must be the user's own, a contact's, or one
    /// that the rules of the message's group list.
    private func address(
        _ noted: String?, _ group: GroupID?, _ book: AddressBook
    ) throws -> RelayURL {
        let given = try relay.given()
        guard relay.url == nil, let noted else {
            return try given ?? relay.find(fallback: book.identity().relay)
        }
        let choice = try RelayChoice(nil, authorities: relay.authorities)
        guard let asked = try? choice.relay(noted: noted) else {
            throw untrusted(noted)
        }
        if let given, given.replaces(asked) { return given }
        let addresses =
            try [book.identity().relay] + contacts(book).map { $0.card?.relay }
            + listed(in: group, book) + ownDevices(book)
        let known = addresses.compactMap(\.self).compactMap { try? choice.relay(noted: $0) }
        guard let relay = asked.known(among: known) else { throw untrusted(noted) }
        return relay
    }

    private func contacts(_ book: AddressBook) throws -> [Contact] {
        try book.store()?.contacts().filter { !$0.isBlocked } ?? []
    }

    /// Returns the relays of the user's other devices: a file for all of them is at that of the first one.
    private func ownDevices(_ book: AddressBook) throws -> [String?] {
        try book.store()?.preview { try $0.otherDevices().map(\.card.relay) } ?? []
    }

    /// Returns the relays that the rules of a group list. The user must be a member.
    private func listed(in id: GroupID?, _ book: AddressBook) throws -> [String] {
        guard let id, let store = try book.store(),
            let group = try store.preview({ try $0.group(id) }), group.standing == .member
        else { return [] }
        return group.state.policy.relays
    }

    private func untrusted(_ relay: String) -> Failure {
        Failure(
            .untrusted,
            "the message names a relay that is neither yours, nor that of a contact or of the group: \(relay)",
            hint: "if you know this relay, name it with --relay")
    }
}
