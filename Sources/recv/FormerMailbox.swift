import Sotto
import SottoTool

/// Fetches the mail of the identity that another one replaced, during its time of grace.
///
/// It stays in the inbox and the state of the old identity, whose keys and sessions open it.
struct FormerMailbox {
    let identity: Identity
    let isQuiet: Bool

    /// The most envelopes of one fetch.
    private static let limit = 1_000

    /// Fetches the mail with a `recv` of the old identity, and names the command that opens it. Nothing depends on it, so a failure
    /// is a note.
    func fetch() {
        guard let succession = identity.succession, succession.next == identity.id,
            let file = identity.formerFile, Timestamp.now() < succession.graceEnd
        else { return }
        let option = " -i " + shellWord(file)
        do {
            if case .locked = try IdentityFile.protection(of: file) {
                return note(
                    "the mail of your former identity was not fetched, because it is locked: sotto keygen unlock \(shellWord(file))"
                )
            }
            var run = ToolRun("recv", ["-i", file, "-q", "--json", "--max", "\(Self.limit)"])
            run.collectsMessages = true
            let result = try run.run()
            let lines = result.output.split(separator: UInt8(ascii: "\n"))
            let record = lines.first.flatMap { try? JSON.object(parsing: Array($0)) }
            let hasFailed = record.flatMap { Failure(errorRecord: $0) } != nil
            let count = hasFailed ? 0 : lines.count
            if count > 0 {
                let what = count == 1 ? "1 message" : "\(count) messages"
                note(
                    "\(what) to your former identity arrived; to read: sotto recv --again\(option) | sotto decrypt\(option)"
                )
            } else if result.status != 1 {
                note(
                    "the mail of your former identity was not fetched; to try it: sotto recv\(option) | sotto decrypt\(option)"
                )
            }
        } catch {
            note(
                "the mail of your former identity, in \(file), was not fetched: \(Receiving.text(of: error))"
            )
        }
    }

    private func note(_ text: String) { if !isQuiet { Terminal.say("recv: note: \(text)") } }
}
