import Testing

/// The program openssl, with which other formats are compared.
package enum OpenSSL {
    /// Returns the output of `openssl` with these arguments. Fails if its exit status is not 0.
    package static func run(_ arguments: [String], stdin: [UInt8] = []) throws -> [UInt8] {
        let run = try Command(path: Peer.openSSL.path, arguments).run(stdin: .whole(stdin))
        try #require(run.status == 0, "openssl \(arguments.first ?? ""): \(run.stderr)")
        return run.stdout
    }
}
