import Arguments
import Glibc
import Sotto
import SottoServer
import SottoTool
import SottoWire

/// The options for TLS.
struct TLSOptions: ArgumentGroup {
    @Option(
        "--tls-cert", value: "file",
        help: "Use TLS with the certificate chain in this PEM file; read again on SIGHUP.")
    var tlsCert: String?

    @Option("--tls-key", value: "file", help: "The private key of the certificate, a PEM file.")
    var tlsKey: String?

    @Flag(
        "--tls-self-signed",
        help: "Create both files if neither exists, with a certificate for clients to pin.")
    var tlsSelfSigned = false

    @Flag("--tls-only", help: "Close connections without TLS from this machine too.")
    var tlsOnly = false

    @Flag("--allow-plain", help: "Beside TLS, accept connections without TLS from other machines.")
    var allowPlain = false

    func validate() throws {
        guard (tlsCert == nil) == (tlsKey == nil) else {
            throw UsageError("--tls-cert and --tls-key need each other")
        }
        guard tlsCert != nil || !tlsSelfSigned && !tlsOnly && !allowPlain else {
            throw UsageError(
                "--tls-self-signed, --tls-only and --allow-plain need --tls-cert and --tls-key")
        }
        guard !tlsOnly || !allowPlain else {
            throw UsageError("--tls-only and --allow-plain cannot be combined")
        }
    }

    /// The certificate and key files, or `nil` without TLS.
    var files: TLSFiles? {
        tlsCert.flatMap { certificate in
            tlsKey.map { TLSFiles(certificate: certificate, key: $0) }
        }
    }

    /// The connections without TLS that the relay accepts. Without a certificate it accepts all.
    var plainConnections: PlainConnections {
        if files == nil || allowPlain { return .accepted }
        return tlsOnly ? .refused : .local
    }

    /// Creates the files if asked for, and prints the pin for clients.
    func prepare(_ plan: RelayConfiguration, say: (String) -> Void) throws {
        guard let files else { return }
        if willMake {
            try files.makeSelfSigned(for: Self.hosts(plan))
            say("created the certificate \(files.certificate) and its key")
        }
        if tlsSelfSigned {
            for (file, other) in [(files.key, files.certificate), (files.certificate, files.key)]
            where access(file, F_OK) != 0 && access(other, F_OK) == 0 {
                throw Failure(
                    .configuration, "\(other) exists, but \(file) does not",
                    hint: "restore the missing file, or move the other one away to create both anew"
                )
            }
        }
        try checkKey()
        say("certificate #sha256=\(hex(try files.pin()))")
    }

    /// A warning about a certificate that is not valid, or soon is not, or `nil`. The relay starts all the same: clients
    /// may have pinned it.
    var warning: String? {
        guard let files else { return nil }
        do throws(RelayError) {
            let problem = try files.validity().problem
            return problem.map { "the certificate \(files.certificate): \($0)" }
        } catch {
            return error.failure.message
        }
    }

    /// Throws if other users can read the key.
    func checkKey() throws(Failure) {
        guard let tlsKey else { return }
        var status = stat()
        if stat(tlsKey, &status) == 0, status.st_mode & 0o007 != 0 {
            throw Failure(
                .permission, "others can read the key \(tlsKey)",
                hint: "chmod 600 \(shellWord(tlsKey))")
        }
    }

    /// Whether both files will be created.
    var willMake: Bool {
        guard let files else { return false }
        return tlsSelfSigned && access(files.certificate, F_OK) != 0
            && access(files.key, F_OK) != 0
    }

    /// Returns the host names by which clients connect.
    private static func hosts(_ plan: RelayConfiguration) -> [String] {
        var hosts: [String] = []
        for name in plan.names + [plan.listen.name, "localhost:0"] {
            guard let colon = name.lastIndex(of: ":") else { continue }
            let host = name[..<colon].filter { $0 != "[" && $0 != "]" }
            if !hosts.contains(host) { hosts.append(host) }
        }
        return hosts
    }
}
