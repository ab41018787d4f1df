import SottoBytes
import SottoQR
import SottoProgram

extension Failure {
    init(_ error: QREncodeError) {
        switch error {
        case .empty: self.init(.malformed, "the input is empty")
        case .tooLong(let count, let mode, let level):
            let fitting = ErrorCorrection.allCases.last { count <= mode.capacity(at: $0) }
            let most = mode.capacity(at: .low)
            self.init(
                .malformed,
                "\(count) bytes, but a code holds at most \(mode.capacity(at: level)) at level "
                    + level.rawValue,
                hint: fitting.map { "use --level \($0.rawValue)" }
                    ?? "the largest code, at level L, holds \(most) bytes of this kind; use --split auto"
            )
        case .outOfMemory: self.init(.tryAgain, "out of memory")
        }
    }

    /// Creates the failure for an error that `qr-scan` reports; `device` is its camera.
    init(_ fault: ScanFault, device: String) {
        switch fault {
        case .picture(let error): self.init(error)
        case .search(let error): self.init(error)
        case .camera(let error): self.init(error, device: device)
        case .unrestricted(let code):
            self.init(
                .configuration,
                "the system does not let qr-scan restrict itself, so no picture is read "
                    + "(seccomp: error \(code))",
                hint: "use Linux 4.14 or newer, and a container that allows seccomp")
        }
    }

    init(_ error: VerificationError) {
        let what: String
        switch error {
        case .outOfMemory:
            self.init(.tryAgain, "out of memory")
            return
        case .pixels: what = "the picture does not show the code"
        case .unreadable: what = "the code cannot be read back"
        case .differs: what = "the code is read back as different bytes"
        }
        self.init(.bug, what + ", so nothing was written", hint: "try another --level")
    }

    init(_ error: ScanError) {
        switch error {
        case .outOfMemory: self = .memoryLimit
        }
    }

    private static let memoryLimit = Failure(
        .malformed, "the picture needs more memory than its limit",
        hint: "crop the picture to the code, or raise --memory-limit")

    init(_ error: PictureError) {
        switch error {
        case .empty: self.init(.malformed, "the picture is empty")
        case .unknownFormat:
            self.init(
                .malformed, "not a PNG, JPEG or PNM picture",
                hint: "convert the picture to PNG first")
        case .broken(let format):
            self.init(
                .malformed, "the \(format.rawValue) picture is malformed or truncated",
                hint: "download or save the picture again")
        case .tooManyPixels:
            self.init(
                .malformed, "the picture has more than \(Raster.maximumPixels >> 20) megapixels",
                hint: "crop it to the code, or scale it down")
        case .tooManyBytes:
            self.init(
                .malformed, "the picture is longer than \(Raster.maximumBytes >> 20) MiB")
        case .outOfMemory: self = .memoryLimit
        }
    }

    /// Creates the failure for an error of the camera `device`.
    init(_ error: CameraError, device: String) {
        switch error {
        case .cannotOpen(let code): self.init(errno: code, "open the camera", device)
        case .noCamera:
            self.init(
                .noInput, "\(device) is not a camera",
                hint: "cameras are usually /dev/video0 and so on: ls /dev/video*")
        case .busy:
            self.init(
                .tryAgain, "another program uses the camera \(device)",
                hint: "close that program, then run the same command again")
        case .unusable:
            self.init(
                .ioError, "the camera \(device) delivers no pictures that can be read",
                hint: "take a picture with another program, and scan its file")
        case .ended: self.init(.ioError, "the camera \(device) stopped delivering pictures")
        case .outOfMemory: self.init(.tryAgain, "out of memory")
        }
    }

    init(_ error: CodePartsError) {
        switch error {
        case .sets(let count):
            self.init(
                .malformed, "the codes are parts of \(count) contents",
                hint: "give only the pictures of one content, or print each part with --all --json")
        case .contradiction(let index):
            self.init(.malformed, "part \(index) occurs more than once with different bytes")
        case .missing(let parts, let count):
            let (first, last) = (parts.dropLast().map(String.init), String(parts[parts.count - 1]))
            let names = first.isEmpty ? last : first.joined(separator: ", ") + " and " + last
            self.init(
                .partial,
                first.isEmpty
                    ? "part \(names) of \(count) is missing"
                    : "parts \(names) of \(count) are missing",
                hint: "give their pictures together with the others")
        case .hash: self.init(.malformed, "the joined parts do not match their set id")
        }
    }

    /// Creates the failure for input that was too long to read completely.
    init(tooMuchFor level: ErrorCorrection, _ message: String) {
        let most = EncodingMode.byte.capacity(at: level)
        self.init(
            .malformed, message,
            hint: "a code of level \(level.rawValue) holds at most \(most) bytes")
    }
}
