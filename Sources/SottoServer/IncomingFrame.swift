import Sotto
import SottoWire

/// A line from a client, before and after it is parsed.
///
/// Its cost is bounded before it is parsed, by its type and by whether a mailbox is open on the connection: an attacker
/// can send it without a login.
struct IncomingFrame: Sendable {
    /// The line, without its line feed.
    let line: [UInt8]
    /// The line's type, request id and number of values.
    let outline: FrameOutline

    /// Scans a line without parsing it.
    init(_ line: [UInt8]) {
        self.line = line
        outline = FrameOutline(of: line, limit: WireLimits.frameValues)
    }

    /// Returns the reason for refusing the line unparsed, or `nil` if it may be parsed.
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

    /// The most values of a frame without a list.
    private static let fewValues = 64
    /// The most values of a frame with a list of ids, or of a type that this relay does not know.
    private static let listValues = 320
    /// The bytes allowed for the frame around a record, and for white space.
    private static let frameBytes = 4 << 10

    /// Whether the line is parsed and verified on the thread pool instead of the event loop.
    var isHeavy: Bool { isSigned || outline.values > Self.heavyValues }

    private static let heavyValues = 128

    /// Whether the line contains a signed record.
    private var isSigned: Bool { outline.type == "prekeys" || outline.type == "record" }

    /// The cost of the line in requests, on a connection with a limit of `rate` requests a second: at least one, more
    /// for many bytes and values, and much more for a signature.
    func cost(rate: Double) -> Double {
        var cost = 1 + line.count / (16 << 10) + outline.values / 64
        if isSigned || outline.type == "login" { cost += 20 }
        return min(Double(cost), max(1, rate / 4))
    }

    /// The result of parsing the line.
    enum Content: Sendable {
        /// The line is not a frame.
        case unreadable(Reason)
        /// The frame's id, and its request or the reason for refusing it.
        case frame(requestID: String?, Result<Asked, Reason>)
    }

    /// A request. For a publication, `head` is the beginning of its bundles' lines.
    struct Asked: Sendable {
        let request: Request
        var head: [UInt8]?
    }

    /// Parses the line, and verifies its signature if it has one.
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
