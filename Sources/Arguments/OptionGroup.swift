/// Arguments that several commands share, in the place where they are declared.
@propertyWrapper
public struct OptionGroup<Group: ArgumentGroup> {
    /// The group, with what the command line gave.
    public let wrappedValue: Group

    /// The group's arguments; ``ArgumentGroup/validate()`` of it is called before the command's.
    public init() {
        let group = Group()
        wrappedValue = group
        Declarations.current?.validate { try group.validate() }
    }
}
