"""qr_reading.py DIRECTORY: reads the pictures of qr_pictures.py with `qr scan`, zxing-cpp and `zbarimg`.

Each line is READER<tab>CLASS<tab>READ<tab>PICTURES<tab>MEDIAN, with the class "all" last. A picture counts as read if
the output is exactly its content. MEDIAN is milliseconds for each picture: for `qr` and `zbarimg` a whole process,
for zxing-cpp a call in this process that includes decoding the file.
"""

import os
import statistics
import subprocess
import sys
import time

import zxingcpp
from PIL import Image


def qr(path):
    return subprocess.run(["qr", "scan", path], capture_output=True).stdout


def zbarimg(path):
    """The usual call, with options that keep bytes unchanged."""
    command = ["zbarimg", "-q", "--raw", "--oneshot", "-Sdisable", "-Sqrcode.enable", "-Sbinary", path]
    return subprocess.run(command, capture_output=True).stdout


def zxing(path):
    with Image.open(path) as picture:
        codes = zxingcpp.read_barcodes(picture.convert("L"))
    return b"".join(bytes(code.bytes) for code in codes if code.format == zxingcpp.BarcodeFormat.QRCode)


def main():
    directory = sys.argv[1]
    names = sorted(name[:-4] for name in os.listdir(directory) if name.endswith(".jpg"))
    for reader in (qr, zxing, zbarimg):
        read, times = {}, {}
        for name in names:
            path = os.path.join(directory, name)
            with open(path + ".bin", "rb") as file:
                held = file.read()
            start = time.monotonic()
            got = reader(path + ".jpg")
            elapsed = time.monotonic() - start
            for kind in (name.rsplit("-", 1)[0], "all"):
                read.setdefault(kind, []).append(got == held)
                times.setdefault(kind, []).append(elapsed)
        for kind in sorted(read, key=lambda kind: (kind == "all", kind)):
            median = 1000 * statistics.median(times[kind])
            print(f"{reader.__name__}\t{kind}\t{sum(read[kind])}\t{len(read[kind])}\t{median:.2f}", flush=True)


if __name__ == "__main__":
    main()
