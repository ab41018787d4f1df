import NIOCore
import NIOHTTP1
import Sotto
import SottoWire

/// A request about a blob over HTTP, which any HTTP client can send.
///
/// | request | effect |
/// |---|---|
/// | `PUT /api/blobs/ID?to=&digest=&delete=` | uploads; with `Content-Range: bytes FIRST-LAST/SIZE` a part |
/// | `HEAD /api/blobs/ID` | 200 with the length, or 404; `Upload-Offset` is the number of bytes that the relay has |
/// | `GET /api/blobs/ID` | downloads; `Range: bytes=FIRST-LAST` for a part |
/// | `DELETE /api/blobs/ID?key=` | deletes |
///
/// `ID`, `digest`, `delete` and `key` are 64 hexadecimal digits, `to` is the id of a mailbox.
enum BlobHTTP {
    /// The body has `count` bytes of the blob, from the offset of the piece on, which has no bytes yet.
    case upload(BlobPiece, count: Int64)
    case download(id: [UInt8], range: String?, isHead: Bool)
    case delete(id: [UInt8], key: [UInt8])

    private static let path = "/api/blobs/"

    /// Parses the head of a request. Returns `nil` for other paths.
    init?(_ head: HTTPRequestHead) throws(HTTPRefusal) {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].hasPrefix(Self.path) else { return nil }
        guard let id = Self.hex32(parts[0].dropFirst(Self.path.utf8.count)) else {
            throw HTTPRefusal(.badRequest, .badFields)
        }
        let query = try Self.query(parts.count > 1 ? parts[1] : "")
        switch head.method {
        case .PUT: self = try Self.upload(id, query, head.headers)
        case .GET, .HEAD:
            self = .download(
                id: id, range: head.headers.first(name: "range"), isHead: head.method == .HEAD)
        case .DELETE:
            guard let key = query["key"].flatMap({ Self.hex32($0) }) else {
                throw HTTPRefusal(.badRequest, .badFields)
            }
            self = .delete(id: id, key: key)
        default: throw HTTPRefusal(.methodNotAllowed, .unknownType)
        }
    }

    private static func hex32(_ text: Substring) -> [UInt8]? {
        text.utf8.count == 64 ? bytes(hex: text) : nil
    }

    private static func query(_ text: Substring) throws(HTTPRefusal) -> [Substring: Substring] {
        var query: [Substring: Substring] = [:]
        for parameter in text.split(separator: "&") {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, query.updateValue(pair[1], forKey: pair[0]) == nil else {
                throw HTTPRefusal(.badRequest, .badFields)
            }
        }
        return query
    }

    private static func upload(
        _ id: [UInt8], _ query: [Substring: Substring], _ headers: HTTPHeaders
    ) throws(HTTPRefusal) -> BlobHTTP {
        guard let length = headers.first(name: "content-length").flatMap({ Int64($0) }) else {
            throw HTTPRefusal(.lengthRequired, .badFields)
        }
        var (first, size): (Int64, Int64) = (0, length)
        if let range = headers.first(name: "content-range") {
            guard let parsed = contentRange(range), parsed.last - parsed.first == length - 1 else {
                throw HTTPRefusal(.badRequest, .badFields)
            }
            (first, size) = (parsed.first, parsed.size)
        }
        guard size <= Blob.maximumSize else { throw HTTPRefusal(.payloadTooLarge, .tooLarge) }
        func hash(_ name: Substring) throws(HTTPRefusal) -> [UInt8]? {
            guard let text = query[name] else { return nil }
            guard let hash = hex32(text) else { throw HTTPRefusal(.badRequest, .badFields) }
            return hash
        }
        guard let to = query["to"].flatMap({ KeyID(String($0)) }), length > 0 else {
            throw HTTPRefusal(.badRequest, .badFields)
        }
        return .upload(
            BlobPiece(
                id: id, to: to, size: size, digest: try hash("digest"),
                deletion: try hash("delete"), offset: first), count: length)
    }

    /// Parses `bytes FIRST-LAST/SIZE` (RFC 9110 §14.4).
    private static func contentRange(
        _ text: String
    ) -> (first: Int64, last: Int64, size: Int64)? {
        guard text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/")
        guard parts.count == 2, let size = number(parts[1]) else { return nil }
        let places = parts[0].split(separator: "-")
        guard places.count == 2, let first = number(places[0]), let last = number(places[1]),
            first <= last, last < size
        else { return nil }
        return (first, last, size)
    }

    /// Returns the bytes of a blob that `Range` asks for (RFC 9110 §14.2). Returns all bytes for another unit, for several
    /// ranges and without a header, and `nil` for a range after the end.
    static func range(_ header: String?, of size: Int64) -> Range<Int64>? {
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else { return 0..<size }
        let places = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard places.count == 2 else { return 0..<size }
        switch (number(places[0]), number(places[1])) {
        case (let first?, let last?) where first <= last:
            return first < size ? first..<min(size, last + 1) : nil
        case (let first?, nil) where places[1].isEmpty: return first < size ? first..<size : nil
        case (nil, let count?) where places[0].isEmpty:
            return count > 0 ? max(0, size - count)..<size : nil
        default: return 0..<size
        }
    }

    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.count <= 18,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(text)
    }
}

