import SottoBytes
import SottoState
import SottoTool

/// `recv --again`: prints the envelopes in the inbox that were printed before.
struct PrintedEnvelopes {
    let identity: IdentityChoice
    let lockTimeout: Double
    /// The number of envelopes after which to end; `nil` for no limit.
    let maximum: Int?

    /// The maximum number of envelopes that are read at once.
    private static let batchSize = 256

    func run() throws {
        let failure = FailureRecord()
        try failure.write(onFailureOf: { try print(failure) })
    }

    private func print(_ failure: FailureRecord) throws {
        let store = try IdentityStore(
            directory: .standard(), identity: identity.load(), lockTimeout: lockTimeout,
            report: Terminal.note)
        let output = try Output(path: nil, content: .text)
        let maximum = maximum ?? .max
        var number: Int64 = 0
        var count = 0
        while count < maximum {
            let rows = try store.kept(
                .unfinished, after: number, limit: min(Self.batchSize, maximum - count))
            guard let last = rows.last else { break }
            number = last.number
            count += rows.count
            failure.hasPrinted = true
            for row in rows { try output.write(row.envelope + [UInt8(ascii: "\n")]) }
        }
        try output.finish()
        guard count > 0 else { throw Failure(.no, "") }
    }
}
