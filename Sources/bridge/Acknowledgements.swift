import Glibc
import Sotto
import SottoMessengers
import SottoTool

/// Message Flow's acknowledgements, appended to a file.
///
/// Written only on request: `failed` tells the server that a message could not be decrypted, without the cause.
final class Acknowledgements {
    private let descriptor: Int32
    private let path: String
    private let areRead: Bool

    /// Opens a file. With `areRead` the acknowledgements of opened messages say that they were read.
    init(path: String, areRead: Bool) throws(Failure) {
        (self.path, self.areRead) = (path, areRead)
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(errno: errno, "write", path) }
    }

    deinit { close(descriptor) }

    /// Appends acknowledgements, one per line.
    func write(_ acks: [(id: String, isDelivered: Bool, isHTTP: Bool)]) throws(Failure) {
        var lines: [UInt8] = []
        for ack in acks {
            guard
                let record = try? MessageFlowAck(
                    messageID: ack.id,
                    status: !ack.isDelivered ? .failed : areRead ? .read : .delivered)
            else { continue }
            lines += record.record(http: ack.isHTTP).serialized() + [UInt8(ascii: "\n")]
        }
        let code = writeAll(lines, to: descriptor)
        guard code == 0 else { throw Failure(errno: code, "write", path) }
    }
}
