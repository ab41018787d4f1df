package import Arguments

/// The options for the beginning of a session.
package struct SessionOptions: ArgumentGroup {
    @Option(
        "--bundle", value: "file",
        help:
            "Begin the session with this bundle from recv --bundle; `-` is stdin. May be repeated."
    )
    package var bundle: [String] = []

    @Flag("--new-session", help: "Begin a new session even if one exists.")
    package var newSession = false

    @Flag("--require-opk", help: "Begin no session without a one-time prekey.")
    package var requireOneTime = false

    package init() {}

    /// The plain value of these options.
    package var beginning: SessionBeginning {
        SessionBeginning(
            bundles: bundle, isNew: newSession, needsOneTimePreKey: requireOneTime)
    }

    /// The first of these options that was given.
    package var given: String? {
        if !bundle.isEmpty { return "--bundle" }
        if newSession { return "--new-session" }
        return requireOneTime ? "--require-opk" : nil
    }

    /// Throws a usage error if standard input is both a bundle and the message in `file`.
    package func check(message file: String?) throws {
        let isMessage = file == nil || file == "-"
        guard bundle.count(where: { $0 == "-" }) + (isMessage ? 1 : 0) <= 1 else {
            throw UsageError("standard input can be a bundle or the message, not both")
        }
    }
}

/// The settings for the beginning of sessions.
package struct SessionBeginning: Sendable {
    /// The paths of bundles; `-` is standard input.
    package let bundles: [String]
    /// Whether a new session begins even if one exists.
    package let isNew: Bool
    /// Whether no session begins without a one-time prekey.
    let needsOneTimePreKey: Bool

    /// Whether the user requires no session.
    package var isAutomatic: Bool { bundles.isEmpty && !isNew && !needsOneTimePreKey }
}
