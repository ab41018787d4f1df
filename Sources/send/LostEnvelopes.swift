import SottoBytes
import SottoClient
import SottoTool
import SottoWire

/// Envelopes that left the outbox without a confirmation that a relay stored them.
struct LostEnvelopes {
    private var counts: [DeliveryResult.Status: Int] = [:]
    private var unsentSignals = 0
    private var reason = ""
    /// Whether a relay refused a file because it takes none.
    private var takesNoFiles = false
    /// The relay that serves only members and refused a publication.
    private var closedRelay: RelayURL?

    mutating func add(_ result: DeliveryResult) {
        guard !result.isSignal || result.status != .dropped else {
            unsentSignals += 1
            return
        }
        counts[result.status, default: 0] += 1
        if let refusal = result.refusal { reason = refusal.reason }
        if result.isBlob, result.refusal?.reason == Reason.unknownType.rawValue {
            takesNoFiles = true
        }
        if result.refusal?.reason == Reason.notAdmitted.rawValue, result.to == nil {
            closedRelay = result.relay.flatMap { try? RelayURL($0) }
        }
    }

    /// The failure that reports them, or `nil` if no envelope was lost.
    var failure: Failure? {
        var parts: [String] = []
        if let count = counts[.rejected] {
            let why = takesNoFiles ? "it takes no files" : reason
            parts.append("the relay rejected \(count) (\(why))")
        }
        if let count = counts[.dropped] { parts.append("\(count) dropped from the outbox") }
        if let count = counts[.expired] {
            parts.append("the time to live of \(count) ended in the outbox")
        }
        if let count = counts[.unknown] {
            parts.append("it is unknown whether the relay stored \(count)")
        }
        if unsentSignals > 0 {
            parts.append("\(unsentSignals) with a time to live of 0 not sent")
        }
        guard !parts.isEmpty else { return nil }
        let hint =
            takesNoFiles
            ? "another relay can take files: sotto keygen set --relay URL --send"
            : reason == DeliveryResult.noFile
                ? "the file is in the home in which it was encrypted; send the message there, without --elsewhere: sotto history repeat NUMBER --send"
                : counts[.unknown] == nil
                    ? closedRelay.flatMap {
                        ClientError.notAdmitted(relay: $0, hadCode: false).failure.hint
                    }
                    : "another version of send handled them; ask the recipient whether they arrived"
        return Failure(.partial, parts.joined(separator: "; "), hint: hint)
    }
}
