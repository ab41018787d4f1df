import NIOCore
import Synchronization

/// The connections that are open.
final class Registry: Sendable {
    /// The decision about a new connection.
    enum Welcome {
        /// It is served.
        case served
        /// It is told that the relay is busy, and closed.
        case busy
        /// It is closed at once: too many are being told already.
        case closed
    }

    private struct State {
        var connections: [ObjectIdentifier: ClientConnection] = [:]
        var served = 0
        var networks: NetworkConnections
    }

    /// The most connections that are being told that the relay is busy. Their descriptors are for the others.
    static let busyLimit = 64

    private let limit: Int
    private let state: Mutex<State>

    /// At most `limit` connections in all, and as many of each network as `networks` allows.
    init(limit: Int, networks: NetworkConnections) {
        self.limit = limit
        state = Mutex(State(networks: networks))
    }

    /// The number of open connections.
    var count: Int { state.withLock { $0.connections.count } }

    /// Decides about a new connection from an address. One that is served is counted from now on.
    func welcome(_ address: String?) -> Welcome {
        state.withLock { state in
            if state.served < limit, state.networks.admit(address) {
                state.served += 1
                return .served
            }
            let told = state.connections.count - state.served
            return told < Self.busyLimit ? .busy : .closed
        }
    }

    /// Notes a connection, until ``remove(_:)``.
    func add(_ connection: ClientConnection) {
        state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
    }

    /// Forgets a connection, which has ended.
    func remove(_ connection: ClientConnection) {
        state.withLock { state in
            guard state.connections.removeValue(forKey: ObjectIdentifier(connection)) != nil,
                connection.isWelcome
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
