import Sotto
import SottoDatabase
import Synchronization

/// The messages of conversations as they stand now, in blocks, in the order of their places.
///
/// The next blocks are read on threads, each with its own connection, while the caller works on the one before.
public final class ViewBlocks {
    /// The maximum number of messages in a block.
    public static let size = 1_000
    /// The number of blocks that are read at once. Twice as many are in memory.
    private static let readAtOnce = 2

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
    private var started: ThreadPool.StartedMap<Range, Result<Block, StateError>>?
    private var ready: [Result<Block, StateError>] = []

    /// Prepares the blocks of conversations, in this order.
    public init(_ store: IdentityStore, _ conversations: [Conversation]) throws(StateError) {
        self.store = store
        connections = try Connections(store)
        rest = conversations[...]
        started = try startNext()
    }

    /// Returns the next block of a conversation, or `nil` after its last one. The caller takes all blocks of each conversation.
    public func next(of conversation: Conversation) throws(StateError) -> [MessageView]? {
        if ready.isEmpty, let started {
            ready = started.results()
            self.started = try startNext()
            store.damage.flush()
        }
        guard let block = try ready.first?.get(), block.conversation == conversation else {
            return nil
        }
        ready.removeFirst()
        return block.views
    }

    private func startNext()
        throws(StateError) -> ThreadPool.StartedMap<Range, Result<Block, StateError>>?
    {
        let ranges = try store.use { connection throws(StateError) in
            try nextRanges(connection)
        }
        guard !ranges.isEmpty else { return nil }
        let (store, connections) = (store, connections)
        return pool.started(ranges, slice: 1) { ranges in
            ranges.map { range in
                Result { () throws(StateError) in
                    (
                        range.conversation,
                        try connections.views(of: range.row, range.start, range.end, store)
                    )
                }
            }
        }
    }

    private func nextRanges(_ connection: StateConnection) throws(StateError) -> [Range] {
        var ranges: [Range] = []
        while ranges.count < Self.readAtOnce, let conversation = rest.first {
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
            free = Mutex(try store.connections(ViewBlocks.readAtOnce))
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
