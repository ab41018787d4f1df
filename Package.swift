// swift-tools-version: 6.1
import PackageDescription

// The layers, bottom to top. A target depends only on lower layers, and Tests/ArchitectureTests checks every import for
// that.
//
//   0  CSodium COpenSSL CUTF8Proc CKeyutils CBotan CSQLite CPostgres CQREncode CZBar CPNG CJPEG CMagic CSndFile CSeccomp CLinux   one module map each
//      CSottoJPEG CSottoSandbox               C code for libjpeg and libseccomp
//      CWordlists CConfusables                the BIP 39 word lists, the confusable characters of Unicode
//   1  SottoBytes                             bytes, text, JSON and guarded memory
//      SottoPadding                           hiding lengths
//      Sotto                                  the core: values in, values out
//      SottoDatabase                          SQLite, locks, the monotonic clock
//      Arguments                              the command line
//   2  SottoProgram                           what all programs do, without cryptography
//      SottoTool                              what programs with the core do
//      SottoWire SottoQR SottoState
//      SottoMedia                             records about attached files
//      SottoNetwork                           TLS, WebSocket and HTTP of both ends
//      SottoOpenSSL                           ChaCha20-Poly1305 of long files
//   3  SottoClient SottoServer                with SottoNetwork the only importers of NIO
//      SottoContacts                          the address book on the command line
//      SottoMessages                          opening and sealing messages, attachments, bodies about groups
//      SottoChat                              the chat of people as a value: events in, effects and screens out
//      SottoMessengers                        the five messengers, a plug-in of `bridge` and `contact`
//      SottoScan                              reading pictures, which only `qr-scan` links
//   4  the programs

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

// Fully static linking, which needs an archive of every library: a start takes about 1 ms instead of 5 to 8.
// Needs `swift build -c release --static-swift-stdlib`.
let fullyStatic: [LinkerSetting] = [
    .unsafeFlags(["-static-executable"], .when(configuration: .release))
]

// Without symbols a program is half the size and starts half a millisecond faster.
let stripped: [LinkerSetting] = [
    .unsafeFlags(["-Xlinker", "-s"], .when(configuration: .release))
]

// pkg-config would select the shared library in every build.
let sodium: [LinkerSetting] = [
    .linkedLibrary("sodium", .when(configuration: .debug)),
    .linkedLibrary(":libsodium.a", .when(configuration: .release)),
]

// Unicode's normalization of phrases and names.
let utf8proc: [LinkerSetting] = [
    .linkedLibrary("utf8proc", .when(configuration: .debug)),
    .linkedLibrary(":libutf8proc.a", .when(configuration: .release)),
]

// ChaCha20-Poly1305 of long files, for `encrypt` and `decrypt`.
let openSSL: [LinkerSetting] = [
    .linkedLibrary("crypto", .when(configuration: .debug)),
    .linkedLibrary(":libcrypto.a", .when(configuration: .release)),
]

// The kernel's keyring, for `keygen unlock`. The library only makes system calls.
let keyutils: [LinkerSetting] = [
    .linkedLibrary("keyutils", .when(configuration: .debug)),
    .linkedLibrary(":libkeyutils.a", .when(configuration: .release)),
]

// Used only by `decrypt`.
let botan: [LinkerSetting] = [
    .linkedLibrary("botan-2", .when(configuration: .debug)),
    .linkedLibrary(":libbotan-2.a", .when(configuration: .release)),
    .linkedLibrary(":libstdc++.a", .when(configuration: .release)),
]

let sqlite: [LinkerSetting] = [
    .linkedLibrary("sqlite3", .when(configuration: .debug)),
    .linkedLibrary(":libsqlite3.a", .when(configuration: .release)),
    .linkedLibrary("m"),
]

// Debian has no archive of libqrencode, so `qr` cannot be fully static. libpng, which writes its pictures, has one. It
// does not use pkg-config, which would select the shared library in every build.
let pictures: [LinkerSetting] =
    ["png16", "z"].flatMap { name -> [LinkerSetting] in
        [
            .linkedLibrary(name, .when(configuration: .debug)),
            .linkedLibrary(":lib\(name).a", .when(configuration: .release)),
        ]
    } + [.linkedLibrary("m")]

