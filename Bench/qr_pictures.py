"""qr_pictures.py SEED DIRECTORY [COUNT]: makes pictures of QR codes like those of cameras, COUNT of each class.

qrencode makes the codes. For each picture CLASS-NUMBER.jpg, CLASS-NUMBER.bin has the content of the code. The
same seed makes the same pictures, with the versions of Pillow and numpy that Scripts/bench names.

A class is one distortion; "two" and "three" are combinations of two and three. Each code is printed in two colours,
lies on a background with edges and texture, is rotated a little or fully, and is saved as JPEG. Only the distortions of
the class are strong.
"""

import os
import subprocess
import sys
from io import BytesIO

import numpy
from PIL import Image

DISTORTIONS = ("rotation", "perspective", "blur", "motion", "noise", "light", "inversion", "contrast", "jpeg")
CLASSES = DISTORTIONS + ("two", "three")
# A link, a contact's URI, a part of a split card, and a record: their lengths and their shares.
LENGTHS, WEIGHTS = (60, 200, 662, 1000), (0.35, 0.35, 0.2, 0.1)
# Paper pixels for each module, so that the code is drawn smoothly.
FINE = 8


def code(content, level):
    """Returns the modules of a code, True if dark."""
    drawing = subprocess.run(
        ["qrencode", "-8", "-l", level, "-m", "0", "-t", "ASCII", "-o", "-"],
        input=content, capture_output=True, check=True).stdout
    # Two characters for each module.
    return numpy.array([list(line[::2]) for line in drawing.splitlines()]) == ord("#")


def content(random):
    """Returns a text for short lengths, and any bytes for long ones."""
    length = int(random.choice(LENGTHS, p=WEIGHTS))
    if length > 200:
        return random.bytes(length)
    letters = numpy.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", numpy.uint8)
    return b"sotto:" + random.choice(letters, length - 6).tobytes()


