/// A flag, an option or a positional argument, as its property wrapper declares it.
///
/// The closures are called when a command line has the argument, or when help is asked for: a start costs only what it uses.
final class Declaration {
    enum Kind { case flag, option, positional }

    let kind: Kind
    /// As they are typed: `-o`, `--output`. Empty for a positional argument.
    let names: [String]
    /// What the value is called in the help.
    let valueName: String
    let help: String
    let isRequired: Bool
    let isRepeating: Bool
    /// Which words are values.
    let values: ValueWords
    let choices: () -> [String]
    let defaultValue: () -> String?
    /// Takes a word, and says whether it is a value. A flag takes the empty one.
    let take: (String) -> Bool
    /// Whether the command line had it.
    var isGiven = false

    init(
        _ kind: Kind, names: [String] = [], valueName: String, help: String,
        isRequired: Bool = false,
        isRepeating: Bool = false, values: ValueWords = .withoutDash,
        choices: @escaping () -> [String] = { [] },
        defaultValue: @escaping () -> String? = { nil }, take: @escaping (String) -> Bool
    ) {
        self.kind = kind
        self.names = names
        self.valueName = valueName
        self.help = help
        self.isRequired = isRequired
        self.isRepeating = isRepeating
        self.values = values
        self.choices = choices
        self.defaultValue = defaultValue
        self.take = take
        Declarations.current?.add(self)
    }
}

/// Which words an argument takes as its value.
public enum ValueWords: Sendable {
    /// Those that look like no option: `-o --armor` is a mistake.
    case withoutDash
    /// Any: a number below zero, a name that begins with a dash.
    case any
    /// Of a positional argument: the rest of the command line as it is, options too.
    case theRest
}

/// The arguments of a command, in the order in which its properties declare them.
///
/// A property wrapper adds itself where its command is made, so that nothing has to look through a command's properties. The
/// Swift runtime answers each question of that kind by a search through all conformances of a program, which took
/// three quarters of a start.
final class Declarations {
    /// Where the wrappers of the command that is being made add themselves. A program parses its command line on its
    /// first thread, before it starts another.
    nonisolated(unsafe) static var current: Declarations?

    private(set) var all: [Declaration] = []
    private var validations: [() throws -> Void] = []

    func add(_ declaration: Declaration) { all.append(declaration) }

    /// Has `validation` called once all arguments were taken.
    func validate(_ validation: @escaping () throws -> Void) { validations.append(validation) }

    func validateGroups() throws { for validation in validations { try validation() } }

    /// Makes a command, and returns it with what it declares.
    static func of(_ type: any Command.Type) -> (any Command, Declarations) {
        let declarations = Declarations()
        let outer = current
        current = declarations
        defer { current = outer }
        return (type.init(), declarations)
    }
}

/// Where a wrapper keeps its value, which the parser sets before the program reads it.
final class Cell<Value> {
    private var value: Value?
    /// Whether the value is not the default any more.
    private var isGiven = false

    init(_ initial: Value? = nil) { value = initial }

    var unwrapped: Value {
        guard let value else { preconditionFailure("an argument is read before the command line") }
        return value
    }

    func set(_ value: Value) {
        self.value = value
        isGiven = true
    }

    /// Takes a word as the value, and says whether it is one.
    func take(_ word: String) -> Bool where Value: ExpressibleByArgument {
        guard let value = Value(argument: word) else { return false }
        set(value)
        return true
    }

    /// Takes a word as the value, and says whether it is one.
    func take<Wrapped: ExpressibleByArgument>(_ word: String) -> Bool where Value == Wrapped? {
        guard let value = Wrapped(argument: word) else { return false }
        set(value)
        return true
    }

    /// Takes a word as one more value, and says whether it is one. The first takes the place of the default.
    func take<Element: ExpressibleByArgument>(_ word: String) -> Bool where Value == [Element] {
        guard let element = Element(argument: word) else { return false }
        if !isGiven { set([]) }
        value?.append(element)
        return true
    }
}
