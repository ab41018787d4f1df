import Sotto
import SottoMessengers

extension FuzzTarget {
    /// Message Flow's objects. One that is read is written and read back unchanged.
    static let messageFlow = FuzzTarget("message-flow") { bytes in
        guard let record = object(bytes) else { return }
        if let message = try? MessageFlowMessage(record: record) {
            precondition((try? MessageFlowMessage(record: message.record())) == message)
            precondition((try? MessageFlowMessage(record: message.record(http: true))) == message)
        }
        if let content = try? MessageFlowContent(file: record) {
            precondition((try? MessageFlowContent(file: content.file)) == content)
            precondition((try? MessageFlowContent(payload: content.payload)) == content)
        }
        if let ack = try? MessageFlowAck(record: record) {
            precondition((try? MessageFlowAck(record: ack.record())) == ack)
        }
    }
}
