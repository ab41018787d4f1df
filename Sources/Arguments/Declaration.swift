/// A flag, an option or a positional argument as declared by its property wrapper.
///
/// The closures are called only when the command line contains the argument or the help is printed. This keeps the
/// start fast.
final class Declaration {
    enum Kind { case flag, option, positional }

    let kind: Kind
    /// The names as they are typed: `-o`, `--output`. Empty for a positional argument.
    let names: [String]
    /// The name of the value in the help.
    let valueName: String
    let help: String
    let isRequired: Bool
    let isRepeating: Bool
    /// The words that are accepted as values.
    let values: ValueWords
    let choices: () -> [String]
    /// The accepted words, for the error about an invalid one; may be empty.
    let form: () -> String
    let defaultValue: () -> String?
    /// Takes a word. Returns whether it is a valid value. A flag takes the empty word.
    let take: (String) -> Bool
    /// The name with which the command line gives the argument, for a positional one `<file>`; `nil` if it does not.
    var givenAs: String?
    var isGiven: Bool { givenAs != nil }

    init(
        _ kind: Kind, names: [String] = [], valueName: String, help: String,
        isRequired: Bool = false,
        isRepeating: Bool = false, values: ValueWords = .withoutDash,
        choices: @escaping () -> [String] = { [] }, form: @escaping () -> String = { "" },
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
        self.form = form
        self.defaultValue = defaultValue
        self.take = take
        Declarations.current?.add(self)
    }
}

/// The words that an argument accepts as its value.
public enum ValueWords: Sendable {
    /// Words that do not look like an option: `-o --armor` is an error.
    case withoutDash
    /// Any word, such as a negative number or a name that begins with a dash. For a positional argument: also a negative
    /// number.
    case any
    /// For a positional argument: the rest of the command line, unchanged, including options.
    case theRest
}

/// The arguments of a command, in the order in which its properties declare them.
///
/// A property wrapper registers itself when its command is created, so the parser does not enumerate a command's
/// properties. With reflection, the Swift runtime searches all conformances of a program, which took three quarters of
/// the start time.
final class Declarations {
    /// The list in which the wrappers of the command under construction register themselves. A program parses its
    /// command line on its first thread, before it starts another.
    nonisolated(unsafe) static var current: Declarations?

    private(set) var all: [Declaration] = []
    private var validations: [() throws -> Void] = []

    func add(_ declaration: Declaration) { all.append(declaration) }

    /// Adds a validation that is called after all arguments were taken.
    func validate(_ validation: @escaping () throws -> Void) { validations.append(validation) }

    func validateGroups() throws { for validation in validations { try validation() } }

    /// Creates a command and returns it with its declarations.
    static func of(_ type: any Command.Type) -> (any Command, Declarations) {
        let declarations = Declarations()
        let outer = current
        current = declarations
        defer { current = outer }
        return (type.init(), declarations)
    }
}

/// The storage of a wrapper's value. The parser sets it before the program reads it.
final class Cell<Value> {
    private var value: Value?
    /// Whether the value was given and replaces the default.
    private var isGiven = false

    init(_ initial: Value? = nil) { value = initial }

    var unwrapped: Value {
        guard let value else {
            preconditionFailure("an argument was read before the command line was parsed")
        }
        return value
    }

    func set(_ value: Value) {
        self.value = value
        isGiven = true
    }

    /// Takes a word as the value. Returns whether it is valid.
    func take(_ word: String) -> Bool where Value: ExpressibleByArgument {
        guard let value = Value(argument: word) else { return false }
        set(value)
        return true
    }

    /// Takes a word as the value. Returns whether it is valid.
    func take<Wrapped: ExpressibleByArgument>(_ word: String) -> Bool where Value == Wrapped? {
        guard let value = Wrapped(argument: word) else { return false }
        set(value)
        return true
    }

    /// Takes a word as a further value. Returns whether it is valid. The first one replaces the default.
    func take<Element: ExpressibleByArgument>(_ word: String) -> Bool where Value == [Element] {
        guard let element = Element(argument: word) else { return false }
        if !isGiven { set([]) }
        value?.append(element)
        return true
    }
}
