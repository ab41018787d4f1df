import Foundation

/// The C compiler, for programs and libraries that only tests use.
package enum Compiler {
    /// Compiles with these arguments. Returns the path of the output.
    package static func build(_ output: String, _ arguments: [String]) throws -> String {
        let run = try Command(
            path: Peer.compiler.path, ["-o", output] + arguments,
            environment: ["PATH": environment("PATH") ?? "/usr/bin:/bin"]
        ).run()
        guard run.status == 0 else { throw Failure(description: run.stderr) }
        return output
    }

    /// Compiles a shared library, which a program loads with `LD_PRELOAD`.
    package static func library(_ output: String, _ source: String) throws -> String {
        try build(output, ["-shared", "-fPIC", "-O2", source, "-ldl"])
    }

    /// The messages of the compiler.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }
}
