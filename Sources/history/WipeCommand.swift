import Arguments
import Glibc
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history wipe`: removes the state and the keys of an identity from this machine.
struct WipeCommand: Program {
    static let configuration = CommandConfiguration(
        name: "wipe",
        abstract:
            "Remove the messages, contacts, sessions and keys of an identity from this machine.",
        usage: "sotto history wipe [--keep-identity] [--yes] [-i FILE] [-q]",
        discussion: """
            Asks first. The files are removed, not overwritten; their content is encrypted under keys of the identity. \
            Others keep their copies. The outbox keeps envelopes that wait, and the relay keeps mail. The words restore \
            the keys, and a backup restores the contacts.
            """)

    @Flag("--yes", help: "Do not ask.")
    var yes = false

    @Flag("--keep-identity", help: "Keep the identity file.")
    var keepIdentity = false

    @OptionGroup var options: HistoryOptions

    func execute() throws {
        let path = try options.identity.identities.first ?? IdentityFile.defaultPath()
        let identity = try options.identity.load()
        if !keepIdentity { try Self.checkRemovable(path) }
        let store = try StateDirectory.existing().flatMap {
            try IdentityStore.existing(
                in: $0, identity: identity, lockTimeout: options.lock.timeout,
                report: Terminal.note)
        }
        guard store != nil || !keepIdentity else {
            throw Failure(.no, options.quiet ? "" : "the identity has no state")
        }
        if !yes { try ask(path, store) }
        try store?.remove()
        if !keepIdentity {
            if let file = try? Input(path: path).readText(limit: 1 << 20) {
                _ = Keyring.delete(file)
            }
            guard unlink(path) == 0 else { throw Failure(errno: errno, "remove", path) }
        }
        guard !options.quiet else { return }
        let removed = (store == nil ? [] : ["the state"]) + (keepIdentity ? [] : [path])
        Terminal.say("history: removed \(removed.joined(separator: " and "))")
        if store != nil, let relay = identity.relay {
            Terminal.say(
                "history: note: \(relay) still has your prekeys: nobody can read messages that begin with them, until sotto recv publishes new ones"
            )
        }
    }

    private func ask(_ path: String, _ store: IdentityStore?) throws {
        if let store {
            Terminal.say("The state has \(counted(Int(try store.lastNumber()), "message")).")
        }
        if !keepIdentity {
            Terminal.say("The identity file is \(path).")
            Terminal.say(
                "Without its recovery words or a copy of the file, nobody can read the mail for it any more, and your contacts must verify a new identity."
            )
        }
        Terminal.say("The words restore no contacts and no messages; only a backup does.")
        if try store?.preview({ try $0.hasPreKeys() }) == true {
            Terminal.say(
                "A relay to which you sent prekeys still hands them out. Messages that begin with them cannot be opened, until sotto init --recover replaces them."
            )
        }
        let isConfirmed: Bool
        do throws(Failure) {
            isConfirmed = try Terminal.confirms("Type yes to remove them: ")
        } catch {
            guard error.status == .configuration else { throw error }
            throw Failure(
                .configuration, "no terminal is available for the question",
                hint: "to remove them without a question: sotto history wipe --yes")
        }
        guard isConfirmed else { throw Failure(.no, "nothing was removed") }
    }

    /// Throws if the file is a link: its target would remain.
    private static func checkRemovable(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw Failure(errno: errno, "read", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(
                .usage, "\(path) is not a regular file and is not removed",
                hint: "name the identity file itself: sotto history wipe -i FILE")
        }
    }
}
