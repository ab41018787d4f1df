public import SottoBytes
import SottoPadding

extension Failure {
    /// The output pipe was closed: the tool ends by SIGPIPE and prints nothing.
    static let closedPipe = Failure(.closedPipe, "")

    static let binaryOnTerminal = Failure(
        .usage, "refusing to write binary data to the terminal",
        hint: "redirect it, name a file with -o, or force it with -o -")

    /// Creates the failure for an error of `SottoBytes` or `SottoPadding`, or for an error that contains its own report;
    /// `nil` for any other.
    public init?(reporting error: any Error) {
        switch error {
        case let error as JSONError: self.init(error)
        case let error as PaddingError: self.init(error)
        case let error as any FailureError: self = error.failure
        default: return nil
        }
    }

    init(_ error: JSONError) {
        switch error {
        case .malformed(let offset): self.init(.malformed, "not JSON (byte \(offset))")
        case .invalidText(let offset):
            self.init(.malformed, "text that is not UTF-8 (byte \(offset))")
        case .duplicateMember(let offset):
            self.init(.malformed, "a JSON member occurs twice (byte \(offset))")
        case .tooDeep(let offset):
            self.init(.malformed, "JSON nested deeper than \(JSON.maximumDepth) (byte \(offset))")
        case .numberOutOfRange(let offset):
            self.init(.malformed, "a JSON number out of range (byte \(offset))")
        }
    }

    init(_ error: PaddingError) {
        switch error {
        case .length(let count): self.init(.malformed, "\(count) bytes is not a padded length")
        case .version, .padLength, .marker: self.init(.malformed, "the padding is malformed")
        case .tooLong: self.init(.malformed, "the input is longer than 2^31 - 1 bytes")
        }
    }
}
