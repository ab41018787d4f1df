import Glibc

extension Failure {
    /// Returns the system's text for an error number, starting in lower case.
    package static func text(of code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        let text = buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    /// Returns the exit status for an error number, and a hint or `nil`.
    package static func meaning(of code: Int32, isReading: Bool = true) -> (ExitStatus, String?) {
        switch code {
        case ENOENT, ENOTDIR: (.noInput, nil)
        case EACCES, EPERM: (.permission, nil)
        case EISDIR, ENAMETOOLONG, ELOOP: (isReading ? .noInput : .cannotCreate, nil)
        case EEXIST, EROFS: (.cannotCreate, nil)
        case ENOSPC, EDQUOT: (.ioError, "free some space, then run the same command again")
        default: (.ioError, nil)
        }
    }
}
