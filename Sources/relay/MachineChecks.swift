import Glibc
import SottoServer

/// Checks whether the machine allows what the options ask for.
enum MachineChecks {
    /// The descriptors that a relay needs in addition to its connections.
    private static let ownDescriptors: UInt = 128

    static func findings(_ plan: RelayConfiguration) -> [Finding] {
        [descriptors(plan.maximumConnections), clock()]
    }

    /// Checks the hard limit: the relay raises its soft limit to it.
    private static func descriptors(_ connections: Int) -> Finding {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else {
            return Finding(.warning, "descriptors", "cannot read the limit of open files")
        }
        let needed = UInt(connections) + ownDescriptors
        guard limit.rlim_max >= needed else {
            return Finding(
                .warning, "descriptors",
                "the limit of \(limit.rlim_max) is too low for --max-connections \(connections)")
        }
        return Finding(.ok, "descriptors", "enough for \(connections) connections")
    }

    private static func clock() -> Finding {
        // The beginnings of 2026 and of 2100.
        let plausible = 1_767_225_600..<4_102_444_800
        let now = time(nil)
        guard plausible.contains(now) else {
            return Finding(.error, "clock", "the time is implausible: \(now) seconds after 1970")
        }
        return Finding(.ok, "clock", "plausible")
    }
}
