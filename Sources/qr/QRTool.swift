import Arguments
import SottoProgram

@main
struct QRTool: Command {
    static let configuration = CommandConfiguration(
        name: "qr",
        abstract: "Make a QR code from bytes, and read a code back to exactly these bytes.",
        usage: """
            sotto qr [-o <file>] [-t <type>] [-l <level>] [-s <size>] [-m <margin>] [--split <count>]
               [--exact] [--invert] [<file>]
            sotto qr scan [--all] [--json] [-o <file>] [<file> ...]
            sotto qr scan --camera <device> [--all] [--json] [-o <file>]
            """,
        discussion: """
            Without "scan", qr encodes a file or standard input:

              -o, --output <file>   write to this file; its extension selects the type
              -t, --type <type>     png, svg, terminal or ascii
              -l, --level <level>   L, M, Q or H (default: M, higher if not larger)
              -s, --size <size>     pixels per module, for png and svg (default: 8)
              -m, --margin <margin> light modules around the code (default: 4)
              --split <count>       split over this many codes, or as many as needed: auto
              --exact               keep a line feed at the end of text
              --invert              draw light modules instead of dark ones

            EXAMPLES
              sotto keygen public --uri | sotto qr          draw it on the terminal
              sotto keygen public --uri | sotto qr -o a.png make a picture
              sotto qr -o key.svg -l H key.bin              the bytes are encoded unchanged
              sotto qr scan a.png                           print exactly the encoded bytes
              sotto qr --split auto -o c.png alice.card     c-1.png, c-2.png and so on
              sotto qr scan c-*.png                         print the card
            """,
        version: "0.1.0",
        subcommands: [EncodeCommand.self, ScanCommand.self],
        defaultSubcommand: EncodeCommand.self)
}

extension QRTool: Program {
    /// Never called: without a subcommand name, `encode` is used.
    func execute() {}
}
