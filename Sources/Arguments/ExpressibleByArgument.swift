/// A value that is parsed from a word of the command line.
public protocol ExpressibleByArgument {
    /// Parses the value. Returns `nil` if `argument` is not valid.
    init?(argument: String)

    /// The words of all values if they can be listed, else empty.
    static var allArguments: [String] { get }

    /// The accepted words, for the error about an invalid one, such as `a number from 1 to 9`. May be empty.
    static var argumentForm: String { get }

    /// The word that is parsed as this value, for displaying a default in the help. May be empty.
    var argument: String { get }
}

extension ExpressibleByArgument {
    /// An empty list.
    public static var allArguments: [String] { [] }

    /// An empty text.
    public static var argumentForm: String { "" }

    /// An empty word.
    public var argument: String { "" }
}

extension ExpressibleByArgument where Self: CaseIterable & RawRepresentable, RawValue == String {
    /// The raw values, in the order of the cases.
    public static var allArguments: [String] { allCases.map(\.rawValue) }
}

extension ExpressibleByArgument where Self: RawRepresentable, RawValue == String {
    /// Creates the value with this raw value.
    public init?(argument: String) { self.init(rawValue: argument) }

    /// The raw value.
    public var argument: String { rawValue }
}

extension ExpressibleByArgument where Self: LosslessStringConvertible {
    /// Creates the value with this description.
    public init?(argument: String) { self.init(argument) }

    /// The description.
    public var argument: String { description }
}

extension String: ExpressibleByArgument {}
extension Int: ExpressibleByArgument {}
extension Int32: ExpressibleByArgument {}
extension Double: ExpressibleByArgument {}
