import Glibc

/// Returns a variable of the environment, or `nil` if it is not set or empty.
public func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}

/// Returns `$SOTTO_IDENTITY`, else `$XDG_CONFIG_HOME/sotto/identity`, else `~/.config/sotto/identity`. Throws a failure with
/// status 78 if none of the variables is set.
public func defaultIdentityPath() throws(Failure) -> String {
    if let path = environmentVariable("SOTTO_IDENTITY") { return path }
    if let base = environmentVariable("XDG_CONFIG_HOME") { return base + "/sotto/identity" }
    if let home = environmentVariable("HOME") { return home + "/.config/sotto/identity" }
    throw Failure(
        .configuration, "no identity is given and $HOME is not set", hint: "use -i FILE")
}
