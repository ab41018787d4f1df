import Glibc
import Sotto
import SottoState
import SottoWire
import Testing

@testable import SottoServer

/// A directory of its own, mode 0700, that goes away with the value.
final class Scratch: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/sotto-relay-tests.XXXXXX".utf8CString)
        mkdtemp(&template)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit { _ = Command.run("/bin/rm", ["-rf", path]) }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ name: String, _ bytes: [UInt8]) -> String {
        let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            rest = rest.dropFirst(count)
        }
        return file(name)
    }

    /// The complete lines of a file.
    func lines(_ name: String) -> [String] {
        let text = String(decoding: Self.contents(file(name)), as: UTF8.self)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        _ = lines.popLast()
        return lines
    }

    static func contents(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &block, block.count)
            if count <= 0 { return bytes }
            bytes += block[..<count]
        }
    }
}

/// A program that was built, or one of the system.
struct Command {
    let process: pid_t

    /// Where the programs are: beside the tests.
    static let directory: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        return String(path[..<path.lastIndex(of: "/")!])
    }()

    /// Starts a program with files for its three streams, and perhaps one more descriptor as its 3.
    init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        input: String = "/dev/null", output: String = "/dev/null", errors: String = "/dev/null",
        descriptor: Int32? = nil
    ) {
        let path = program.hasPrefix("/") ? program : Self.directory + "/" + program
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
        if let descriptor { posix_spawn_file_actions_adddup2(&actions, descriptor, 3) }
        let argv = ([path] + arguments).map { strdup($0) } + [nil]
        var all = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no", "HOME": "/nonexistent"]
        all.merge(environment) { $1 }
        let envp = all.map { strdup("\($0)=\($1)") } + [nil]
        // A thread of the test runner blocks signals; its children shall not.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, argv, envp)
        precondition(code == 0, "cannot start \(path): \(code)")
        for word in argv + envp { free(word) }
        process = child
    }

    func kill(_ signal: Int32) { Glibc.kill(process, signal) }

    /// The exit status; minus the signal that ended it.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    }

    /// Runs a program to its end.
    static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        input: String = "/dev/null", output: String = "/dev/null", errors: String = "/dev/null"
    ) -> Int32 {
        Command(
            program, arguments, environment: environment, input: input, output: output,
            errors: errors
        ).wait()
    }
}

/// The built `relay`, ready for connections.
struct RelayProcess {
    let command: Command
    let address: String

    /// Starts it and waits for its word that it is ready; `nil` when it ends before.
    init?(
        _ scratch: Scratch, listen: String = "127.0.0.1:0", _ options: [String] = [],
        environment: [String: String] = [:]
    ) {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        command = Command(
            "relay",
            ["--listen", listen, "--store", scratch.file("relay.db"), "--ready-fd", "3"] + options,
            environment: environment, errors: scratch.file("relay.log"), descriptor: ends[1])
        close(ends[1])
        defer { close(ends[0]) }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(ends[0], &byte, 1) == 1, byte != 0x0A { line.append(byte) }
        guard !line.isEmpty else {
            command.wait()
            return nil
        }
        address = String(decoding: line, as: UTF8.self)
    }
}

/// A client that says exactly what a test wants.
final class RawClient {
    private let descriptor: Int32
    private var splitter = LineSplitter(limit: 4 << 20)
    private var requests = 0

    convenience init(_ address: String) {
        self.init(reaching: address)!
    }

    /// A client of a relay that may not be there.
    init?(reaching address: String) {
        let parts = address.split(separator: ":")
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(parts[1])!.bigEndian
        inet_pton(AF_INET, String(parts[0]), &name.sin_addr)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { return nil }
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout,
            socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ line: String) { send(Array((line + "\n").utf8)) }

    /// The next line; `nil` at the end of the connection.
    func line() -> String? {
        while true {
            if case .line(let line) = splitter.next() {
                return String(decoding: line, as: UTF8.self)
            }
            var block = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &block, block.count, 0)
            if count <= 0 { return nil }
            block[..<count].withUnsafeBytes { splitter.append($0) }
        }
    }

    /// The next response.
    func response() -> Response? {
        line().flatMap { try? Frame(parsing: Array($0.utf8)) }.flatMap { Response($0) }
    }

    /// Asks and returns the next response.
    func ask(_ request: Request) -> Response? {
        requests += 1
        send(request.line(requestID: "r\(requests)"))
        return response()
    }

    /// Publishes prekeys.
    func publish(_ publication: PreKeyPublication) -> Response? {
        ask(.publish(PublishedPreKeys(publication)))
    }

    /// Claims a bundle of an owner's prekeys.
    func claim(_ owner: SessionID, _ id: String = Envelope.newID()) -> PreKeyBundle? {
        guard case .bundle(let line) = ask(.claim(owner: owner, id: id)),
            let record = try? JSON.object(parsing: line)
        else { return nil }
        return try? PreKeyBundle(record: record)
    }

    /// Logs in under the name that the relay gives itself.
    func login(_ identity: Identity) -> Response? {
        guard case .challenge(let nonce, let names) = ask(.challenge) else { return nil }
        return ask(.login(Login(key: identity.signingKey, nonce: nonce, relay: names[0])))
    }
}

/// Envelopes and identities as tests need them.
enum Sample {
    static func identity() -> Identity {
        Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "test")
    }

    static func record(
        _ id: String = Envelope.newID(), to: SessionID, text: String = "AA=="
    ) -> JSONObject {
        [
            "v": .integer(1), "type": .string("envelope"), "id": .string(id),
            "suite": .string("sealed"), "to": .string(to.description),
            "time": .string("2026-01-01T00:00:00Z"), "payload": .object(["age": .string(text)]),
        ]
    }

    static func envelope(
        _ id: String = Envelope.newID(), to: SessionID, text: String = "AA=="
    ) -> AddressedEnvelope {
        do { return try AddressedEnvelope(record(id, to: to, text: text)) } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Prekeys of an owner: a signed one of this number, and one-time prekeys of these.
    static func preKeys(
        of owner: Identity, signed: UInt32 = 1, oneTime: Range<UInt32>, isPostQuantum: Bool = false
    ) -> PreKeyPublication {
        func signedPreKey(_ count: Int, _ label: String) -> PreKeyBundle.SignedPreKey {
            let key = randomBytes(count)
            return .init(
                id: signed, key: key, signature: owner.signingKey.sign(Array(label.utf8) + key))
        }
        return PreKeyPublication(
            by: owner, signedPreKey: signedPreKey(32, ""),
            pqSignedPreKey: isPostQuantum ? signedPreKey(1568, "ratchet/pqspk/v1\0") : nil,
            oneTimePreKeys: oneTime.map { .init(id: $0, key: randomBytes(32)) })
    }

    static func id(_ line: String) -> String {
        (try? JSON.object(parsing: Array(line.utf8)))?["id"]?.string ?? ""
    }
}

extension Response {
    /// Whether a mailbox was opened; the token is nobody's business here.
    var isSession: Bool { if case .session = self { true } else { false } }
}
