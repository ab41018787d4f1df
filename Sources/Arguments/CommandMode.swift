/// A way to use a command. A command line can give only the arguments that have an effect in its mode.
///
/// The raw value is the option or the word that selects the mode, for messages; empty for the mode without one.
public protocol CommandMode: CaseIterable, RawRepresentable<String> {
    /// The arguments that have an effect, separated by spaces: an option by any of its names, and a positional argument
    /// as `<file>`.
    var takes: String { get }
    /// The name of the mode in messages about options that other modes have. The raw value by default.
    var title: String { get }
}

extension CommandMode {
    /// The raw value.
    public var title: String { rawValue }
}

/// The arguments that a command line gives. A command that has modes declares it as a property.
public struct GivenArguments {
    private let declarations: Declarations

    /// Creates the list for the command under construction.
    public init() { declarations = Declarations.current ?? Declarations() }

    /// Throws a usage error for the first declared argument that is given and has no effect in `mode`.
    public func check<Mode: CommandMode>(for mode: Mode) throws {
        for declaration in declarations.all {
            guard let name = declaration.givenAs, !mode.takes(declaration) else { continue }
            let modes = Mode.allCases.filter { $0.takes(declaration) }
            // The mode without an option is last, because its title is no option.
            let others =
                (modes.filter { !$0.rawValue.isEmpty } + modes.filter(\.rawValue.isEmpty))
                .map(\.title).filter { !$0.isEmpty }
            let only = "only for " + others.joined(separator: ", ")
            guard !mode.rawValue.isEmpty else { throw UsageError("\(name) is \(only)") }
            let isSelector = others.contains { $0.words.contains(where: declaration.isCalled) }
            throw UsageError(
                "\(name) cannot be combined with \(mode.rawValue)"
                    + (isSelector || others.isEmpty ? "" : "; it is \(only)"))
        }
    }

    /// Throws a usage error if the option `name` is given together with `other`, which leaves it without effect.
    public func refuse(_ name: String, with other: String) throws {
        for declaration in declarations.all where declaration.isCalled(name) {
            guard let name = declaration.givenAs else { continue }
            throw UsageError("\(name) cannot be combined with \(other)")
        }
    }
}

extension CommandMode {
    fileprivate func takes(_ declaration: Declaration) -> Bool {
        takes.words.contains(where: declaration.isCalled)
    }
}

extension Declaration {
    fileprivate func isCalled(_ name: some StringProtocol) -> Bool {
        names.isEmpty ? name == "<\(valueName)>" : names.contains { $0 == name }
    }
}

extension String {
    fileprivate var words: [Substring] { split(separator: " ") }
}
