import Glibc
import NIOHTTP1
import NIOPosix
import Sotto
import SottoDatabase
import SottoWire

/// Uploads blobs to a relay, one at a time, over a connection that it keeps for the next one. One thread uses it.
///
/// It asks how much the relay has and sends the rest in pieces. One piece is in flight if the answers come fast. More are
/// in flight if a round trip takes long. So an interruption repeats few bytes.
final class BlobUploader {
    /// The result of an attempt.
    enum Ending: Sendable {
        /// The relay has the whole blob; `isNew` is false if it had it before.
        case stored(isNew: Bool)
        case deferred(Refusal)
        case rejected(Refusal)
        /// The connection failed.
        case failed(ClientError, hasProgressed: Bool)
    }

    /// Seconds to wait for one answer.
    private static let patience = 30.0
    /// The bytes of the shortest piece on a slow line, where the relay does not wait for a longer one.
    private static let leastPieceBytes: Int64 = 2 << 10
    /// The size of a short blob.
    static let shortBytes: Int64 = 256 << 10

    private let relay: RelayURL
    private let group: MultiThreadedEventLoopGroup
    private var link: BlobLink?
    /// The limit of the bytes in flight on this connection.
    private var window = TransferWindow()
    /// The most bytes of a piece, which are fewer on a slow line.
    private var pieceBytes = Int64.max
    private let pace: TransferPace
    /// The progress of the last blob.
    private var progress: UploadProgress

    init(
        to relay: RelayURL, group: MultiThreadedEventLoopGroup, pace: TransferPace = .upload
    ) {
        (self.relay, self.group, self.pace) = (relay, group, pace)
        progress = UploadProgress(id: [], pace: pace)
    }

    deinit { link?.close() }

    /// Uploads the blob in the file at `path`. Calls `progress` with the number of bytes that the relay has. Fails with
    /// ``ClientError/tooSlow(relay:)`` if the attempts for this blob fall below the pace.
    func upload(
        _ record: BlobRecord, from path: String, progress: (Int64) -> Void
    ) -> Ending {
        if self.progress.id != record.id {
            self.progress = UploadProgress(id: record.id, pace: pace)
        }
        self.progress.begin(at: Monotonic.seconds())
        do throws(ClientError) {
            return try attempt(record, path) { have in
                if self.progress.confirm(have, at: Monotonic.seconds()) { progress(have) }
            }
        } catch {
            let hasProgressed = self.progress.hasProgressed
            if link != nil, !hasProgressed {
                pieceBytes = max(
                    Self.leastPieceBytes, min(pieceBytes, TransferWindow.pieceBytes) / 2)
            }
            link?.close()
            link = nil
            return self.progress.fail(at: Monotonic.seconds())
                ? .failed(.tooSlow(relay: relay.description), hasProgressed: false)
                : .failed(error, hasProgressed: hasProgressed)
        }
    }

    /// How often the relay is asked again how much it has, after 0.05 s and each time twice as long: 13 s in all.
    private static let mostQuestions = 8

    /// Uploads a blob. With `mayGuess`, it does not ask how much the relay has of a short one: usually nothing. `questions` is
    /// how often it may still ask.
    private func attempt(
        _ record: BlobRecord, _ path: String, mayGuess: Bool = true,
        questions: Int = mostQuestions, progress: (Int64) -> Void
    ) throws(ClientError) -> Ending {
        let link = try connected()
        if mayGuess, window.roundTrip.isFinite, record.size <= Self.shortBytes,
            let file = BlobSource(path), file.count == record.size
        {
            if let ending = try send(record, file, from: 0, over: link, progress: progress) {
                return ending
            }
            return try attempt(record, path, mayGuess: false, progress: progress)
        }
        let state = try ask(link) { $0.send(.HEAD, record.id) }
        if state.status == 200 {
            return state.length == record.size
                ? .stored(isNew: false) : .rejected(Refusal(.conflict))
        }
        guard state.status == 404, let have = state.uploadOffset, (0..<record.size).contains(have)
        else {
            return state.status == 404 || state.status == 400
                ? .rejected(Refusal(.unknownType)) : ending(of: state)
        }
        guard let file = BlobSource(path), file.count == record.size else {
            return .rejected(Refusal(code: 404, reason: DeliveryResult.noFile))
        }
        let ending = try send(record, file, from: have, over: link, progress: progress)
        if let ending { return ending }
        // The relay still stores the last pieces of a program that was killed, or another process uploads the same blob.
        guard questions > 0 else { throw .lost(relay: relay.description) }
        let asked = Self.mostQuestions - questions
        _ = EventQueue<Never>().take(timeout: 0.05 * Double(1 << asked))
        return try attempt(
            record, path, mayGuess: false, questions: questions - 1, progress: progress)
    }

