import Glibc

/// Another program of this project.
public enum Sibling {
    /// Returns the path of a tool's program: in the directory of this one as `sotto-NAME` or `NAME`, or in
    /// `libexec/sotto`. Returns `nil` if it does not exist there.
    public static func path(of tool: String) -> String? {
        let here = directoryOfThisProgram()
        return ["\(here)/sotto-\(tool)", "\(here)/../libexec/sotto/\(tool)", "\(here)/\(tool)"]
            .first { access($0, X_OK) == 0 }
    }

    private static func directoryOfThisProgram() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { return "." }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