// For a program that needs shared libraries: it has no shared C++ runtime, and exports no symbols.
let staticCPlusPlus: [LinkerSetting] = [
    .linkedLibrary(":libstdc++.a", .when(configuration: .release)),
    .unsafeFlags(
        [
            "-L\(Context.packageDirectory)/Sources/qr/link", "-Xclang-linker", "-static-libgcc",
            "-Xlinker", "--no-export-dynamic",
        ], .when(configuration: .release)),
]

// The same without relocation of the program itself. Both together save a third of the start-up time.
let nearlyStatic: [LinkerSetting] =
    staticCPlusPlus + [
        .unsafeFlags(["-Xclang-linker", "-no-pie"], .when(configuration: .release))
    ]

let clients: [Target.Dependency] = [
    "SottoClient", "SottoState", "SottoWire",
]
// For the two programs that know accounts in other messengers.
let accounts: [Target.Dependency] = [
    "SottoMessengers", "SottoState", "SottoContacts", "SottoWire",
]
// For the programs with NIO. They stay relocatable, because they read hostile input; their hundred thousand relocations
// are packed, which needs glibc 2.36 or newer. Functions are folded only if no object needs their addresses.
let packed: [LinkerSetting] =
    staticCPlusPlus + [
        .unsafeFlags(
            [
                "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
                "-Xlinker", "--icf=safe",
            ], .when(configuration: .release))
    ]

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
]
// The additional products for TLS, HTTP and WebSocket.
let nioWeb: [Target.Dependency] = [
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOWebSocket", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
    .product(name: "NIOTLS", package: "swift-nio"),
]

// With SOTTO_FUZZ, which Scripts/fuzz sets, the parsers are instrumented and the program `fuzz` is built.
let isFuzzing = Context.environment["SOTTO_FUZZ"] != nil
// Unoptimized loops over bytes and pixels are ten to a hundred times slower, and so are the tests.
let optimized: [SwiftSetting] = strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]
let core: [SwiftSetting] = optimized + (isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])
let coreC: [CSetting] = isFuzzing ? [.unsafeFlags(["-fsanitize=fuzzer-no-link"])] : []

/// A program with the core.
func program(
    _ name: String, _ dependencies: [Target.Dependency], link: [LinkerSetting] = []
) -> Target {
    plainProgram(name, ["Sotto", "SottoTool"] + dependencies, link: link)
}

/// A program that encrypts nothing. It links no cryptography except random bytes.
func plainProgram(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
    link: [LinkerSetting] = []
) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["SottoBytes", "SottoProgram", "Arguments"] + dependencies,
        exclude: exclude,
        swiftSettings: strict, linkerSettings: link + stripped)
}

