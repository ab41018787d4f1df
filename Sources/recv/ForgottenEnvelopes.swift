import Sotto
import SottoState
import SottoTool

/// `recv --forget`: deletes envelopes of the inbox that cannot be opened.
struct ForgottenEnvelopes {
    let ids: [String]
    let identity: IdentityChoice
    let lockTimeout: Double
    let quiet: Bool

    func run() throws {
        if let wrong = ids.first(where: { !Envelope.isID($0) }) {
            throw Failure(
                .usage, "\(wrong) is not the id of an envelope",
                hint: "use the member id of an error record of decrypt")
        }
        let store = try IdentityStore(
            directory: .standard(), identity: identity.load(), lockTimeout: lockTimeout,
            report: Terminal.note)
        let count = try store.forget(ids)
        guard count > 0 else {
            throw Failure(.no, quiet ? "" : "the inbox has no printed envelope with such an id")
        }
        if !quiet { Terminal.say("recv: deleted \(count) of the inbox") }
    }
}
