import SottoQR
import SottoTool

extension Failure {
    init(_ error: QREncodeError) {
        switch error {
        case .empty: self.init(.malformed, "there is nothing to encode")
        case .tooLong(let count, let mode, let level):
            let fitting = ErrorCorrection.allCases.last { count <= mode.capacity(at: $0) }
            let most = mode.capacity(at: .low)
            self.init(
                .malformed,
                "\(count) bytes, where \(mode.capacity(at: level)) fit into a code of level "
                    + level.rawValue,
                hint: fitting.map { "they fit with --level \($0.rawValue)" }
                    ?? "the largest code, of level L, holds \(most) bytes of this kind")
        case .outOfMemory: self.init(.tryAgain, "memory has run out")
        }
    }

    init(_ error: VerificationError) {
        let what: String
        switch error {
        case .outOfMemory:
            self.init(.tryAgain, "memory has run out")
            return
        case .pixels: what = "the picture does not show the code"
        case .unreadable: what = "the code cannot be read again"
        case .differs: what = "the code is read as other bytes"
        }
        self.init(.bug, what + ", so nothing is written", hint: "try another --level")
    }

    init(_ error: ScanError) {
        switch error {
        case .outOfMemory: self = .memoryLimit
        }
    }

    private static let memoryLimit = Failure(
        .malformed, "the picture needs more memory than its limit",
        hint: "cut the picture to the code, or allow more with --memory-limit")

    init(_ error: PictureError) {
        switch error {
        case .empty: self.init(.malformed, "the picture is empty")
        case .unknownFormat:
            self.init(
                .malformed, "not a PNG, JPEG or PNM picture",
                hint: "convert the picture to PNG first")
        case .broken(let format):
            self.init(
                .malformed, "the \(format.rawValue) picture is malformed or breaks off",
                hint: "fetch or save it again")
        case .tooManyPixels:
            self.init(
                .malformed, "the picture has more than \(Raster.maximumPixels >> 20) megapixels",
                hint: "cut it to the code, or scale it down")
        case .tooManyBytes:
            self.init(
                .malformed, "the picture is longer than \(Picture.maximumBytes >> 20) MiB")
        case .outOfMemory: self = .memoryLimit
        }
    }

    /// `device` is what was asked for.
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
                hint: "end that, then run the same command again")
        case .unusable:
            self.init(
                .ioError, "the camera \(device) gives no pictures that can be read",
                hint: "take a picture with another program, and name its file")
        case .ended: self.init(.ioError, "the camera \(device) gives no more pictures")
        case .outOfMemory: self.init(.tryAgain, "memory has run out")
        }
    }

    init(_ error: CodePartsError) {
        switch error {
        case .sets(let count):
            self.init(
                .malformed, "parts of \(count) contents",
                hint: "name the pictures of one of them, or print each part with --all --json")
        case .contradiction(let index):
            self.init(.malformed, "part \(index) is there more than once, and not the same")
        case .missing(let parts, let count):
            let (first, last) = (parts.dropLast().map(String.init), String(parts[parts.count - 1]))
            let names = first.isEmpty ? last : first.joined(separator: ", ") + " and " + last
            self.init(
                .partial,
                first.isEmpty
                    ? "part \(names) of \(count) is missing"
                    : "parts \(names) of \(count) are missing",
                hint: "name their pictures together with the others")
        case .hash: self.init(.malformed, "the parts together are not what was split")
        }
    }

    /// The failure for input of which not even the length is worth knowing.
    init(tooMuchFor level: ErrorCorrection, _ message: String) {
        let most = EncodingMode.byte.capacity(at: level)
        self.init(
            .malformed, message,
            hint: "a code of level \(level.rawValue) holds \(most) bytes")
    }
}
