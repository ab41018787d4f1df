/// Texts that try to run code, load files or leave their place in a web page, a mailbox or a terminal.
enum HostileTexts {
    private static let scripts = [
        "document.title='owned'", "document.body.innerHTML='owned'",
        "fetch('http://127.0.0.1:9/')", "location='http://127.0.0.1:9/'",
    ]

    private static func markup(_ script: String) -> [String] {
        [
            "<script>\(script)</script>", "</p></article><script>\(script)</script>",
            "<img src=x onerror=\"\(script)\">", "<svg onload=\"\(script)\"></svg>",
            "<svg><script>\(script)</script></svg>", "<body onload=\"\(script)\">",
            "<iframe srcdoc=\"<script>\(script)</script>\"></iframe>",
            "<iframe src=\"javascript:\(script)\"></iframe>",
            "<a href=\"javascript:\(script)\">link</a>",
            "<object data=\"data:text/html,<script>\(script)</script>\"></object>",
            "<embed src=\"data:image/svg+xml,<svg onload='\(script)'/>\">",
            "<math><mtext></p><script>\(script)</script></mtext></math>",
            "<details open ontoggle=\"\(script)\">",
            "<video><source onerror=\"\(script)\"></video>",
            "<input autofocus onfocus=\"\(script)\">", "<marquee onstart=\"\(script)\">",
            "<template><script>\(script)</script></template>",
            "<noscript><p title=\"</noscript><script>\(script)</script>\">",
            "<style>@import 'http://127.0.0.1:9/'</style><script>\(script)</script>",
            "<link rel=stylesheet href=http://127.0.0.1:9/><script>\(script)</script>",
            "<meta http-equiv=refresh content=\"0;url=javascript:\(script)\">",
            "<base href=\"http://127.0.0.1:9/\"><script>\(script)</script>",
            "<form action=\"javascript:\(script)\"><button>x</button></form>",
            "<!--><script>\(script)</script>-->", "]]><script>\(script)</script>",
            "</title><script>\(script)</script>", "</style><script>\(script)</script>",
            "\"><script>\(script)</script>", "'><script>\(script)</script>",
            "\" autofocus onfocus=\"\(script)\" x=\"", "' onmouseover='\(script)' x='",
            "<scr\u{0}ipt>\(script)</scr\u{0}ipt>", "<SCRIPT\n>\(script)</SCRIPT\t>",
            "<script src=\"http://127.0.0.1:9/\"></script>",
            "<img src=\"http://127.0.0.1:9/pixel\">", "<img src=`x` onerror=`\(script)`>",
            "&lt;script&gt;\(script)&lt;/script&gt;", "&#60;script&#62;\(script)&#60;/script&#62;",
            "\u{2028}<script>\(script)</script>", "<xmp><script>\(script)</script></xmp>",
            "<plaintext><script>\(script)</script>", "<textarea autofocus onfocus=\"\(script)\">",
            "<isindex action=\"javascript:\(script)\">", "<frameset onload=\"\(script)\">",
            "{{constructor.constructor(\"\(script)\")()}}", "${\(script)}", "<%= \(script) %>",
            "<div style=\"background:url(http://127.0.0.1:9/)\">\(script)</div>",
        ]
    }

    private static let others = [
        "From evil@example.com Mon Nov 23 15:03:46 2026\nSubject: forged\n\nbody",
        "text\n\nFrom evil@example.com Mon Nov 23 15:03:46 2026\nFrom: evil\n\nbody",
        ">From quoted\n>>From twice", "\r\nSubject: forged\r\n\r\nbody", "a\rb", "a\u{0}b",
        String(repeating: "x", count: 5_000), String(repeating: "\n", count: 2_000),
        "=?utf-8?B?ZXZpbA==?=", "=HYPERLINK(\"http://127.0.0.1:9/\")", "@SUM(1)", "+1", "-1",
        "\u{202E}txt.exe\u{202C}", "\u{2066}isolated\u{2069}", "\u{200E}\u{200F}\u{61C}marks",
        "\u{1B}[31mred\u{1B}[0m", "\u{1B}]0;title\u{7}", "\u{9B}31m", "\u{85}next line",
        "../../etc/passwd",
        "e\u{301}\u{302}\u{303}", "👩‍👩‍👧‍👦 family", "", " ", "\u{FEFF}BOM", "\u{FFFE}",
    ]

    /// At least 200 texts, all different.
    static let all = (scripts.flatMap { markup($0) } + others).reduce(into: [String]()) {
        if !$0.contains($1) { $0.append($1) }
    }
}
