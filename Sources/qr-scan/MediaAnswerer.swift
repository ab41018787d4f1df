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
            ReplyStream.write(bytes: answer(to: request.question, file))
        }
        _exit(0)
    }

    private func answer(to question: MediaRequest.Question, _ file: [UInt8]) -> [UInt8] {
        var facts = MediaFacts()
        switch question {
        case .type: facts.contentType = types.type(of: file)
        case .picture: facts = MediaFacts(picture: file)
        case .recording: facts.duration = recordings?.duration(of: file)
        case .preview: if let preview = PicturePreview(picture: file) { return preview.line }
        }
        return facts.line
    }
}
