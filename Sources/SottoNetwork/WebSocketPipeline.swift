public import NIOCore
import NIOWebSocket

/// The handlers of a WebSocket connection, after the codec of its frames.
public enum WebSocketPipeline {
    /// The most fragments of a message.
    private static let fragments = 256

    /// Returns the handlers of a client, which turn messages of at most `messageBytes` bytes into lines and back.
    public static func client(messageBytes: Int) -> [any ChannelHandler] {
        [aggregator(messageBytes), WebSocketLines(isClient: true)]
    }

    /// Returns the handlers of a server, which also check the client's frames. `counter` gets them before they are
    /// joined to messages.
    public static func server(
        messageBytes: Int, counter: any ChannelHandler
    ) -> [any ChannelHandler] {
        [WebSocketRules(), counter, aggregator(messageBytes), WebSocketLines(isClient: false)]
    }

    private static func aggregator(_ bytes: Int) -> any ChannelHandler {
        NIOWebSocketFrameAggregator(
            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: fragments,
            maxAccumulatedFrameSize: bytes)
    }
}
