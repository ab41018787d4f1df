import Arguments
import Glibc
import Sotto
import SottoServer
import SottoTool
import SottoWire

/// The options for TURN servers, which carry the media of calls.
struct TurnOptions: ArgumentGroup {
    @Option(
        "--turn-secret", value: "file",
        help:
            "Give logged-in owners credentials for TURN servers, made with the secret in this file: coturn's static-auth-secret."
    )
    var secret: String?

    @Option(
        "--turn-uri", value: "uri",
        help: "A TURN server, such as turn:turn.example.org:3478?transport=udp; may be repeated.")
    var uris: [String] = []

    func validate() throws {
        guard (secret == nil) == uris.isEmpty else {
            throw UsageError("--turn-secret and --turn-uri require each other")
        }
        guard uris.count <= TurnCredentials.mostURIs else {
            throw UsageError("--turn-uri is given more than \(TurnCredentials.mostURIs) times")
        }
        guard uris.allSatisfy(TurnCredentials.isURI) else {
            throw UsageError(
                "--turn-uri is not the URI of a server, such as turn:turn.example.org:3478")
        }
    }

    /// Returns the servers, or `nil` without any. Throws a failure if the secret cannot be read, if others can read it, or if its
    /// length is wrong.
    func servers() throws -> TurnServers? {
        guard let secret else { return nil }
        var status = stat()
        if stat(secret, &status) == 0, status.st_mode & 0o007 != 0 {
            throw Failure(
                .permission, "others can read the secret \(secret)",
                hint: "chmod 600 \(shellWord(secret))")
        }
        var bytes = try Input(path: secret).readAll(limit: TurnServers.secretBytes.upperBound + 2)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        while let last = bytes.last, [0x0A, 0x0D].contains(last) { bytes.removeLast() }
        let limits = TurnServers.secretBytes
        guard limits.contains(bytes.count), !bytes.contains(0x0A) else {
            throw Failure(
                .configuration,
                "the secret in \(secret) is not one line of \(limits.lowerBound) to \(limits.upperBound) bytes",
                hint: "make one: openssl rand -hex 32 > \(shellWord(secret))")
        }
        return TurnServers(secret: SecretBytes(copying: bytes), uris: uris)
    }
}