def ground(random, width, height):
    """Returns the background of a code: a colour, soft stains, lines and boxes with edges, and grain."""
    picture = numpy.empty((height, width, 3), numpy.float32)
    picture[:] = random.uniform(40, 220, 3)
    stains = random.uniform(-1, 1, (6, 6, 3)).astype(numpy.float32)
    for channel in range(3):
        stain = Image.fromarray(stains[:, :, channel]).resize((width, height), Image.BICUBIC)
        picture[:, :, channel] += 25 * numpy.asarray(stain)
    for _ in range(int(random.integers(3, 12))):
        left, top = int(random.integers(0, width)), int(random.integers(0, height))
        across, down = int(random.integers(2, max(3, width // 3))), int(random.integers(2, max(3, height // 12)))
        if random.random() < 0.5:
            across, down = down, across
        picture[top:top + down, left:left + across] = random.uniform(10, 245, 3)
    # Lines like writing: usually the hardest surroundings of a code.
    for _ in range(int(random.integers(0, 4))):
        row, tall = int(random.integers(0, height)), int(random.integers(4, 14))
        marks = numpy.repeat(random.random(width // 3 + 1) < 0.5, 3)[:width]
        picture[row:row + tall, marks] = random.uniform(10, 90)
    return picture + random.normal(0, 3, (height, width, 1)).astype(numpy.float32)


def homography(source, target):
    """Returns the eight coefficients with which Pillow maps points of `target` to points of `source`."""
    rows, values = [], []
    for (x, y), (u, v) in zip(target, source):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return numpy.linalg.solve(numpy.array(rows, float), numpy.array(values, float))


def corners(side, angle, tilt, direction):
    """Returns the corners of a square sheet as the camera sees them, relative to its centre: the sheet is rotated in
    its plane by `angle`, then tilted away by `tilt` about the axis in `direction`, at a distance of 2.5 sides."""
    points = side / 2 * numpy.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
    turn = numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
    axis = numpy.array([[numpy.cos(direction), -numpy.sin(direction)], [numpy.sin(direction), numpy.cos(direction)]])
    points = points @ turn.T @ axis.T
    depth = 1 + points[:, 1] * numpy.sin(tilt) / (2.5 * side)
    points[:, 1] *= numpy.cos(tilt)
    return points / depth[:, None] @ axis


def scene(random, which):
    """Returns a picture of a code on its background, the content of the code, and its pixels per module."""
    held = content(random)
    level = str(random.choice(list("LMQH")))
    modules = code(held, level)
    margin = int(random.choice([4, 4, 4, 2]))
    sheet = numpy.pad(~modules, margin).astype(numpy.uint8)
    sheet[:margin], sheet[-margin:], sheet[:, :margin], sheet[:, -margin:] = 1, 1, 1, 1
    total = len(sheet)
    pixels = random.uniform(3, 8)
    if total * pixels > 900:
        pixels = max(3.0, 900 / total)
    # Dark and light colours with the contrast of print.
    dark, light = random.uniform(15, 70) + random.uniform(-12, 12, 3), random.uniform(175, 245) + random.uniform(-10, 10, 3)
    if "contrast" in which:
        middle, half = random.uniform(70, 180), random.uniform(10, 30)
        dark, light = middle - half + random.uniform(-4, 4, 3), middle + half + random.uniform(-4, 4, 3)
    if "inversion" in which:
        dark, light = light, dark
    angle = random.uniform(-0.12, 0.12)
    if "rotation" in which:
        angle = random.uniform(0, 2 * numpy.pi)
    tilt = random.uniform(0, 0.12)
    if "perspective" in which:
        tilt = random.uniform(0.45, 0.8)
    seen = corners(total * pixels, angle, tilt, random.uniform(0, 2 * numpy.pi))
    room = seen.max(0) - seen.min(0)
    width, height = (int(length * random.uniform(1.15, 2.0)) + 8 for length in room)
    place = -seen.min(0) + random.uniform(0.1, 0.9, 2) * (numpy.array([width, height]) - room)
    # Drawn at twice the size and halved, to avoid jagged edges.
    target = 2 * (seen + place)
    paper = Image.fromarray(sheet * 255).resize((total * FINE, total * FINE), Image.NEAREST)
    edge = total * FINE
    to_paper = homography([(0, 0), (edge, 0), (edge, edge), (0, edge)], target)
    def drawn(image):
        large = image.transform((2 * width, 2 * height), Image.PERSPECTIVE, to_paper, Image.BILINEAR)
        return numpy.asarray(large.resize((width, height), Image.BOX), numpy.float32)[:, :, None] / 255
    lightness = drawn(paper)
    covered = drawn(Image.new("L", paper.size, 255))
    ink = dark * (covered - lightness) + light * lightness
    picture = ground(random, width, height) * (1 - covered) + ink
    return picture.astype(numpy.float32), held, pixels


def smoothed(picture, kernel):
    """Returns the picture convolved with a one-dimensional kernel, horizontally and then vertically."""
    half = len(kernel) // 2
    for axis in (0, 1):
        padding = [(0, 0)] * 3
        padding[axis] = (half, half)
        padded = numpy.pad(picture, padding, mode="edge")
        size = picture.shape[axis]
        picture = numpy.zeros_like(picture)
        for i, weight in enumerate(kernel):
            picture += numpy.float32(weight) * (padded[i:i + size] if axis == 0 else padded[:, i:i + size])
    return picture


def blurred(picture, sigma):
    half = max(1, int(3 * sigma + 0.5))
    kernel = numpy.exp(-numpy.arange(-half, half + 1) ** 2 / (2 * sigma * sigma))
    return smoothed(picture, kernel / kernel.sum())


def moved(picture, length, direction):
    """Returns the mean of the picture along a line, as from a moving camera."""
    steps = max(2, int(length * 2))
    total = numpy.zeros_like(picture, numpy.float32)
    for i in range(steps + 1):
        offset = length * (i / steps - 0.5)
        right, down = offset * numpy.cos(direction), offset * numpy.sin(direction)
        x, y = int(numpy.floor(right)), int(numpy.floor(down))
        fx, fy = right - x, down - y
        for dx, dy, weight in ((0, 0, (1 - fx) * (1 - fy)), (1, 0, fx * (1 - fy)), (0, 1, (1 - fx) * fy), (1, 1, fx * fy)):
            total += numpy.float32(weight) * numpy.roll(picture, (y + dy, x + dx), (0, 1))
    return total / (steps + 1)


def lit(random, picture):
    """Returns the picture in uneven light: a slope, the edge of a shadow, or a glare, often combined with a slope."""
    height, width = picture.shape[:2]
    y, x = numpy.mgrid[0:height, 0:width].astype(numpy.float32)
    x, y = x / width - 0.5, y / height - 0.5
    direction = random.uniform(0, 2 * numpy.pi)
    along = x * numpy.cos(direction) + y * numpy.sin(direction)
    kind = random.choice(["slope", "shadow", "glare"])
    light = 1 - random.uniform(0.3, 0.85) * numpy.clip(along + 0.5, 0, 1)
    if kind == "shadow":
        edge = random.uniform(-0.2, 0.2)
        soft = random.uniform(0.002, 0.08)
        light = 1 - random.uniform(0.4, 0.75) / (1 + numpy.exp(-numpy.clip((along - edge) / soft, -30, 30)))
    picture = picture * light[:, :, None]
    if kind == "glare":
        centre = random.uniform(-0.25, 0.25, 2)
        radius = random.uniform(0.08, 0.3)
        distance = (x - centre[0]) ** 2 + (y - centre[1]) ** 2
        picture = picture + (random.uniform(90, 230) * numpy.exp(-distance / (2 * radius * radius)))[:, :, None]
    return picture


def photograph(random, which):
    """Returns a JPEG picture with the distortions `which`, and the content of its code."""
    picture, held, pixels = scene(random, which)
    # Combinations have milder distortions.
    mild = 1 if len(which) == 1 else 0.75 if len(which) == 2 else 0.6
    if "light" in which:
        picture = lit(random, picture)
    picture = blurred(picture, mild * pixels * random.uniform(0.28, 0.55) if "blur" in which else 0.6)
    if "motion" in which:
        picture = moved(picture, mild * pixels * random.uniform(0.8, 1.9), random.uniform(0, numpy.pi))
    deviation = mild * random.uniform(12, 55) if "noise" in which else random.uniform(1, 3)
    if "contrast" in which:
        deviation /= 2
    height, width = picture.shape[:2]
    # Sensor noise: mostly the same in all colours, and stronger in light areas.
    grain = random.normal(0, deviation, (height, width, 1)) + random.normal(0, deviation / 3, (height, width, 3))
    picture = picture + grain * (0.6 + 0.4 * numpy.clip(picture, 0, 255) / 255)
    if "noise" in which and random.random() < 0.3:
        faulty = random.random((height, width)) < mild * random.uniform(0.005, 0.04)
        picture[faulty] = random.choice([0.0, 255.0], int(faulty.sum()))[:, None]
    quality = int(random.integers(20, 81)) if "jpeg" in which else 92
    if which == ("jpeg",):
        quality = int(random.integers(5, 40))
    file = BytesIO()
    Image.fromarray(numpy.clip(picture + 0.5, 0, 255).astype(numpy.uint8)).save(file, "JPEG", quality=quality)
    return file.getvalue(), held


def main():
    seed, directory = int(sys.argv[1]), sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    os.makedirs(directory, exist_ok=True)
    for kind, name in enumerate(CLASSES):
        for number in range(count):
            random = numpy.random.default_rng([seed, kind, number])
            which = (name,)
            if name in ("two", "three"):
                picked = random.choice(len(DISTORTIONS), 2 if name == "two" else 3, replace=False)
                which = tuple(DISTORTIONS[i] for i in sorted(picked))
            picture, held = photograph(random, which)
            path = os.path.join(directory, f"{name}-{number:02}")
            with open(path + ".jpg", "wb") as file:
                file.write(picture)
            with open(path + ".bin", "wb") as file:
                file.write(held)


if __name__ == "__main__":
    main()
