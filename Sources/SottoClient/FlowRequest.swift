import NIOCore
import Sotto
import SottoNetwork
import SottoWire

/// A request of the client that has a record in ``RelayProtocol/flow``.
enum FlowRequest {
    /// The acknowledgement of one envelope.
    case acknowledgement(of: String, Request.Handled)
    /// A message, a record on one line, with its id.
    case message(id: String, [UInt8])

    /// The id of the envelope.
    var id: String {
        switch self {
        case .acknowledgement(let id, _), .message(let id, _): id
        }
    }

    /// The record with `type`, on one line, with a line feed.
    var line: [UInt8] {
        switch self {
        case .acknowledgement(let id, let handled): FlowWire.acknowledgement(of: id, handled)
        case .message(_, let message): FlowWire.push(message)
        }
    }

    /// Returns the records in place of a frame, one for each acknowledged envelope, or `nil` for a frame that is sent as it
    /// is.
    static func all(of frame: Frame) -> [FlowRequest]? {
        guard let request = try? Request(frame) else { return nil }
        switch request {
        case .ack(let ids, let handled, _):
            return ids.map { .acknowledgement(of: $0, handled) }
        case .send(let envelope):
            return FlowWire.message(of: envelope.bytes).map {
                [.message(id: envelope.id, $0)]
            }
        default: return nil
        }
    }

    /// Whether a line may have such records: only then it is parsed.
    static func mayBegin(_ line: some Collection<UInt8>) -> Bool {
        Frame.begins(line, type: "send") || Frame.begins(line, type: "ack")
    }
}

/// Translates between frames and the records of ``RelayProtocol/flow`` on a WebSocket connection.
///
/// The relay answers each record with a frame that has the envelope's id. Used only on its event loop, which makes
/// `@unchecked Sendable` safe.
final class FlowLines: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var outgoing = OutgoingLines()
    /// The requests that wait for the answers to the records of an envelope, in order.
    private var asked: [String: [String]] = [:]
    /// The number of answers that a request still waits for.
    private var missing: [String: Int] = [:]
    /// The first mailbox that is opened, to which the acknowledgements belong. Those of others are frames.
    private var first: String?
    /// The number of the last push.
    private var sequence: Int64 = 0

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        for line in outgoing.take(unwrapOutboundIn(data)) {
            let bytes = records(of: Array(line.readableBytesView))
            context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        }
        promise?.succeed()
    }

    private func records(of line: [UInt8]) -> [UInt8] {
        if first == nil, Frame.begins(line, type: "login") {
            first = (try? Frame(parsing: line))?.payload["id"]?.string
        }
        guard FlowRequest.mayBegin(line), let frame = try? Frame(parsing: line),
            frame.payload["id"].map({ $0.string == first }) ?? true,
            let requestID = frame.requestID, let requests = FlowRequest.all(of: frame)
        else { return line + [UInt8(ascii: "\n")] }
        for request in requests { asked[request.id, default: []].append(requestID) }
        missing[requestID] = requests.count
        return requests.flatMap(\.line)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        let line = Array(bytes.readableBytesView.dropLast())
        guard let record = try? JSON.object(parsing: line) else {
            return context.fireChannelRead(data)
        }
        if record["type"]?.string == "new_message", record["message"] != nil {
            // A message that cannot be read is not acknowledged: the relay keeps it.
            guard let envelope = try? FlowWire.envelope(of: record) else { return }
            sequence += 1
            let push = Response.newMessage(
                Delivered(sequence: sequence, envelope: envelope.bytes))
            return emit(push.line(), context)
        }
        guard let id = record["request_id"]?.string, let requestID = asked[id]?.first,
            let frame = try? Frame(parsing: line)
        else { return context.fireChannelRead(data) }
        asked[id]?.removeFirst()
        if asked[id]?.isEmpty == true { asked[id] = nil }
        let left = (missing[requestID] ?? 1) - 1
        missing[requestID] = left > 0 ? left : nil
        // The last answer counts. An envelope whose acknowledgement was refused is delivered again.
        guard left <= 0 else { return }
        emit(Frame(type: frame.type, requestID: requestID, payload: frame.payload).line, context)
    }

    private func emit(_ line: [UInt8], _ context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: line)))
    }
}
