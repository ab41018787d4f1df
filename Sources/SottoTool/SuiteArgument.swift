public import Arguments
public import Sotto

extension Suite: ExpressibleByArgument {}

extension WhisperID: ExpressibleByArgument {
    /// Parses the text of an option.
    public init?(argument: String) { self.init(argument) }
}
