import Glibc
import SottoServer

/// Whether the machine lets a relay be what its options say.
enum MachineChecks {
    /// Descriptors that a relay needs beside those of its connections.
    private static let ownDescriptors: UInt = 128

    static func findings(_ plan: RelayConfiguration) -> [Finding] {
        [descriptors(plan.maximumConnections), clock()]
    }

    /// The relay raises its limit as far as it may.
    private static func descriptors(_ connections: Int) -> Finding {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else {
            return Finding(.warning, "descriptors", "the limit is not known")
        }
        let needed = UInt(connections) + ownDescriptors
        guard limit.rlim_max >= needed else {
            return Finding(
                .warning, "descriptors",
                "\(limit.rlim_max) are allowed, too few for --max-connections \(connections)")
        }
        return Finding(.ok, "descriptors", "enough for \(connections) connections")
    }

    private static func clock() -> Finding {
        // The beginnings of 2026 and of 2100.
        let plausible = 1_767_225_600..<4_102_444_800
        let now = time(nil)
        guard plausible.contains(now) else {
            return Finding(.error, "clock", "it cannot be \(now) seconds after 1970")
        }
        return Finding(.ok, "clock", "plausible")
    }
}
