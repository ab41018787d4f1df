import Sotto

extension FuzzTarget {
    /// A group's message and a distribution of a chain, and the form in which chains are kept.
    static let senderKey = FuzzTarget("sender-key") { bytes in
        if let object = object(bytes) {
            if let message = try? SenderKeyMessage(payload: object) {
                precondition((try? SenderKeyMessage(payload: message.payload)) == message)
                var chain = ReceivedSenderKeyChain(chain.distribution)
                precondition((try? chain.open(message)) == nil)
            }
            if let distribution = try? SenderKeyDistribution(object) {
                keeps(ReceivedSenderKeyChain(distribution))
            }
        }
        if let chain = ReceivedSenderKeyChain(encoded: bytes) { keeps(chain) }
        if let chain = SenderKeyChain(encoded: bytes) {
            precondition(chain.encoded() == bytes)
        }
    }

    private static let chain = SenderKeyChain(groupID: "fuzz")

    private static func keeps(_ chain: ReceivedSenderKeyChain) {
        let encoded = chain.encoded()
        precondition(ReceivedSenderKeyChain(encoded: encoded)?.encoded() == encoded)
    }
}
