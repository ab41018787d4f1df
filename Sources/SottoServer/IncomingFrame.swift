import Sotto
import SottoWire

/// A line of a client, before and after it is parsed.
///
/// Its cost is bounded before it is parsed, by its type and by whether a mailbox is open on the connection: no login is
/// needed to send it.
struct IncomingFrame: Sendable {
    /// The line, without its line feed.
    let line: [UInt8]
    /// Its type, its request id and its number of values.
    let outline: FrameOutline

    /// Looks at a line.
    init(_ line: [UInt8]) {
        self.line = line
        outline = FrameOutline(of: line, limit: WireLimits.frameValues)
    }

    /// The reason for not parsing it; `nil` if it may be parsed.
    func refusal(hasMailbox: Bool) -> Reason? {
        let most =
            switch outline.type {
            case "prekeys", "record", "send": WireLimits.frameValues
            case "ping", "challenge", "login", "resume", "fetch", "subscribe", "claim", "lookup",
                "puzzle", "solution":
                Self.fewValues
            default: Self.listValues
            }
        let bytes =
            switch outline.type {
            case "prekeys": WireLimits.publicationBytes + Self.frameBytes
            case "record": WireLimits.cardBytes + Self.frameBytes
            default: WireLimits.requestBytes
            }
        guard outline.values <= most, line.count <= bytes else { return .tooLarge }
        if outline.type == "ack", !hasMailbox, outline.values > Self.fewValues {
            return .loginRequired
        }
        return nil
    }

    /// The most values of a frame that has no list.
    private static let fewValues = 64
    /// The most values of a frame with a list of ids, or of a type that this relay does not know.
    private static let listValues = 320
    /// Bytes for the frame around a record, and for white space.
    private static let frameBytes = 4 << 10

    /// Whether it is parsed and verified on the threads for that, and not on the event loop.
    var isHeavy: Bool { isSigned || outline.values > Self.heavyValues }

    private static let heavyValues = 128

    /// Whether it has a record with a signature.
    private var isSigned: Bool { outline.type == "prekeys" || outline.type == "record" }

    /// The number of requests that it counts as, on a connection of `rate` requests a second: one, more for many bytes and
    /// values, and many more for a signature.
    func cost(rate: Double) -> Double {
        var cost = 1 + line.count / (16 << 10) + outline.values / 64
        if isSigned || outline.type == "login" { cost += 20 }
        return min(Double(cost), max(1, rate / 4))
    }

    /// The result of parsing it.
    enum Content: Sendable {
        /// It is no frame.
        case unreadable(Reason)
        /// It is a frame with this id, and a request or none.
        case frame(requestID: String?, Result<Asked, Reason>)
    }

    /// A request. Of a publication `head` is the beginning of its bundles' lines.
    struct Asked: Sendable {
        let request: Request
        var head: [UInt8]?
    }

    /// Parses it, and verifies what is signed in it.
    func content() -> Content {
        let frame: Frame
        do throws(Reason) { frame = try Frame(parsing: line) } catch { return .unreadable(error) }
        do throws(Reason) {
            var asked = Asked(request: try Request(frame))
            if case .publish(let published) = asked.request {
                asked.head = published.publication.bundleHead
            }
            return .frame(requestID: frame.requestID, .success(asked))
        } catch {
            return .frame(requestID: frame.requestID, .failure(error))
        }
    }
}
