import TestSupport

/// Runs the built program `qr` with bytes on its stdin.
func runQR(_ arguments: [String], input: [UInt8] = []) throws -> Run {
    try Command(path: Programs.path("qr"), arguments).run(stdin: .whole(input))
}
