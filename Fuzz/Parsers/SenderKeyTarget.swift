import Sotto
import SottoMessengers

extension FuzzTarget {
    /// A group message, a sender key distribution, and the stored form of chains.
    static let senderKey = FuzzTarget("sender-key") { bytes in
        if let object = object(bytes) {
            if let message = try? SenderKeyMessage(payload: object) {
                precondition((try? SenderKeyMessage(payload: message.payload)) == message)
                var chain = ReceivedSenderKeyChain(chain.distribution)
                precondition((try? chain.open(message)) == nil)
            }
            if let distribution = try? SenderKeyDistribution(object) {
                roundTrips(ReceivedSenderKeyChain(distribution))
            }
        }
        if let chain = ReceivedSenderKeyChain(encoded: bytes) { roundTrips(chain) }
        if let chain = SenderKeyChain(encoded: bytes) {
            precondition(chain.encoded() == bytes)
        }
    }

    private static let chain = SenderKeyChain(groupID: "fuzz")

    private static func roundTrips(_ chain: ReceivedSenderKeyChain) {
        let encoded = chain.encoded()
        precondition(ReceivedSenderKeyChain(encoded: encoded)?.encoded() == encoded)
    }
}