let package = Package(
    name: "sotto",
    products: [
        .library(name: "Sotto", targets: ["Sotto"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
    ],
    targets: [
        .systemLibrary(name: "CSodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CUTF8Proc", providers: [.apt(["libutf8proc-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CKeyutils", providers: [.apt(["libkeyutils-dev"])]),
        .systemLibrary(name: "CBotan", providers: [.apt(["libbotan-2-dev"])]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        // Shared even in a release build: libpq's dependencies have no archives. Only `relay` links it.
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CPNG", providers: [.apt(["libpng-dev"])]),
        // Shared even in a release build; only `qr-scan` links them.
        .systemLibrary(name: "CZBar", pkgConfig: "zbar", providers: [.apt(["libzbar-dev"])]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg-dev"])]),
        .systemLibrary(name: "CMagic", pkgConfig: "libmagic", providers: [.apt(["libmagic-dev"])]),
        // Only the header: the program loads the library itself.
        .systemLibrary(name: "CSndFile", providers: [.apt(["libsndfile1-dev"])]),
        // A declaration that the module Glibc does not have.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),

        .target(name: "CWordlists", exclude: ["lists"]),
        .target(name: "CConfusables"),
        .target(
            name: "SottoBytes", dependencies: ["CSodium", "CWordlists"], swiftSettings: core,
            linkerSettings: sodium),
        .target(
            name: "SottoPadding", dependencies: ["CSodium", "SottoBytes"], swiftSettings: core),
        .target(
            name: "Sotto",
            dependencies: [
                "CSodium", "CUTF8Proc", "CWordlists", "CConfusables", "SottoBytes", "SottoPadding",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: core, linkerSettings: utf8proc),

        .target(name: "Arguments", swiftSettings: strict),
        .target(
            name: "SottoProgram",
            dependencies: ["SottoBytes", "SottoPadding", "Arguments", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "SottoTool",
            dependencies: ["Sotto", "SottoProgram", "Arguments", "CKeyutils"],
            swiftSettings: strict, linkerSettings: keyutils),
        .target(
            name: "SottoOpenSSL", dependencies: ["Sotto", "COpenSSL"], swiftSettings: strict,
            linkerSettings: openSSL),
        .target(name: "SottoWire", dependencies: ["Sotto"], swiftSettings: core),
        .target(name: "CSottoJPEG", dependencies: ["CJPEG"], cSettings: coreC),
        .target(name: "CSottoSandbox", dependencies: ["CSeccomp"]),
        .target(
            name: "SottoQR", dependencies: ["SottoBytes", "CSodium", "CQREncode", "CPNG"],
            swiftSettings: core,
            linkerSettings: pictures),
        .target(
            name: "SottoScan",
            dependencies: [
                "SottoBytes", "SottoMedia", "SottoQR", "CZBar", "CPNG", "CSottoJPEG",
                "CMagic", "CSndFile",
            ],
            swiftSettings: core),
        .target(name: "SottoMedia", dependencies: ["SottoBytes"], swiftSettings: strict),
        .target(
            name: "SottoMessengers",
            dependencies: [
                "CSodium", "Sotto", "SottoBytes", "SottoContacts", "SottoPadding", "SottoState",
                "SottoTool",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ], swiftSettings: core),
        .target(
            name: "SottoDatabase", dependencies: ["CSQLite", "SottoBytes"], swiftSettings: strict,
            linkerSettings: sqlite),
        .target(
            name: "SottoState", dependencies: ["CLinux", "Sotto", "SottoDatabase"],
            swiftSettings: optimized),

        .target(
            name: "SottoContacts",
            dependencies: [
                "Sotto", "Arguments", "SottoTool", "SottoState", "SottoWire",
            ],
            swiftSettings: strict),
        .target(
            name: "SottoMessages",
            dependencies: [
                "Sotto", "Arguments", "SottoContacts", "SottoMedia", "SottoTool", "SottoState",
            ],
            swiftSettings: strict),
        .target(
            name: "SottoChat",
            dependencies: ["CUTF8Proc", "Sotto", "SottoBytes", "SottoMedia", "SottoProgram"],
            swiftSettings: core),
        .target(
            name: "SottoNetwork",
            dependencies: [
                "Sotto", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: strict),
        .target(
            name: "SottoClient",
            dependencies: [
                "Sotto", "SottoDatabase", "SottoWire", "SottoState",
                "SottoNetwork", "SottoProgram",
            ] + nio + nioWeb,
            swiftSettings: strict),
        .target(
            name: "SottoServer",
            dependencies: [
                "Sotto", "SottoDatabase", "SottoProgram", "SottoWire", "SottoNetwork", "CPostgres",
                "CLinux",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ] + nio + nioWeb,
            resources: [.embedInCode("Postgres/sotto.sql")], swiftSettings: strict),

        program("keygen", ["SottoState", "SottoContacts", "SottoWire"], link: fullyStatic),
        program("bridge", accounts + ["SottoMessages", "SottoOpenSSL"], link: fullyStatic),
        program(
            "encrypt", ["SottoState", "SottoContacts", "SottoMessages", "SottoOpenSSL"],
            link: fullyStatic),
        program(
            "decrypt", ["SottoState", "SottoContacts", "SottoMessages", "SottoOpenSSL", "CBotan"],
            link: botan + fullyStatic),
        program("contact", accounts + ["SottoMessages"], link: fullyStatic),
        plainProgram("chat", ["Sotto", "SottoChat"], link: fullyStatic),
        program("compose", ["SottoState", "SottoContacts", "SottoMessages"], link: fullyStatic),
        program(
            "group", ["SottoState", "SottoContacts", "SottoMessages", "SottoWire"],
            link: fullyStatic),
        program(
            "device", ["SottoState", "SottoContacts", "SottoMessages", "SottoWire"],
            link: fullyStatic),
        program(
            "fingerprint", ["SottoState", "SottoContacts", "SottoMessages"], link: fullyStatic),
        program(
            "history", ["SottoContacts", "SottoDatabase", "SottoMessages", "SottoState"],
            link: fullyStatic),
        plainProgram("pad", ["SottoPadding"], link: fullyStatic),
        plainProgram("qr", ["SottoQR"], exclude: ["link"], link: nearlyStatic),
        // Reads pictures for `qr`, in a restricted process. It stays relocatable, because it reads hostile input.
        .executableTarget(
            name: "qr-scan",
            dependencies: ["SottoBytes", "SottoMedia", "SottoQR", "SottoScan", "CSottoSandbox"],
            swiftSettings: strict, linkerSettings: staticCPlusPlus + stripped),
        program("send", clients, link: packed),
        program(
            "recv", clients + ["SottoContacts", "SottoDatabase", "SottoMessages"], link: packed),
        program(
            "relay", ["SottoServer", "SottoDatabase", "SottoWire"],
            link: packed),
        // For `make build` and `make bench`: one build plans once, and uses all processors.
        .target(
            name: "programs",
            dependencies: [
                "bridge", "chat", "compose", "contact", "decrypt", "device", "encrypt",
                "fingerprint", "group", "history", "keygen", "pad", "qr", "qr-scan", "recv",
                "relay", "send",
                "sotto",
            ], swiftSettings: strict),
        .target(
            name: "benchmarks",
            dependencies: [
                "bench-page", "group-bench", "history-bench", "ratchet-bench", "relay-load",
            ],
            path: "Bench/benchmarks", swiftSettings: strict),
        // The picture of the results of `make bench`, and the exponents of its part growth; not installed.
        .executableTarget(name: "bench-page", path: "Bench/page", swiftSettings: strict),
        // A load generator for `make bench`; not installed.
        .executableTarget(
            name: "relay-load",
            dependencies: [
                "Sotto", "SottoDatabase", "SottoWire", "SottoNetwork",
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ] + nio, path: "Bench/relay-load", swiftSettings: strict),
        // The fault injection for `make faults`; not installed.
        .executableTarget(
            name: "relay-faults",
            dependencies: ["Sotto", "SottoDatabase", "SottoWire", "TestHarness"],
            path: "Bench/relay-faults", exclude: ["shim"], swiftSettings: strict),
        // Rates of the ratchet for `make bench`; not installed.
        .executableTarget(
            name: "ratchet-bench", dependencies: ["Sotto", "SottoState"], path: "Bench/ratchet",
            swiftSettings: strict),
        // Folds abstract logs of groups, to compare the rules with other implementations; not installed.
        .executableTarget(
            name: "group-fold", dependencies: ["Sotto", "SottoBytes"], path: "Bench/group-fold",
            swiftSettings: strict),
        // Fills a state for the rates of `history` in `make bench`; not installed.
        .executableTarget(
            name: "history-bench",
            dependencies: ["Sotto", "SottoState", "SottoTool", "TestHarness"],
            path: "Bench/history",
            swiftSettings: strict),
        // Makes large groups and long logs for `make bench`; not installed.
        .executableTarget(
            name: "group-bench",
            dependencies: ["Sotto", "SottoState", "SottoTool", "TestHarness"],
            path: "Bench/group-bench",
            swiftSettings: strict),
        // Takes steps with known secrets, and waits until a test has searched its memory; not installed.
        .executableTarget(
            name: "secret-probe", dependencies: ["Sotto", "TestHarness"], path: "Tests/SecretProbe",
            swiftSettings: strict),
        plainProgram("sotto", [], link: fullyStatic),

        .testTarget(
            name: "ArgumentsTests", dependencies: ["Arguments"], swiftSettings: strict),
        .testTarget(
            name: "SottoQRTests",
            dependencies: [
                "Sotto", "SottoMedia", "SottoQR", "SottoScan", "SottoTool", "TestSupport", "qr",
                "qr-scan",
                "FuzzParsers", "CJPEG", "CPNG", "CQREncode",
            ],
            exclude: ["Camera/fake_camera.c", "Process/attempts.c"], swiftSettings: strict),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "Sotto", "SottoDatabase", "SottoState", "SottoWire", "SottoClient", "SottoServer",
                "SottoNetwork", "SottoProgram", "TestSupport",
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                "relay", "send", "recv", "keygen", "bridge", "contact", "compose", "device",
                "encrypt", "decrypt",
                "history", "sotto", "relay-load", "relay-faults",
            ], swiftSettings: strict),
        // The code that the tests and `relay-faults` share: programs, files, clients, samples, servers. TestSupport
        // exports it.
        .target(
            name: "TestHarness",
            dependencies: ["CSodium", "Sotto", "SottoProgram", "SottoWire", "CTestSupport"],
            path: "Tests/TestHarness", swiftSettings: strict),
        .systemLibrary(
            name: "CTestSupport", path: "Tests/CTestSupport", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]),
        // The parsers for `make fuzz` and for the tests that replay its corpus.
        .target(
            name: "FuzzParsers",
            dependencies: [
                "Sotto", "SottoChat", "SottoMessengers", "SottoOpenSSL", "SottoPadding", "SottoQR",
                "SottoScan", "SottoWire",
            ],
            path: "Fuzz/Parsers", swiftSettings: core),
        .target(
            name: "TestSupport",
            dependencies: ["Sotto", "SottoProgram", "TestHarness", "CTestSupport"],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "SottoTests",
            dependencies: [
                "Sotto", "SottoMessengers", "SottoOpenSSL", "SottoPadding", "TestSupport",
                "FuzzParsers", "secret-probe",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ], swiftSettings: strict),
        .testTarget(
            name: "SottoMessengersTests",
            dependencies: [
                "Sotto", "SottoPadding", "SottoMessengers", "SottoState", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "Sotto", "SottoMessengers", "SottoContacts", "SottoDatabase", "SottoMessages",
                "SottoProgram",
                "SottoState", "SottoTool", "TestSupport", "keygen", "bridge", "encrypt", "decrypt",
                "contact",
                "chat", "compose", "device", "fingerprint", "group", "history", "pad", "qr",
                "qr-scan",
                "recv",
                "sotto",
                "send",
                "relay",
            ],
            exclude: ["Keyring/no_keyring.c"], swiftSettings: strict),
        .testTarget(
            name: "ChatTests",
            dependencies: ["Sotto", "SottoBytes", "SottoChat", "SottoMedia", "SottoProgram"],
            exclude: ["Screens"], swiftSettings: strict),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        // Needs every program: it compares the documents with the programs' own help.
        .testTarget(
            name: "DocumentTests",
            dependencies: [
                "SottoTool", "TestSupport", "keygen", "bridge", "encrypt", "decrypt", "contact",
                "chat", "compose", "device", "fingerprint", "group", "history", "pad", "qr", "send",
                "recv",
                "relay",
                "sotto",
                "bench-page",
            ],
            exclude: ["Pictures"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

if isFuzzing {
    package.targets.append(
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzParsers"], path: "Fuzz/Driver",
            swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]))
}
