import CZBar
import Glibc
public import SottoQR

/// A camera, accessed with zbar's video interface and Video4Linux.
///
/// Not thread-safe.
public final class Camera {
    private let video: OpaquePointer

    /// Opens a device such as `/dev/video0` and starts it.
    public init(device: String) throws(CameraError) {
        try Self.check(device)
        guard let video = zbar_video_create() else { throw .outOfMemory }
        self.video = video
        // The device uses the nearest size. More pixels would take more time without improving the results.
        zbar_video_request_size(video, 1280, 720)
        guard zbar_video_open(video, device) == 0 else { throw .noCamera }
        // zbar's own choice of a format (0.23.92) requires a window and crashes without one.
        guard Self.formats.contains(where: { zbar_video_init(video, Raster.fourcc($0)) == 0 })
        else { throw Self.failure(.unusable) }
        guard zbar_video_enable(video, 1) == 0 else { throw Self.failure(.unusable) }
    }

    deinit { zbar_video_destroy(video) }

    /// The descriptor of the open device.
    public var descriptor: Int32 { zbar_video_get_fd(video) }

    /// Returns the next picture; waits for it.
    public func next() throws(CameraError) -> Raster {
        // A frame that was damaged in transfer does not end the scan.
        for _ in 0..<Self.mostDamaged {
            guard let image = zbar_video_next_image(video) else { throw .ended }
            defer { zbar_image_destroy(image) }
            if let raster = Raster(image) { return raster }
        }
        throw .unusable
    }

    private static let mostDamaged = 60

    /// The formats that zbar converts to grey, the cheapest first. A device refuses formats that it does not support.
    private static let formats: [StaticString] = [
        "GREY", "Y800", "YUYV", "UYVY", "NV12", "YU12", "YV12", "MJPG", "JPEG", "RGB3", "BGR3",
    ]

    /// Checks the device first, because zbar reports only that an error occurred.
    private static func check(_ device: String) throws(CameraError) {
        let descriptor = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            // Directories and sockets.
            if errno == EISDIR || errno == ENXIO { throw .noCamera }
            throw errno == EBUSY ? .busy : .cannotOpen(errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else {
            throw .noCamera
        }
    }

    private static func failure(_ otherwise: CameraError) -> CameraError {
        errno == EBUSY ? .busy : otherwise
    }
}

extension Raster {
    /// Returns the code of a zbar format, such as "Y800".
    fileprivate static func fourcc(_ name: StaticString) -> UInt {
        name.withUTF8Buffer { $0.reversed().reduce(0) { $0 << 8 | UInt($1) } }
    }

    /// Converts a video frame to grey. `nil` if it is damaged.
    fileprivate init?(_ image: OpaquePointer) {
        let format = zbar_image_get_format(image)
        if format == Self.fourcc("JPEG") || format == Self.fourcc("MJPG") {
            // zbar's own JPEG decoder writes errors to stderr and accepts truncated pictures.
            guard let data = zbar_image_get_data(image) else { return nil }
            let bytes = UnsafeRawBufferPointer(
                start: data, count: Int(zbar_image_get_data_length(image)))
            guard let picture = try? Picture(decoding: Array(bytes)) else { return nil }
            self = picture.raster
            return
        }
        guard let gray = zbar_image_convert(image, Self.fourcc("Y800")) else { return nil }
        defer { zbar_image_destroy(gray) }
        let (width, height) = (
            Int(zbar_image_get_width(gray)), Int(zbar_image_get_height(gray))
        )
        guard width > 0, height > 0, width * height <= Self.maximumPixels,
            Int(zbar_image_get_data_length(gray)) >= width * height,
            let data = zbar_image_get_data(gray)
        else { return nil }
        let pixels = UnsafeRawBufferPointer(start: data, count: width * height)
        self.init(width: width, height: height, pixels: Array(pixels))
    }
}
