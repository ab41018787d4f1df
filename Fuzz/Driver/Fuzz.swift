import FuzzParsers
import Glibc
import Sotto

/// `fuzz TARGET [LIBFUZZER-OPTIONS] [CORPUS...]`: runs libFuzzer on one target. Only Scripts/fuzz builds it.
@main
struct Fuzz {
    static func main() {
        // For -merge and -fork, libFuzzer starts this program again with only its own options.
        let inherited = getenv(variable).map { String(cString: $0) }
        let name = inherited ?? CommandLine.arguments.dropFirst().first ?? ""
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            for target in FuzzTarget.all { print(target.name) }
            exit(name == "--list" ? 0 : 64)
        }
        setenv(variable, name, 1)
        chosen = target
        // Created before the first input, so that its time does not count for that input.
        _ = FuzzTarget.reader.id
        let own: Int32 = inherited == nil ? 1 : 0
        CommandLine.unsafeArgv[Int(own)] = CommandLine.unsafeArgv[0]
        var count = CommandLine.argc - own
        var arguments: Arguments = CommandLine.unsafeArgv + Int(own)
        exit(
            runDriver(&count, &arguments) { data, size in
                chosen?.run(Array(UnsafeBufferPointer(start: data, count: size)))
                return 0
            })
    }
}

/// The environment variable that passes the target to a process that libFuzzer starts.
private let variable = "SOTTO_FUZZ_TARGET"

typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// The target of this process. It is set once, before libFuzzer starts.
nonisolated(unsafe) private var chosen: FuzzTarget?

/// libFuzzer's loop (compiler-rt, "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<Arguments>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
