public import SottoBytes

@_exported public import SottoProgram

/// A tool that uses the core: its errors include the core's. The other tools conform to ``Program``, and link no
/// cryptography.
public protocol CoreProgram: Program {}

extension CoreProgram {
    /// Returns the failure for an error of the core.
    public static func failure(for error: any Error) -> Failure? { Failure(core: error) }
}
