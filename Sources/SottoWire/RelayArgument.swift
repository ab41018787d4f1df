public import SottoBytes

extension RelayURL {
    /// Parses the value of an option `--relay` as it will be used from a card. Throws a failure with status 64.
    public init(argument: String) throws(Failure) {
        do throws(RelayURL.Invalid) {
            try self.init(argument)
        } catch {
            throw Failure(
                .usage, "the relay address \(error.reason)",
                hint:
                    "use an address of the form tcp://host:port, such as tcp://relay.example.org:7667"
            )
        }
    }
}
