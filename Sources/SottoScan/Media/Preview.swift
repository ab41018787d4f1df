public import SottoMedia

extension PicturePreview {
    /// Creates the preview of a JPEG or PNG picture, as it is displayed. `nil` for another file.
    public init?(picture bytes: [UInt8]) {
        guard
            let (decoded, orientation) = ColorPicture.decode(bytes, side: 2 * Self.maximumSide),
            let picture = decoded.picture
        else { return nil }
        let small = picture.reduced(to: Self.maximumSide).turned(orientation)
        self.init(width: small.width, height: small.height, pixels: small.pixels)
    }
}
