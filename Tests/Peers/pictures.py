"""Makes pictures with metadata, and compares them with what a recipient got. It uses Pillow.

pictures.py make FOLDER                 writes photo.jpg, scan.jpg (progressive) and drawing.png
pictures.py compare ORIGINAL RECEIVED   exits with 1 and a reason if they show something else, or if metadata is left
pictures.py size PICTURE                prints its width and height as it is shown
"""

import sys

from PIL import ExifTags, Image, ImageCms, ImageOps, PngImagePlugin

SECRET = "Alice in Berlin"


def exif():
    data = Image.Exif()
    data[ExifTags.Base.Orientation] = 6
    data[ExifTags.Base.Artist] = SECRET
    data[ExifTags.Base.Make] = "ACME"
    gps = data.get_ifd(ExifTags.IFD.GPSInfo)
    gps[ExifTags.GPS.GPSLatitudeRef] = "N"
    gps[ExifTags.GPS.GPSLatitude] = (52.0, 31.0, 12.0)
    return data


def make(folder):
    picture = Image.effect_noise((320, 200), 60).convert("RGB")
    picture.paste((200, 30, 30), (20, 20, 120, 90))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    xmp = b"<x:xmpmeta>" + SECRET.encode() + b"</x:xmpmeta>"
    for name, progressive in [("photo.jpg", False), ("scan.jpg", True)]:
        picture.save(
            f"{folder}/{name}", exif=exif(), icc_profile=profile, xmp=xmp, comment=SECRET,
            progressive=progressive, quality=90)
        # A second picture after the first, as some cameras write.
        with open(f"{folder}/{name}", "ab") as file:
            file.write(SECRET.encode())
    text = PngImagePlugin.PngInfo()
    text.add_text("Author", SECRET)
    text.add_itxt("XML:com.adobe.xmp", xmp.decode())
    picture.save(f"{folder}/drawing.png", exif=exif(), icc_profile=profile, pnginfo=text)


def compare(original, received):
    left = open(received, "rb").read()
    if SECRET.encode() in left or b"ACME" in left or b"xmpmeta" in left:
        sys.exit("metadata is left")
    before, after = Image.open(original), Image.open(received)
    if set(after.getexif()) - {ExifTags.Base.Orientation}:
        sys.exit(f"Exif data is left: {dict(after.getexif())}")
    if before.info.get("icc_profile") != after.info.get("icc_profile"):
        sys.exit("the colour profile differs")
    before, after = ImageOps.exif_transpose(before), ImageOps.exif_transpose(after)
    if before.size != (200, 320) or before.size != after.size:
        sys.exit(f"the orientation differs: {before.size}, {after.size}")
    if before.tobytes() != after.tobytes():
        sys.exit("the pixels differ")


def size(picture):
    print(*ImageOps.exif_transpose(Image.open(picture)).size)


{"make": make, "compare": compare, "size": size}[sys.argv[1]](*sys.argv[2:])
