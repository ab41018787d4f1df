import CSottoSandbox
import Glibc
import SottoBytes
import SottoMedia
import SottoQR
import SottoScan

/// The program that `qr`, `encrypt` and `chat` start to read files: it runs zbar, libpng, libjpeg, libmagic and libsndfile,
/// restricted to its standard input and output (``Restriction``). It reads ``ScanRequest`` and writes ``ScanReply``, or
/// ``MediaRequest`` and ``MediaFacts``.
///
///     qr-scan pictures SECONDS MEBIBYTES      with limits of processor time and address space
///     qr-scan media SECONDS MEBIBYTES         attached files, with the same limits
///     qr-scan camera DEVICE                   frames of a camera until standard output is closed
@main
enum ScanProgram {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        sotto_sandbox_prepare()
        switch words.first {
        case "pictures" where words.count == 3:
            guard let seconds = rlim_t(words[1]), let mebibytes = rlim_t(words[2]) else { refuse() }
            TextEncoding.loadAll()
            Restriction.limit(seconds: seconds, mebibytes: mebibytes)
            Restriction.enter()
            answerRequests()
        case "media" where words.count == 3:
            guard let seconds = rlim_t(words[1]), let mebibytes = rlim_t(words[2]) else { refuse() }
            let answerer = MediaAnswerer()
            Restriction.limit(seconds: seconds, mebibytes: mebibytes)
            Restriction.enter()
            answerer.run()
        case "camera" where words.count == 2: watch(words[1])
        default: refuse()
        }
    }

    private static func refuse() -> Never {
        let text = "qr-scan: error: this program is started by qr scan, encrypt and chat\n"
        _ = text.withCString { write(2, $0, strlen($0)) }
        _exit(64)
    }

    /// Answers requests until the end of standard input.
    private static func answerRequests() -> Never {
        var input = RequestReader()
        var answerer = Answerer()
        while let line = input.line() {
            guard let request = ScanRequest(parsing: line) else { _exit(64) }
            do throws(ScanFault) {
                ReplyStream.write(try answerer.symbols(for: request, from: &input))
            } catch {
                ReplyStream.write(.fault(error))
            }
        }
        _exit(0)
    }

    /// Searches the frames of a camera.
    private static func watch(_ device: String) -> Never {
        let camera: Camera
        do throws(CameraError) {
            camera = try Camera(device: device)
        } catch { fail(.camera(error)) }
        TextEncoding.loadAll()
        Restriction.enter(camera: camera.descriptor)
        ReplyStream.write([])
        while true {
            // The restricted process cannot close the camera, so it ends without returning from this function.
            do throws(ScanFault) {
                ReplyStream.write(try symbols(from: camera))
            } catch { fail(error) }
        }
    }

    private static func symbols(from camera: Camera) throws(ScanFault) -> [Symbol] {
        let picture: Picture
        do throws(CameraError) {
            picture = Picture(raster: try camera.next())
        } catch { throw .camera(error) }
        do throws(ScanError) {
            return try picture.symbols(.quick)
        } catch { throw .search(error) }
    }

    private static func fail(_ fault: ScanFault) -> Never {
        ReplyStream.write(.fault(fault))
        _exit(0)
    }
}

/// The restrictions of this process.
enum Restriction {
    /// Sets the limits of processor time and address space. Call it before ``enter(camera:)``.
    static func limit(seconds: rlim_t, mebibytes: rlim_t) {
        // Above the hard limit, the system kills the process with a signal that cannot be caught.
        var processor = rlimit(rlim_cur: seconds, rlim_max: seconds + 5)
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &processor)
        var memory = rlimit(rlim_cur: mebibytes << 20, rlim_max: mebibytes << 20)
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &memory)
    }

    /// Restricts the system calls, or ends the process if the system does not support this.
    static func enter(camera: Int32 = -1) {
        let status = sotto_sandbox_enter(camera)
        guard status != 0 else { return }
        ReplyStream.write(.fault(.unrestricted(-status)))
        _exit(0)
    }
}

/// Standard output, which `qr` reads.
enum ReplyStream {
    /// Writes a reply, or ends the process if `qr` has ended.
    static func write(_ reply: ScanReply) { write(bytes: reply.line) }

    /// Writes the answer with all `symbols`.
    static func write(_ symbols: [Symbol]) {
        write(bytes: symbols.flatMap { ScanReply.symbol($0).line } + ScanReply.end.line)
    }

    /// Writes bytes, or ends the process if its reader has ended.
    static func write(bytes: [UInt8]) {
        if writeAll(bytes, to: 1) != 0 { _exit(0) }
    }
}
