import Arguments
import SottoTool

@main
struct QRTool: Command {
    static let configuration = CommandConfiguration(
        name: "qr",
        abstract: "Make a QR code of bytes, and read one back to exactly those bytes.",
        usage: """
            qr [-o <file>] [-t <type>] [-l <level>] [-s <size>] [-m <margin>] [--split <count>]
               [--exact] [--invert] [<file>]
            qr scan [--all] [--json] [-o <file>] [<file> ...]
            qr scan --camera <device> [--all] [--json] [-o <file>]
            """,
        discussion: """
            Without "scan" it encodes a file or standard input:

              -o, --output <file>   write to this file; its ending tells the type
              -t, --type <type>     png, svg, terminal or ascii
              -l, --level <level>   L, M, Q or H (default: M, more where it is free)
              -s, --size <size>     pixels to a module, for png and svg (default: 8)
              -m, --margin <margin> light modules around the code (default: 4)
              --split <count>       spread over so many codes, or over enough: auto
              --exact               keep a line feed at the end of text
              --invert              draw light modules instead of dark ones

            EXAMPLES:
              keygen public --uri alice.key | qr          draw it on the terminal
              keygen public --uri alice.key | qr -o a.png make a picture of it
              qr -o key.svg -l H key.bin                  bytes are taken as they are
              qr scan a.png                               exactly those bytes again
              qr --split auto -o c.png alice.card         c-1.png, c-2.png and so on
              qr scan c-*.png                             the card again
            """,
        version: "0.1.0",
        subcommands: [EncodeCommand.self, ScanCommand.self],
        defaultSubcommand: EncodeCommand.self)
}

extension QRTool: Program {
    /// Never called: without the name of a subcommand, `encode` is meant.
    func execute() {}
}
