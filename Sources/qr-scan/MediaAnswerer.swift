import Glibc
import SottoMedia
import SottoScan

/// Answers questions about files.
struct MediaAnswerer {
    private let types = FileType()
    private let recordings = RecordingReader()

    /// Answers requests until the end of standard input.
    func run() -> Never {
        var input = RequestReader()
        while let line = input.line() {
            guard let request = MediaRequest(parsing: line),
                let file = input.bytes(request.length)
            else { _exit(64) }
            ReplyStream.write(bytes: facts(request.question, file).line)
        }
        _exit(0)
    }

    private func facts(_ question: MediaRequest.Question, _ file: [UInt8]) -> MediaFacts {
        var facts = MediaFacts()
        switch question {
        case .type: facts.contentType = types.type(of: file)
        case .picture: facts = MediaFacts(picture: file)
        case .recording: facts.duration = recordings?.duration(of: file)
        }
        return facts
    }
}