/// An upload over HTTP: collects the body and cuts it into pieces.
struct HTTPUpload {
    /// The most bytes of a piece.
    private static let mostBytes = WireLimits.blobReadBytes

    private var piece: BlobPiece
    /// The bytes of the body that no piece has yet.
    private var left: Int64
    private var buffer = ByteBuffer()
    /// Whether the connection has a piece and has not answered yet.
    private(set) var isWaiting = false
    let keepsAlive: Bool

    init(_ piece: BlobPiece, count: Int64, keepsAlive: Bool) {
        (self.piece, left, self.keepsAlive) = (piece, count, keepsAlive)
    }

    /// Whether the whole body is in pieces.
    var isDone: Bool { left == 0 }

    /// The bytes of the body that were not received yet.
    var expected: Int { Int(left) - buffer.readableBytes }

    mutating func receive(_ part: inout ByteBuffer) {
        guard buffer.readableBytes > 0 else { return buffer = part }
        // The consumed bytes would stay in memory.
        buffer.discardReadBytes()
        buffer.writeBuffer(&part)
    }

    /// Whether enough is received for the next piece, so that the client must wait.
    var isFull: Bool { isWaiting && buffer.readableBytes >= Self.mostBytes }

    /// Returns the next piece if it is complete and the last one was answered.
    mutating func nextPiece() -> BlobPiece? {
        let least = min(Int64(WireLimits.blobPieceBytes), left)
        guard !isWaiting, least > 0, Int64(buffer.readableBytes) >= least else { return nil }
        let count = min(Int64(min(buffer.readableBytes, Self.mostBytes)), left)
        piece.bytes = buffer.readBytes(length: Int(count)) ?? []
        left -= count
        isWaiting = true
        return piece
    }

    /// Takes the answer to the last piece. Returns whether the piece was stored and more of the body follows.
    mutating func take(_ response: Response) -> Bool {
        isWaiting = false
        piece.offset += Int64(piece.bytes.count)
        piece.bytes = []
        guard case .blob(let state) = response, state.have == piece.offset else { return false }
        return left > 0
    }

    /// Whether the answer to the last piece says that it was stored.
    func isStored(_ response: Response) -> Bool {
        if case .blob(let state) = response { state.have == piece.offset } else { true }
    }
}

/// A download over HTTP: reads a blob in pieces, each after the client took the one before.
struct HTTPDownload {
    let id: [UInt8]
    let range: String?
    let isHead: Bool
    let keepsAlive: Bool
    /// The bytes that were not read yet; `nil` before the blob's state is known.
    var left: Range<Int64>?

    /// The next request to the connection.
    var request: Request {
        guard let left else { return .blob(id: id) }
        return .getBlob(
            id: id, offset: left.lowerBound, count: min(left.count, WireLimits.blobReadBytes))
    }
}
