public import Sotto
public import SottoState
public import SottoWire

/// Receives a mailbox: envelopes are stored in the inbox, then deleted from the relay, then handled.
public struct Reception {
    /// The way in which envelopes are handled.
    public enum Handling {
        /// Prints lines, all of them or none. The relay is told before, after they are stored in the inbox.
        case print(([[UInt8]]) throws -> Void)
        /// Runs a command for each; an envelope counts as received only if the closure returns true.
        case run(([UInt8]) throws -> Bool)
    }

    /// The owner of the mailbox.
    package let owner: MailboxOwner
    /// The relay.
    public let relay: RelayURL
    /// The inbox; if `nil`, the relay is told only after an envelope was handled.
    public let store: IdentityStore?
    /// Whether to continue without end.
    public var follow = false
    /// Seconds to wait for the next envelope while the mailbox is empty.
    public var wait = 0.0
    /// The number of envelopes after which to end.
    public var maximum: Int?

    /// Seconds to wait at the end for the relay to store published prekeys.
    var publicationSeconds = 10.0
    /// The limit of the inbox.
    var inboxLimit = InboxLimit.standard
    /// The least rate of a relay that has not said yet that the mailbox is empty, without `follow`.
    var pace = TransferPace.mailbox

    /// An invitation code that makes the owner a member of the relay.
    public var invitation: InvitationCode?
    /// Whether mail is received after the login. Without it the relay keeps the mail.
    public var takesMail = true

    /// News during a reception. Changes of the connection and of prekeys are told only with `follow`.
    public enum Notice: Sendable {
        /// The relay cannot be reached; attempts continue.
        case disconnected(ClientError)
        /// The relay is connected again.
        case reconnected(relay: String)
        /// The relay had prekeys of a lost state, and new ones replace them.
        case replacesLost
        /// The relay says that another instance of the owner's state logged in, last on this day since 1970.
        case otherInstance(day: Int64)
        /// An own signature at the relay proved that the state is an earlier one.
        case behind
        /// Prekeys cannot be renewed, or could not be published for two days.
        case preKeys(any Error)
    }

    /// Called once, after the first login and before envelopes are received. The caller publishes the owner's prekeys then: they are
    /// not renewed on that connection.
    public var joined: (() -> Void)?

    /// Called once for each change, and without `follow` for an instance or a proof.
    public var notice: ((Notice) -> Void)?
    /// Called during `follow` every 15 seconds, to begin work in parallel with the reading. It returns at once.
    public var ahead: (() -> Void)?

    /// Creates a reception that ends when the mailbox is empty.
    public init(identity: Identity, relay: RelayURL, store: IdentityStore?) {
        self.init(owner: .identity(identity), relay: relay, store: store)
    }

    /// Creates a reception that ends when the mailbox is empty. Only an identity has an inbox.
    package init(owner: MailboxOwner, relay: RelayURL, store: IdentityStore? = nil) {
        self.owner = owner
        self.relay = relay
        self.store = store
    }

    /// The result of a reception.
    public struct Ending: Sendable {
        /// The number of handled envelopes.
        public var received = 0
        /// The number of envelopes whose handling failed.
        public var failed = 0
        /// The number of envelopes deleted from the inbox because the messages before them did not arrive.
        public var expired = 0
        /// The error that ended it early.
        public var error: ClientError?
        /// The error for which prekeys cannot be renewed, or could not be published for two days.
        public var preKeyError: (any Error)?
        /// Whether the relay had prekeys of a lost state, and new ones replace them.
        public var replacesLost = false
        /// The error for which a registration for wake-ups could not be renewed.
        public var wakeError: ClientError?
        /// Whether the relay accepted the login.
        public var loggedIn = false
    }

    /// Handles the envelopes whose handling failed too often: those in the inbox, and those that the relay has. They
    /// are done after they are printed or handled.
    public func runDead(_ handling: Handling) throws -> Ending {
        var state = Run(plan: self, handling: handling)
        return try state.runDead()
    }

    /// Receives until no envelope is left to wait for. An error of `handling` ends it at once.
    public func run(_ handling: Handling) throws -> Ending {
        var state = Run(plan: self, handling: handling)
        return try state.run()
    }
}
