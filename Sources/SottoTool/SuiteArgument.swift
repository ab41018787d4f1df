public import Arguments
public import Sotto

extension Suite: ExpressibleByArgument {}

extension WhisperID: ExpressibleByArgument {
    /// Reads the text of an option.
    public init?(argument: String) { self.init(argument) }
}
