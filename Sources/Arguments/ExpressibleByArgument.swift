/// A value that is read from a word of the command line.
public protocol ExpressibleByArgument {
    /// Reads the value; `nil` where `argument` is none.
    init?(argument: String)

    /// The words of all values, where they are few enough to list; else empty.
    static var allArguments: [String] { get }

    /// The word that is read as this value, for the help to show a default; else empty.
    var argument: String { get }
}

extension ExpressibleByArgument {
    /// None are listed.
    public static var allArguments: [String] { [] }

    /// None is shown.
    public var argument: String { "" }
}

extension ExpressibleByArgument where Self: CaseIterable & RawRepresentable, RawValue == String {
    /// The raw values, in the order of the cases.
    public static var allArguments: [String] { allCases.map(\.rawValue) }
}

extension ExpressibleByArgument where Self: RawRepresentable, RawValue == String {
    /// The value of a raw value.
    public init?(argument: String) { self.init(rawValue: argument) }

    /// The raw value.
    public var argument: String { rawValue }
}

extension ExpressibleByArgument where Self: LosslessStringConvertible {
    /// The value of a description.
    public init?(argument: String) { self.init(argument) }

    /// The description.
    public var argument: String { description }
}

extension String: ExpressibleByArgument {}
extension Int: ExpressibleByArgument {}
extension Int32: ExpressibleByArgument {}
extension Double: ExpressibleByArgument {}
