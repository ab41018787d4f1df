import Glibc
public import SottoBytes

/// Returns a variable of the environment, or `nil` if it is not set or empty.
public func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}

/// Returns the variables of the environment, each as `NAME=value`.
package func environmentVariables() -> [String] {
    var variables: [String] = []
    var place = environ
    while let variable = place.pointee {
        variables.append(String(cString: variable))
        place += 1
    }
    return variables
}

/// Returns a path in a variable of the environment, or `nil` if it is not set or empty.
///
/// Throws a failure with status 78 for a value that is not UTF-8: with its bytes replaced it would name another file.
public func environmentPath(_ name: String) throws(Failure) -> String? {
    guard let value = getenv(name) else { return nil }
    guard let path = String(validatingCString: value) else { throw .notUTF8(variable: name) }
    return path.isEmpty ? nil : path
}

/// Returns `$SOTTO_IDENTITY`, else `$XDG_CONFIG_HOME/sotto/identity`, else `~/.config/sotto/identity`. Throws a failure with
/// status 78 if none of the variables is set.
public func defaultIdentityPath() throws(Failure) -> String {
    if let path = try environmentPath("SOTTO_IDENTITY") { return path }
    if let base = try environmentPath("XDG_CONFIG_HOME") { return base + "/sotto/identity" }
    if let home = try environmentPath("HOME") { return home + "/.config/sotto/identity" }
    throw Failure(
        .configuration, "no identity is given and $HOME is not set", hint: "use -i FILE")
}
