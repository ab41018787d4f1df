import Sotto
import SottoState
import SottoTool

/// `recv --forget`: deletes envelopes of the inbox that cannot be opened.
struct ForgottenEnvelopes {
    /// Ids of envelopes and of senders, and `all`.
    let ids: [String]
    let identity: IdentityChoice
    let lockTimeout: Double
    let quiet: Bool

    /// The word for all senders.
    private static let all = "all"

    func run() throws {
        let senders = ids.filter { $0 != Self.all && !Envelope.isID($0) }
        let unknown = senders.first { KeyID($0) == nil }
        if let unknown {
            throw Failure(
                .usage, "\(unknown) is not the id of an envelope or of a sender, or all",
                hint: "use the member id or claimedFrom of an error record of decrypt")
        }
        let store = try IdentityStore(
            directory: .standard(), identity: identity.load(), lockTimeout: lockTimeout,
            report: Terminal.note)
        var count = try store.forget(ids.filter { Envelope.isID($0) })
        for sender in senders.compactMap({ KeyID($0) }) {
            count += try store.forgetUnopened(from: sender)
        }
        if ids.contains(Self.all) { count += try store.forgetUnopened() }
        guard count > 0 else {
            throw Failure(.no, quiet ? "" : "the inbox has no such envelope")
        }
        if !quiet { Terminal.say("recv: deleted \(count) of the inbox") }
    }
}
