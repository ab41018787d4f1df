import Sotto
import SottoDatabase
import Synchronization

/// The messages of conversations as they stand now, in blocks, in the order of their places.
///
/// The next blocks are read on threads, each with its own connection, while the caller works on the one before.
public final class ViewBlocks {
    /// The maximum number of messages in a block.
    public static let size = 1_000
    /// The number of blocks that are read ahead. One more is in memory.
    private static let readAhead = 3

    /// A block: the messages after the first place, up to the second.
    private struct Range: Sendable {
        let conversation: Conversation
        let row: Int64
        let start: HistoryPlace
        let end: HistoryPlace
    }

    private typealias Block = (conversation: Conversation, views: [MessageView])

    private let store: IdentityStore
    private let connections: Connections
    private let pool = ThreadPool()
    /// The conversations whose blocks are not all started, and the place after which those of the first one begin.
    private var rest: ArraySlice<Conversation>
    private var start = HistoryPlace.start
    private var started: [ThreadPool.Started<Result<Block, StateError>>] = []
    private var ready: Result<Block, StateError>?

    /// Prepares the blocks of conversations, in this order.
    public init(_ store: IdentityStore, _ conversations: [Conversation]) throws(StateError) {
        self.store = store
        connections = try Connections(store)
        rest = conversations[...]
        try startNext()
    }

    /// Returns the next block of a conversation, or `nil` after its last one. The caller takes all blocks of each conversation.
    public func next(of conversation: Conversation) throws(StateError) -> [MessageView]? {
        if ready == nil, !started.isEmpty {
            ready = started.removeFirst().result()
            try startNext()
            store.damage.flush()
        }
        guard let block = try ready?.get(), block.conversation == conversation else { return nil }
        ready = nil
        return block.views
    }

    private func startNext() throws(StateError) {
        let ranges = try store.use { connection throws(StateError) in
            try nextRanges(connection, Self.readAhead - started.count)
        }
        let (store, connections) = (store, connections)
        for range in ranges {
            started.append(
                pool.started {
                    Result { () throws(StateError) in
                        (
                            range.conversation,
                            try connections.views(of: range.row, range.start, range.end, store)
                        )
                    }
                })
        }
    }

    private func nextRanges(
        _ connection: StateConnection, _ count: Int
    ) throws(StateError) -> [Range] {
        var ranges: [Range] = []
        while ranges.count < count, let conversation = rest.first {
            guard let row = try store.conversationRow(conversation, connection),
                let end = try connection.rows(
                    """
                    SELECT place, number FROM message
                    WHERE conversation = ? AND kind = 0 AND (place, number) > (?, ?)
                    ORDER BY place, number LIMIT ?
                    """, row.number, start.rank, start.number, Self.size,
                    read: { HistoryPlace(rank: $0.integer(0), number: $0.integer(1)) }
                ).last
            else {
                (rest, start) = (rest.dropFirst(), .start)
                continue
            }
            ranges.append(
                Range(conversation: conversation, row: row.number, start: start, end: end))
            start = end
        }
        return ranges
    }

    /// The connections that no thread uses.
    private final class Connections: Sendable {
        private let free: Mutex<[DurableDatabase]>

        init(_ store: IdentityStore) throws(StateError) {
            free = Mutex(try store.connections(ViewBlocks.readAhead))
        }

        func views(
            of row: Int64, _ start: HistoryPlace, _ end: HistoryPlace, _ store: IdentityStore
        ) throws(StateError) -> [MessageView] {
            guard let database = free.withLock({ $0.popLast() }) else {
                preconditionFailure("more blocks are read than connections exist")
            }
            defer { free.withLock { $0.append(database) } }
            return try database.snapshot { (connection: StateConnection) throws(StateError) in
                let entries = try store.entries(
                    """
                    WHERE conversation = ? AND kind = 0 AND (place, number) > (?, ?)
                    AND (place, number) <= (?, ?) ORDER BY place, number
                    """, row, start.rank, start.number, end.rank, end.number,
                    connection: connection)
                return try store.views(of: entries, connection)
            }
        }
    }
}
