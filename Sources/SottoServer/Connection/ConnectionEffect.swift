import Sotto
import SottoWire

/// An effect that a ``ConnectionState`` asks for. Its result, if it has one, comes back to the state later.
enum ConnectionEffect: Sendable {
    /// Writes a response to the request with this id, or without an id a push.
    case respond(Response, to: String?)
    /// Writes a change to the store. Its outcome answers the request, or is passed to `then`.
    case commit(Change, to: String?, then: CommitStep?)
    /// Writes a change to the store for which no client waits.
    case note(Change)
    /// Passes an envelope with a time to live of 0 to the subscriber of its mailbox, or drops it.
    case pass(AddressedEnvelope)
    /// Reads from the store.
    case read(StoreQuery)
    /// Reads or writes a blob; the response answers the request.
    case blob(BlobWork, to: String?)
    /// Parses or verifies on the thread pool.
    case verify(Verification)
    /// Makes the connection the subscriber of a mailbox, instead of another connection.
    case subscribe(to: KeyID)
    /// Ends the pause after this many seconds, and then writes the response, unless it is `nil`.
    case pause(seconds: Double, response: (Response, to: String?)?)
    /// Closes the connection after the written responses have been sent.
    case close
}

/// Performs the effects of a connection. An effect must not call the ``ConnectionState`` that asks for it before that
/// call has returned.
protocol ConnectionEffects: AnyObject {
    /// Performs or schedules an effect.
    func perform(_ effect: ConnectionEffect)
}

/// The next step of a login or of a new meeting after its change is on disk.
enum CommitStep: Sendable {
    /// The invitation was redeemed; the id becomes a member.
    case makeMember(Login)
    /// The id is a member; its mailbox is opened.
    case enter(Login)
    /// A number for a new meeting was tried; if it is taken, another one is tried.
    case openMeeting(relay: String, tried: Int)
}

/// Work that takes long, such as verifying a signature. It runs on the thread pool, and the connection pauses until its
/// result is there, so each connection has at most one.
enum Verification: Sendable {
    /// Parse a frame, and verify its record.
    case parse(IncomingFrame)
    /// Verify the signature of a login.
    case signature(Login, to: String?)
    /// Verify the answer of an RSA login key.
    case answer(Login, LoginContext, to: String?)

    /// The result of a ``Verification``.
    enum Result: Sendable {
        /// The parsed frame.
        case parsed(IncomingFrame.Content)
        /// Whether the signature of a login is valid.
        case signature(Login, Bool, to: String?)
        /// Whether the answer of an RSA login key is valid.
        case answer(Login, LoginContext, Bool, to: String?)
    }

    /// Does the work.
    func run() -> Result {
        switch self {
        case .parse(let frame): return .parsed(frame.content())
        case .signature(let login, let requestID):
            return .signature(login, login.isSigned, to: requestID)
        case .answer(let login, let context, let requestID):
            let key = context.account?.loginKey.flatMap { RSALoginPublicKey(der: $0) }
            return .answer(
                login, context, key.map { login.isProven(by: $0) } ?? false, to: requestID)
        }
    }
}
