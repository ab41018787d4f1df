extension PeerSession {
    /// A session among those with one peer, with its place in their order.
    public struct Candidate: Sendable {
        /// Whether the session had a post-quantum start.
        public let isPostQuantum: Bool
        private let isAnswered: Bool
        fileprivate let isInitiator: Bool
        /// Increases with each session that begins.
        public let began: Int64
        /// Increases with each session that begins and each message that arrives.
        public let used: Int64

        /// Creates a candidate.
        public init(_ session: PeerSession, began: Int64, used: Int64) {
            isPostQuantum = session.origin.isPostQuantum
            isAnswered = session.isAnswered
            isInitiator = session.isInitiator
            self.began = began
            self.used = used
        }

        fileprivate var isPreferred: Bool { isPostQuantum && isAnswered }
    }

    /// Returns the place of the session that sends, or `nil` without one.
    ///
    /// An answered session with a post-quantum start is preferred, the last used one. So a late message of another
    /// session, which a relay can delay and the holder of an old session can write, does not move the sending to X3DH.
    /// A later session of the owner's own is a decision: with a post-quantum start it is one of the preferred ones, and
    /// with X3DH it sends until the next decision or until the peer begins a session with a post-quantum start. Without an
    /// answered session with a post-quantum start, the last used session sends.
    public static func sending(among candidates: [Candidate]) -> Int? {
        func lastUsed(_ places: [Int]) -> Int? {
            places.max { candidates[$0].used < candidates[$1].used }
        }
        let preferred = candidates.indices.filter { candidates[$0].isPreferred }
        guard let last = preferred.map({ candidates[$0].began }).max() else {
            return lastUsed(Array(candidates.indices))
        }
        let decision = candidates.indices.filter {
            candidates[$0].isInitiator && candidates[$0].began > last
        }.max { candidates[$0].began < candidates[$1].began }
        guard let decision else { return lastUsed(preferred) }
        guard candidates[decision].isPostQuantum else { return decision }
        return lastUsed(preferred + [decision])
    }
}
