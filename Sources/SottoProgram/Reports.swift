import SottoBytes
import SottoPadding

extension Failure {
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

/// An error of a module that contains its own report, in one `switch` without `default`.
public protocol FailureError: Error {
    /// The report: the message, the hint and the exit status.
    var failure: Failure { get }
}
