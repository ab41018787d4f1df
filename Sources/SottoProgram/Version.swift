/// The version of all tools.
public let sottoVersion = "0.1.0"
