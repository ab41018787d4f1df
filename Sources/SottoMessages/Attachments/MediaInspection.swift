import SottoContacts
import Sotto
import SottoMedia
import SottoTool

/// Finds out what a file is, and makes a thumbnail of a picture. The libraries for it run in the restricted program
/// `qr-scan`. A file is sent without these facts if they cannot be found.
package final class MediaInspection {
    /// The number of first bytes by which a type is recognized.
    static let beginning = 256 << 10

    private static let program = "qr-scan"
    /// The limits of a file: seconds of processor time, and MiB of address space.
    private static let limits = (seconds: 20, mebibytes: 1_024)

    private let path: String
    private let announcer: String?
    private var process: HelperProcess?

    /// Starts the program. Prints a note if it cannot be started, unless `announcer` is `nil`.
    package init(path: String, announcer: String?) {
        (self.path, self.announcer) = (path, announcer)
        do throws(Failure) {
            process = try HelperProcess(
                Self.program, work: "recognizes files",
                arguments: ["media", String(Self.limits.seconds), String(Self.limits.mebibytes)],
                limit: MediaFacts.maximumLine)
        } catch {
            say(error.message)
        }
    }

    deinit { _ = process?.end() }

    /// Returns the media type of a file with these first bytes, or `nil` if it is unknown.
    func type(of beginning: [UInt8]) -> String? {
        ask(.type, beginning)?.contentType
    }

    /// Returns a sink that passes a file on and collects it for ``facts(of:isPicture:)``; `nil` if the file has no facts.
    func collector(
        for format: PictureMetadata.Format, type: String?, before sink: any ByteSink
    ) -> CollectingSink? {
        let isRecording = type.map { $0.hasPrefix("audio/") || $0 == "application/ogg" } ?? false
        guard process != nil, format.isPicture || isRecording else { return nil }
        return CollectingSink(sink, limit: MediaRequest.maximumBytes)
    }

    /// Returns what is known about a picture or a recording; nothing without its bytes, because it is too long.
    func facts(of bytes: [UInt8]?, isPicture: Bool) -> MediaFacts {
        guard let bytes else {
            say(
                "\(path) is sent without \(isPicture ? "a thumbnail" : "its duration"), because it is too long"
            )
            return MediaFacts()
        }
        let facts = ask(isPicture ? .picture : .recording, bytes) ?? MediaFacts()
        if isPicture, facts.thumbnail == nil, process != nil {
            say("\(path) is sent without a thumbnail, because its picture cannot be read")
        }
        return facts
    }

    /// Returns a JPEG of a picture, at most 8 KiB, without metadata, or `nil` if it cannot be read.
    package func smallPicture(of bytes: [UInt8]) -> [UInt8]? {
        ask(.picture, bytes)?.thumbnail
    }

    private func ask(_ question: MediaRequest.Question, _ bytes: [UInt8]) -> MediaFacts? {
        guard let process else { return nil }
        process.send(MediaRequest(question, length: bytes.count).line)
        process.send(bytes)
        if let facts = process.nextLine().flatMap({ MediaFacts(parsing: $0) }) { return facts }
        self.process = nil
        let reason =
            switch process.end() {
            case .unlinked: "the libraries of \(Self.program) are not installed"
            case .killed: "reading it takes too long"
            case .crashed: "reading it needs too much memory, or a library crashed"
            }
        say("nothing is told about the content of \(path): \(reason)")
        return nil
    }

    private func say(_ text: String) {
        if let announcer { Terminal.say("\(announcer): note: \(text)") }
    }
}

/// Passes bytes on, and keeps them unless they are too many.
final class CollectingSink: ByteSink {
    private let sink: any ByteSink
    private let limit: Int
    /// The bytes, or `nil` if there are more than the limit.
    private(set) var bytes: [UInt8]? = []

    init(_ sink: any ByteSink, limit: Int) { (self.sink, self.limit) = (sink, limit) }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try sink.write(bytes)
        guard let count = self.bytes?.count else { return }
        if count + bytes.count <= limit {
            self.bytes?.append(contentsOf: bytes)
        } else {
            self.bytes = nil
        }
    }

    func finish() {}
}
