/// A positional argument.
@propertyWrapper
public struct Argument<Value> {
    private let cell: Cell<Value>

    /// The given value, else the default.
    public var wrappedValue: Value { cell.unwrapped }

    /// A required argument; `value` is its name in the help.
    public init(_ value: String, help: String, values: ValueWords = .withoutDash)
    where Value: ExpressibleByArgument {
        let cell = Cell<Value>()
        self.cell = cell
        _ = Declaration(
            .positional, valueName: value, help: help, isRequired: true, values: values,
            choices: { Value.allArguments },
            form: { Value.argumentForm }, take: { cell.take($0) })
    }

    /// An optional argument: `nil` if it is not given.
    public init<Wrapped: ExpressibleByArgument>(_ value: String, help: String)
    where Value == Wrapped? {
        let cell = Cell<Value>(.some(nil))
        self.cell = cell
        _ = Declaration(
            .positional, valueName: value, help: help, choices: { Wrapped.allArguments },
            form: { Wrapped.argumentForm },
            take: { cell.take($0) })
    }

    /// All further arguments; may be empty.
    public init<Element: ExpressibleByArgument>(
        wrappedValue: [Element], _ value: String, help: String, values: ValueWords = .withoutDash
    ) where Value == [Element] {
        let cell = Cell(wrappedValue)
        self.cell = cell
        _ = Declaration(
            .positional, valueName: value, help: help, isRepeating: true, values: values,
            choices: { Element.allArguments },
            form: { Element.argumentForm }, take: { cell.take($0) })
    }

    /// All further arguments, at least one.
    public init<Element: ExpressibleByArgument>(
        _ value: String, help: String, values: ValueWords = .withoutDash
    ) where Value == [Element] {
        let cell = Cell<Value>()
        self.cell = cell
        _ = Declaration(
            .positional, valueName: value, help: help, isRequired: true, isRepeating: true,
            values: values, choices: { Element.allArguments },
            form: { Element.argumentForm }, take: { cell.take($0) })
    }
}
