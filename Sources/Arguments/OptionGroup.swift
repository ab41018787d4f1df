/// Arguments that several commands share.
@propertyWrapper
public struct OptionGroup<Group: ArgumentGroup> {
    /// The group with the values from the command line.
    public let wrappedValue: Group

    /// Adds the group's arguments. ``ArgumentGroup/validate()`` of the group is called before that of the command.
    public init() {
        let group = Group()
        wrappedValue = group
        Declarations.current?.validate { try group.validate() }
    }
}
