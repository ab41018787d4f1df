import CZBar
import Glibc

/// Why a camera gives no pictures.
public enum CameraError: Error, Sendable, Hashable {
    /// Its device cannot be opened, with the system's error number.
    case cannotOpen(Int32)
    /// What was named is no device that takes pictures.
    case noCamera
    /// Another program uses it.
    case busy
    /// It has no format that zbar understands, or gives no pictures in it.
    case unusable
    /// It was there, and gives no more pictures: it was unplugged, say.
    case ended
    /// Memory has run out.
    case outOfMemory
}

/// A camera, through zbar's video and so Video4Linux.
///
/// Not for two threads at once.
public final class Camera {
    private let video: OpaquePointer

    /// Opens a device as `/dev/video0`, and has it begin.
    public init(device: String) throws(CameraError) {
        try Self.check(device)
        guard let video = zbar_video_create() else { throw .outOfMemory }
        self.video = video
        // The device takes what is next to it. More pixels would cost more time than they help.
        zbar_video_request_size(video, 1280, 720)
        guard zbar_video_open(video, device) == 0 else { throw .noCamera }
        // zbar's own choice of a format (0.23.92) reads the window, and ends where there is none.
        guard Self.formats.contains(where: { zbar_video_init(video, Raster.fourcc($0)) == 0 })
        else { throw Self.failure(.unusable) }
        guard zbar_video_enable(video, 1) == 0 else { throw Self.failure(.unusable) }
    }

    deinit { zbar_video_destroy(video) }

    /// The next picture, when it is there.
    public func next() throws(CameraError) -> Raster {
        // A frame that was damaged on its way is no reason to end.
        for _ in 0..<Self.mostDamaged {
            guard let image = zbar_video_next_image(video) else { throw .ended }
            defer { zbar_image_destroy(image) }
            if let raster = Raster(image) { return raster }
        }
        throw .unusable
    }

    private static let mostDamaged = 60

    /// What zbar makes grey, the cheapest first. A device that does not have one says so.
    private static let formats: [StaticString] = [
        "GREY", "Y800", "YUYV", "UYVY", "NV12", "YU12", "YV12", "MJPG", "JPEG", "RGB3", "BGR3",
    ]

    /// zbar tells no more than that it failed, so what can be known is found out before.
    private static func check(_ device: String) throws(CameraError) {
        let descriptor = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            // Folders and sockets.
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
    /// Of a format of zbar, such as "Y800".
    fileprivate static func fourcc(_ name: StaticString) -> UInt {
        name.withUTF8Buffer { $0.reversed().reduce(0) { $0 << 8 | UInt($1) } }
    }

    /// A frame of a video in grey; `nil` when it is damaged.
    fileprivate init?(_ image: OpaquePointer) {
        let format = zbar_image_get_format(image)
        if format == Self.fourcc("JPEG") || format == Self.fourcc("MJPG") {
            // zbar's own reading of JPEG complains on stderr and accepts half a picture.
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
