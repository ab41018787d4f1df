import Arguments
import Sotto
import SottoState
import SottoTool

/// `keygen prekeys`: prekeys with which other users begin sessions while the owner is offline.
struct PreKeysCommand: Program {
    static let configuration = CommandConfiguration(
        name: "prekeys",
        abstract: "Print new prekeys for publication: keygen prekeys | send.",
        discussion: """
            The secrets are stored in the state; the printed record is public and signed. The signed prekeys are \
            renewed when they are 7 days old, and their secrets deleted 45 days after that. One-time prekeys are \
            created in batches of 50, and each is used once. recv publishes more automatically.

            EXAMPLES
              sotto keygen prekeys -i bob.key | sotto send
              sotto keygen prekeys --bundle -i bob.key > for-alice.bundle
            """)

    @Flag(
        "--bundle",
        help:
            "Print a bundle for one sender, who uses it with encrypt --bundle; no relay is needed."
    )
    var bundle = false

    @Flag("--count", help: "Make none: print the number of one-time prekeys that nobody has used.")
    var counts = false

    @OptionGroup var records: RecordOutput

    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard !bundle || !counts else {
            throw UsageError("--bundle and --count cannot be combined")
        }
    }

    func execute() throws {
        if !counts { try records.check(file: bundle ? "my.bundle" : nil) }
        let identity = try identity.load(argument: file)
        let output = try Output(path: "-", content: .text)
        if counts { return try printCount(identity, output) }
        let store = try IdentityStore(
            directory: .standard(), identity: identity, lockTimeout: lock.timeout,
            report: Terminal.note)
        let count = bundle ? 1 : StateTransaction.batch
        let publication = try store.transaction { transaction in
            if bundle, try transaction.handsOver() { throw StateError.privateDevices }
            return try transaction.publication(oneTime: count)
        }
        if bundle {
            let oneTime = publication.oneTimePreKeys.first
            try output.writeLine(try publication.bundle(oneTime: oneTime).record)
        } else {
            try output.writeLine(publication.record)
        }
        try output.finish()
    }
    private func printCount(_ identity: Identity, _ output: Output) throws {
        let store = try StateDirectory.existing().flatMap { directory in
            try IdentityStore.existing(
                in: directory, identity: identity, lockTimeout: lock.timeout, report: Terminal.note)
        }
        try output.writeText("\(try store?.unusedPreKeys() ?? 0)\n")
        try output.finish()
    }
}
