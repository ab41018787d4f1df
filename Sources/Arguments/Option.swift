/// An option with a value: `-o FILE`, `-oFILE`, `--output FILE`, `--output=FILE`.
@propertyWrapper
public struct Option<Value> {
    private let cell: Cell<Value>

    /// The given value, else the default.
    public var wrappedValue: Value { cell.unwrapped }

    /// Creates an option with these names, each with its dashes. If it is not given, its value is the initial one.
    /// `value` is the name of the value in the help.
    public init(
        wrappedValue: Value, _ names: String..., value: String, help: String,
        values: ValueWords = .withoutDash
    ) where Value: ExpressibleByArgument {
        let cell = Cell(wrappedValue)
        self.cell = cell
        _ = Declaration(
            .option, names: names, valueName: value, help: help, values: values,
            choices: { Value.allArguments },
            form: { Value.argumentForm },
            defaultValue: { wrappedValue.argument.isEmpty ? nil : wrappedValue.argument },
            take: { cell.take($0) })
    }

    /// A required option.
    public init(
        _ names: String..., value: String, help: String, values: ValueWords = .withoutDash
    ) where Value: ExpressibleByArgument {
        let cell = Cell<Value>()
        self.cell = cell
        _ = Declaration(
            .option, names: names, valueName: value, help: help, isRequired: true, values: values,
            choices: { Value.allArguments },
            form: { Value.argumentForm }, take: { cell.take($0) })
    }

    /// An optional option: `nil` if it is not given.
    public init<Wrapped: ExpressibleByArgument>(
        _ names: String..., value: String, help: String, values: ValueWords = .withoutDash
    ) where Value == Wrapped? {
        let cell = Cell<Value>(.some(nil))
        self.cell = cell
        _ = Declaration(
            .option, names: names, valueName: value, help: help, values: values,
            choices: { Wrapped.allArguments },
            form: { Wrapped.argumentForm }, take: { cell.take($0) })
    }

    /// An option that may be repeated, with one value each time.
    public init<Element: ExpressibleByArgument>(
        wrappedValue: [Element], _ names: String..., value: String, help: String,
        values: ValueWords = .withoutDash
    ) where Value == [Element] {
        let cell = Cell(wrappedValue)
        self.cell = cell
        _ = Declaration(
            .option, names: names, valueName: value, help: help, isRepeating: true, values: values,
            choices: { Element.allArguments },
            form: { Element.argumentForm }, take: { cell.take($0) })
    }
}
