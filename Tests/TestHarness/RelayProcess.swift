import Glibc

/// A process of the built `relay`, ready for connections.
package struct RelayProcess {
    package let command: ChildProcess
    package let address: String

    /// Starts the relay and waits until it reports its address; returns `nil` if it ends before.
    ///
    /// The store is the file `relay.db` in `scratch`, unless `store` names another one.
    package init?(
        _ scratch: TemporaryDirectory, listen: String = "127.0.0.1:0", _ options: [String] = [],
        store: String? = nil, environment: [String: String] = [:]
    ) {
        guard let ready = try? makePipe() else { return nil }
        command = ChildProcess(
            "relay",
            [
                "--listen", listen, "--store", store ?? scratch("relay.db"), "--ready-fd", "3",
            ] + options, environment: environment, errors: scratch("relay.log"),
            descriptor: ready.write)
        close(ready.write)
        defer { close(ready.read) }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(ready.read, &byte, 1) == 1, byte != 0x0A { line.append(byte) }
        guard !line.isEmpty else {
            command.wait()
            return nil
        }
        address = String(decoding: line, as: UTF8.self)
    }

    /// Stops the relay with SIGTERM. Returns its exit status.
    @discardableResult
    package func end() -> Int32 {
        command.kill(SIGTERM)
        return command.wait()
    }
}
