/// An error of a module that `SottoTool` does not import (state, network, images). It contains its own report.
public protocol ReportableError: Error {
    /// The exit status.
    var status: Int32 { get }
    /// The message: it names what failed and why, begins in lower case, has no full stop, and contains no secret.
    var message: String { get }
    /// The hint: an action for the user.
    var hint: String? { get }
}
