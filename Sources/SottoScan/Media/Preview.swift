public import SottoMedia

extension PicturePreview {
    /// Creates the preview of a JPEG or PNG picture, as it is displayed. `nil` for another file.
    public init?(picture bytes: [UInt8]) {
        let isPNG = bytes.starts(with: Picture.pngSignature)
        let decoded =
            isPNG
            ? ColorPicture.png(bytes) : ColorPicture.jpeg(bytes, side: 2 * Self.maximumSide)
        guard let picture = decoded?.picture else { return nil }
        let orientation = isPNG ? Orientation.png(bytes) : Orientation.jpeg(bytes)
        let small = picture.reduced(to: Self.maximumSide).turned(orientation)
        self.init(width: small.width, height: small.height, pixels: small.pixels)
    }
}
