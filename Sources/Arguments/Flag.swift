/// An option without a value: `-q`, `--quiet`.
@propertyWrapper
public struct Flag {
    private let cell: Cell<Bool>

    /// Whether the flag was given.
    public var wrappedValue: Bool { cell.unwrapped }

    /// Creates a flag with these names, each with its dashes.
    public init(wrappedValue: Bool, _ names: String..., help: String) {
        let cell = Cell(wrappedValue)
        self.cell = cell
        _ = Declaration(.flag, names: names, valueName: "", help: help) { _ in
            cell.set(!wrappedValue)
            return true
        }
    }
}
