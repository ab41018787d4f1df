import NIOCore
import SottoDatabase
import Synchronization

/// The open connections of a relay.
final class ConnectionRegistry: Sendable {
    /// The decision about a new connection.
    enum Decision {
        /// The connection is served.
        case served
        /// The client gets `busy`, and the connection is closed.
        case busy
        /// The connection is closed at once, because too many others are getting `busy`.
        case closed
    }

    private struct State {
        var connections: [ObjectIdentifier: ClientConnection] = [:]
        var served = 0
        var networks: NetworkConnections
    }

    /// The most connections that are getting `busy` at once. It saves descriptors for served connections.
    static let busyLimit = 64

    private let limit: Int
    private let state: Mutex<State>

    /// Descriptors for the store, blobs, the monitor and connections that are getting `busy`. Clients must not use them
    /// up: without one the relay could not connect to its database again.
    private static let reservedDescriptors = 256

    /// Serves at most as many connections as a relay's configuration and its limit of descriptors allow, and as the
    /// configuration allows from each network.
    init(_ configuration: RelayConfiguration, descriptors: Int = .max) {
        limit = min(
            configuration.maximumConnections, max(16, descriptors - Self.reservedDescriptors))
        state = Mutex(
            State(
                networks: NetworkConnections(
                    limit: configuration.networkConnections
                        ?? max(1, configuration.maximumConnections / 4),
                    rate: configuration.networkRate,
                    limitsLoopback: configuration.limitsLoopback)))
    }

    /// The number of open connections.
    var count: Int { state.withLock { $0.connections.count } }

    /// Decides about a new connection from an address, and counts it if it is served.
    func decide(about address: String?) -> Decision {
        state.withLock { state in
            if state.served < limit, state.networks.admit(address, at: Monotonic.seconds()) {
                state.served += 1
                return .served
            }
            let told = state.connections.count - state.served
            return told < Self.busyLimit ? .busy : .closed
        }
    }

    /// Adds a connection until ``remove(_:)``.
    func add(_ connection: ClientConnection) {
        state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
    }

    /// Removes a connection that has ended.
    func remove(_ connection: ClientConnection) {
        state.withLock { state in
            guard state.connections.removeValue(forKey: ObjectIdentifier(connection)) != nil,
                connection.isServed
            else { return }
            state.served -= 1
            state.networks.release(connection.remoteAddress?.ipAddress)
        }
    }

    /// Runs `body` for each connection on its event loop.
    func forEach(_ body: @escaping @Sendable (ClientConnection) -> Void) {
        let all = state.withLock { Array($0.connections.values) }
        for group in Dictionary(grouping: all, by: { ObjectIdentifier($0.loop) }).values {
            group[0].loop.execute { for connection in group { body(connection) } }
        }
    }
}
