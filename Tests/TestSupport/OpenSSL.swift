package import Testing

/// The program openssl, against which formats of others are held.
package enum OpenSSL {
    package static let path = Programs.find("openssl")
    /// Why a test that wants it is skipped.
    package static let hint: Comment = "openssl is not installed"

    /// What `openssl` writes for these arguments, where it ends well.
    package static func run(_ arguments: [String], stdin: [UInt8] = []) throws -> [UInt8] {
        let run = try Command(path: path ?? "openssl", arguments).run(stdin: .whole(stdin))
        try #require(run.status == 0, "openssl \(arguments.first ?? ""): \(run.stderr)")
        return run.stdout
    }
}
