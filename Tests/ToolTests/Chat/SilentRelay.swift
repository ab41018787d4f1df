import Glibc

/// A relay that accepts connections and never answers.
final class SilentRelay {
    private let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    /// The address for SOTTO_RELAY.
    let url: String

    init() {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(listener, address, size)
                _ = listen(listener, 8)
                _ = getsockname(listener, address, &size)
            }
        }
        url = "tcp://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    deinit { close(listener) }
}
