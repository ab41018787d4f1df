/// A picture file format.
public enum PictureFormat: String, Sendable {
    case png = "PNG"
    case jpeg = "JPEG"
    case pnm = "PNM"
}

/// An error of decoding a picture.
public enum PictureError: Error, Sendable, Hashable {
    /// The file is empty.
    case empty
    /// The file does not begin like any of the formats.
    case unknownFormat
    /// The file begins like this format, but is malformed, modified or truncated.
    case broken(PictureFormat)
    /// The picture has more than ``Raster/maximumPixels`` pixels.
    case tooManyPixels
    /// The file has more than ``Raster/maximumBytes`` bytes.
    case tooManyBytes
    /// The picture is within the limits, but memory is exhausted.
    case outOfMemory
}

/// An error of searching a picture for codes.
public enum ScanError: Error, Sendable, Hashable {
    /// Out of memory.
    case outOfMemory
}

/// An error of verifying a picture that was just made.
public enum VerificationError: Error, Sendable, Hashable {
    /// Its pixels are not those of a QR code with this size and margin.
    case pixels
    /// The code cannot be read.
    case unreadable
    /// The code is read as different bytes.
    case differs
    /// Memory was exhausted before the result was known.
    case outOfMemory
}

/// An error of a camera.
public enum CameraError: Error, Sendable, Hashable {
    /// The device cannot be opened; the value is the system's error number.
    case cannotOpen(Int32)
    /// The device is not a video capture device.
    case noCamera
    /// Another program uses the camera.
    case busy
    /// The camera has no format that zbar supports, or delivers no pictures in it.
    case unusable
    /// The camera stopped delivering pictures, for example because it was unplugged.
    case ended
    /// Out of memory.
    case outOfMemory
}