    /// Sends the pieces from an offset on. Returns `nil` if the relay has another number of bytes.
    private func send(
        _ record: BlobRecord, _ file: BlobSource, from have: Int64, over link: BlobLink,
        progress: (Int64) -> Void
    ) throws(ClientError) -> Ending? {
        let query = "?to=\(record.to)&digest=\(hex(record.digest))"
        var next = have
        var sent: [(count: Int64, end: Int64, at: Double)] = []
        var inFlight: Int64 = 0
        while next < record.size || !sent.isEmpty {
            while next < record.size {
                let count = min(window.request, pieceBytes, record.size - next)
                guard sent.isEmpty || inFlight + count <= window.bytes else { break }
                guard let piece = file.read(Int(count), at: next)
                else { return .rejected(Refusal(code: 404, reason: DeliveryResult.noFile)) }
                let end = next + count
                link.send(
                    .PUT, record.id, query: query,
                    headers: [("content-range", "bytes \(next)-\(end - 1)/\(record.size)")],
                    body: piece)
                sent.append((count, end, Monotonic.seconds()))
                inFlight += count
                next = end
            }
            let answer = try link.response(
                timeout: min(Self.patience, self.progress.left(at: Monotonic.seconds())))
            let first = sent.removeFirst()
            inFlight -= first.count
            let time = Monotonic.seconds() - first.at
            window.answered(first.count, after: time)
            if time < 1, pieceBytes <= TransferWindow.pieceBytes { pieceBytes *= 2 }
            guard answer.status == 200 else {
                // The pieces in flight are refused too; their answers are not needed.
                self.link = nil
                link.close()
                if answer.status == 409, case .blob? = response(answer) { return nil }
                return ending(of: answer)
            }
            progress(first.end)
        }
        return .stored(isNew: true)
    }

    private func connected() throws(ClientError) -> BlobLink {
        if let link { return link }
        let new = try BlobLink.open(to: relay, group: group, timeout: Self.patience)
        link = new
        window = TransferWindow()
        return new
    }

    /// Sends a request and returns its response. A connection that the relay closed while it was idle is replaced once.
    private func ask(
        _ link: BlobLink, _ send: (BlobLink) -> Void
    ) throws(ClientError) -> BlobLink.Response {
        let isFresh = !window.roundTrip.isFinite
        send(link)
        let start = Monotonic.seconds()
        do throws(ClientError) {
            let response = try link.response(timeout: Self.patience)
            window.answered(0, after: Monotonic.seconds() - start)
            return response
        } catch {
            guard !isFresh else { throw error }
            link.close()
            self.link = nil
            let new = try connected()
            send(new)
            return try new.response(timeout: Self.patience)
        }
    }

    private func response(_ answer: BlobLink.Response) -> Response? {
        guard let frame = try? Frame(parsing: answer.body.filter { $0 != UInt8(ascii: "\n") })
        else { return nil }
        return Response(frame)
    }

    private func ending(of answer: BlobLink.Response) -> Ending {
        switch response(answer) {
        case .deferred(let refusal)?: return .deferred(refusal)
        case .rejected(let refusal)?, .error(let refusal)?: return .rejected(refusal)
        default: return .failed(.notARelay(relay: relay.description), hasProgressed: false)
        }
    }
}

/// The file of a blob.
private final class BlobSource {
    private let descriptor: Int32
    let count: Int64

    /// Opens a file. Returns `nil` if it does not exist.
    init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        var status = stat()
        let isFile = descriptor >= 0 && fstat(descriptor, &status) == 0
        count = Int64(status.st_size)
        guard isFile else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns `count` bytes at `offset`, or `nil` if they cannot be read.
    func read(_ count: Int, at offset: Int64) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let some = pread(
                    descriptor, buffer.baseAddress! + filled, count - filled, Int(offset) + filled)
                if some < 0, errno == EINTR { continue }
                guard some > 0 else { break }
                filled += some
            }
        }
        return bytes.count == count ? bytes : nil
    }
}
