/// An error of a part that the command line's floor does not know (state, network, pictures) and that says
/// itself how a tool reports it.
public protocol ReportableError: Error {
    /// The number of the exit status.
    var status: Int32 { get }
    /// What went wrong, beginning in lower case, without a full stop, and without any secret.
    var message: String { get }
    /// What to do about it.
    var hint: String? { get }
}
