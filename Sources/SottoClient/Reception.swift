public import Sotto
public import SottoState
public import SottoWire

/// The emptying of a mailbox: into the inbox, then out of the relay, then to whoever reads.
public struct Reception {
    /// What to do with envelopes.
    public enum Handling {
        /// Hands lines on, all of them or none. The relay is told before, once they are in the inbox.
        case print(([[UInt8]]) throws -> Void)
        /// Has each handled; only an envelope for which this is true counts as received.
        case run(([UInt8]) throws -> Bool)
    }

    /// Whose mailbox, and where.
    public let owner: MailboxOwner
    /// The relay.
    public let relay: RelayURL
    /// The inbox; without one the relay is told only after an envelope has been handled.
    public let store: IdentityStore?
    /// Whether to go on for ever.
    public var follow = false
    /// Seconds to wait for the next envelope when the mailbox is empty.
    public var wait = 0.0
    /// After how many envelopes to end.
    public var maximum: Int?

    /// A code that makes the owner a member of the relay, if they are none yet.
    public var invitation: InvitationCode?

    /// A change of the connection of a reception that follows.
    public enum Notice: Sendable, Equatable {
        /// The relay cannot be reached; it is tried again until it can.
        case away(ClientError)
        /// The relay is reached again.
        case back(relay: String)
    }

    /// Called once for each change.
    public var notice: ((Notice) -> Void)?
    /// Called in a reception that follows, when no mail has come for some seconds; it may take a few seconds.
    public var whenIdle: (() -> Void)?

    /// A reception that ends when the mailbox is empty.
    public init(identity: Identity, relay: RelayURL, store: IdentityStore?) {
        self.init(owner: .identity(identity), relay: relay, store: store)
    }

    /// A reception that ends when the mailbox is empty. Only an identity has an inbox.
    public init(owner: MailboxOwner, relay: RelayURL, store: IdentityStore? = nil) {
        self.owner = owner
        self.relay = relay
        self.store = store
    }

    /// How a reception ended.
    public struct Ending: Sendable {
        /// How many envelopes were handled.
        public var received = 0
        /// How many could not be handled.
        public var failed = 0
        /// The number of envelopes that were deleted from the inbox because the messages before them did not come.
        public var expired = 0
        /// Why it ended early.
        public var error: ClientError?
        /// Whether the relay let the owner in.
        public var wasIn = false
    }

    /// Hands on the envelopes that were put aside because their handling failed too often: those here, and those
    /// that the relay has. Printed or handled, they are done with.
    public func runDead(_ handling: Handling) throws -> Ending {
        var state = Run(plan: self, handling: handling)
        return try state.runDead()
    }

    /// Receives until there is nothing left to wait for. What `handling` throws ends it at once.
    public func run(_ handling: Handling) throws -> Ending {
        var state = Run(plan: self, handling: handling)
        return try state.run()
    }
}
