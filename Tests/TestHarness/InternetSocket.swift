package import Glibc

/// Calls on sockets of IPv4. Files that import NIO cannot set the members of `sockaddr_in`.
package enum InternetSocket {
    /// Binds a socket to an address in decimal form, or to a free port for 0.
    package static func bind(_ descriptor: Int32, _ host: String, _ port: UInt16) -> Bool {
        with(host, port) { Glibc.bind(descriptor, $0, $1) == 0 }
    }

    /// Connects a socket to an address in decimal form.
    package static func connect(_ descriptor: Int32, _ host: String, _ port: UInt16) -> Bool {
        with(host, port) { Glibc.connect(descriptor, $0, $1) == 0 }
    }

    /// Returns the port to which a socket is bound, or 0.
    package static func port(of descriptor: Int32) -> UInt16 {
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &size) == 0
            }
        }
        return isKnown ? UInt16(bigEndian: name.sin_port) : 0
    }

    /// Returns the loopback address with a port.
    package static func loopback(_ port: UInt16) -> sockaddr_in {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return name
    }

    private static func with(
        _ host: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool
    ) -> Bool {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &name.sin_addr)
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
