import TestSupport

/// A relay for the hints that need one. It ends with the value.
final class HintRelay {
    private let scratch = TemporaryDirectory()
    private let process: RelayProcess

    init?() {
        guard let process = RelayProcess(scratch) else { return nil }
        self.process = process
    }

    deinit { process.end() }

    /// Its URL, for `SOTTO_RELAY`.
    var url: String { "tcp://\(process.address)" }
}
