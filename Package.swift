// swift-tools-version: 6.1
import PackageDescription

// The floors of the house, bottom to top; a target depends only on lower floors,
// and Tests/ArchitectureTests reads every import to hold it to that.
//
//   0  CSodium CKeyutils CBotan CSQLite CPostgres CQREncode CZBar CPNG CJPEG     one module map each
//      CSottoImage                            what C alone can do with libjpeg, zlib and zbar
//   1  Sotto                                  the core: values in, values out
//      Arguments                              the command line
//   2  SottoTool SottoWire SottoQR SottoState
//   3  SottoClient SottoServer                the only importers of NIO
//      SottoContacts                          the address book on the command line
//   4  the programs

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

// Fully static where every library below allows it: about 1 ms to start instead of 5 to 8.
// Needs `swift build -c release --static-swift-stdlib`.
let fullyStatic: [LinkerSetting] = [
    .unsafeFlags(["-static-executable"], .when(configuration: .release))
]

// Without symbols a program is half the size, and starts a half millisecond sooner.
let stripped: [LinkerSetting] = [
    .unsafeFlags(["-Xlinker", "-s"], .when(configuration: .release))
]

// pkg-config would name the shared library in every build.
let sodium: [LinkerSetting] = [
    .linkedLibrary("sodium", .when(configuration: .debug)),
    .linkedLibrary(":libsodium.a", .when(configuration: .release)),
]

// The kernel's keyring, for `keygen unlock`: system calls and nothing more.
let keyutils: [LinkerSetting] = [
    .linkedLibrary("keyutils", .when(configuration: .debug)),
    .linkedLibrary(":libkeyutils.a", .when(configuration: .release)),
]

// Of `decrypt` alone.
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

// libqrencode has no archive on Debian, so `qr` cannot be fully static. Its other libraries have; the
// shared zbar would load X11, D-Bus, systemd and v4l at every start. Hence no pkg-config for these:
// it names the shared libraries in every build.
let pictures: [LinkerSetting] =
    ["zbar", "png16", "jpeg", "z"].flatMap { name -> [LinkerSetting] in
        [
            .linkedLibrary(name, .when(configuration: .debug)),
            .linkedLibrary(":lib\(name).a", .when(configuration: .release)),
        ]
    } + [.linkedLibrary("m")]

// As near to static as a program comes that needs one shared library: no shared C++ runtime, no
// relocation of the program itself, no table of its symbols; together a third of its start.
let nearlyStatic: [LinkerSetting] = [
    .linkedLibrary(":libstdc++.a", .when(configuration: .release)),
    .unsafeFlags(
        [
            "-L\(Context.packageDirectory)/Sources/CSottoImage/link",
            "-Xclang-linker", "-no-pie", "-Xclang-linker", "-static-libgcc",
            "-Xlinker", "--no-export-dynamic",
        ], .when(configuration: .release)),
]

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
]
// What TLS, HTTP and WebSocket need beside it.
let nioWeb: [Target.Dependency] = [
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOWebSocket", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
    .product(name: "NIOTLS", package: "swift-nio"),
]

// Scripts/fuzz sets SOTTO_FUZZ: what parses is then instrumented, and there is a program `fuzz`.
let isFuzzing = Context.environment["SOTTO_FUZZ"] != nil
let core: [SwiftSetting] = strict + (isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])
let coreC: [CSetting] = isFuzzing ? [.unsafeFlags(["-fsanitize=fuzzer-no-link"])] : []

func program(
    _ name: String, _ dependencies: [Target.Dependency], link: [LinkerSetting] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: ["Sotto", "SottoTool", "Arguments"] + dependencies,
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
        .systemLibrary(
            name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CKeyutils", providers: [.apt(["libkeyutils-dev"])]),
        .systemLibrary(name: "CBotan", providers: [.apt(["libbotan-2-dev"])]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        // Shared, also in a release: libpq has no archive of what it needs. Only `relay` links it.
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CZBar", providers: [.apt(["libzbar-dev"])]),
        .systemLibrary(name: "CPNG", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CJPEG", providers: [.apt(["libjpeg-dev"])]),

        .target(
            name: "Sotto",
            dependencies: [
                "CSodium",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: core, linkerSettings: sodium),

        .target(name: "Arguments", swiftSettings: strict),
        .target(
            name: "SottoTool", dependencies: ["Sotto", "Arguments", "CKeyutils"],
            swiftSettings: strict, linkerSettings: keyutils),
        .target(name: "SottoWire", dependencies: ["Sotto"], swiftSettings: core),
        .target(
            name: "CSottoImage", dependencies: ["CJPEG"], exclude: ["link"], cSettings: coreC),
        .target(
            name: "SottoQR", dependencies: ["Sotto", "CQREncode", "CZBar", "CPNG", "CSottoImage"],
            // Pixel by pixel, it takes a hundred times as long unoptimized, and the tests with it.
            swiftSettings: core + [.unsafeFlags(["-O"], .when(configuration: .debug))],
            linkerSettings: pictures),
        .target(
            name: "SottoState", dependencies: ["Sotto", "CSQLite"], swiftSettings: strict,
            linkerSettings: sqlite),

        .target(
            name: "SottoContacts", dependencies: ["Sotto", "SottoTool", "SottoState"],
            swiftSettings: strict),
        .target(
            name: "SottoTransport",
            dependencies: [
                "Sotto", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: strict),
        .target(
            name: "SottoClient",
            dependencies: ["Sotto", "SottoWire", "SottoState", "SottoTransport"] + nio + nioWeb,
            swiftSettings: strict),
        .target(
            name: "SottoServer",
            dependencies: [
                "Sotto", "SottoWire", "SottoState", "SottoTransport", "CPostgres",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ] + nio + nioWeb,
            swiftSettings: strict),

        program("keygen", ["SottoState", "SottoWire"], link: fullyStatic),
        program("encrypt", ["SottoState", "SottoContacts"], link: fullyStatic),
        program("decrypt", ["SottoState", "SottoContacts", "CBotan"], link: botan + fullyStatic),
        program("contact", ["SottoState", "SottoContacts", "SottoWire"], link: fullyStatic),
        program("fingerprint", ["SottoState", "SottoContacts"], link: fullyStatic),
        program("pad", [], link: fullyStatic),
        program("qr", ["SottoQR"], link: nearlyStatic),
        program("send", ["SottoClient", "SottoState", "SottoWire"]),
        program("recv", ["SottoClient", "SottoContacts", "SottoState", "SottoWire"]),
        program("relay", ["SottoServer", "SottoState", "SottoWire"]),
        // A load generator for `make bench`; not installed.
        .executableTarget(
            name: "relay-load",
            dependencies: [
                "Sotto", "SottoWire", "SottoState", "SottoTransport",
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ] + nio, path: "Bench/relay-load", swiftSettings: strict),
        // What the relay survives, for `make faults`; not installed.
        .executableTarget(
            name: "relay-faults",
            dependencies: ["Sotto", "SottoState", "SottoWire", "RelayHarness"],
            path: "Bench/relay-faults", exclude: ["shim"], swiftSettings: strict),
        // Rates of the ratchet for `make bench`; not installed.
        .executableTarget(
            name: "ratchet-bench", dependencies: ["Sotto", "SottoState"], path: "Bench/ratchet",
            swiftSettings: strict),
        program("sotto", [], link: fullyStatic),

        .testTarget(
            name: "ArgumentsTests", dependencies: ["Arguments"], swiftSettings: strict),
        .testTarget(
            name: "SottoQRTests",
            dependencies: [
                "Sotto", "SottoQR", "SottoTool", "TestSupport", "qr", "CJPEG", "CPNG", "CQREncode",
            ],
            exclude: ["Camera/fake_camera.c"], swiftSettings: strict),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "Sotto", "SottoState", "SottoWire", "SottoClient", "SottoServer", "RelayHarness",
                "relay", "send", "recv", "keygen", "encrypt", "decrypt", "relay-load",
                "relay-faults",
            ], swiftSettings: strict),
        // What the tests of the relay and `relay-faults` share: programs, clients, samples, servers.
        .target(
            name: "RelayHarness", dependencies: ["Sotto", "SottoWire"], path: "Tests/RelayHarness",
            swiftSettings: strict),
        .systemLibrary(
            name: "CTestSupport", path: "Tests/CTestSupport", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]),
        // What `make fuzz` gives to libFuzzer, and the tests replay.
        .target(
            name: "FuzzParsers", dependencies: ["Sotto", "SottoQR", "SottoWire"],
            path: "Fuzz/Parsers", swiftSettings: core),
        .target(
            name: "TestSupport", dependencies: ["Sotto", "CTestSupport"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "SottoTests",
            dependencies: [
                "Sotto", "TestSupport", "FuzzParsers",
                .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: strict),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "Sotto", "SottoState", "TestSupport", "keygen", "encrypt", "decrypt", "contact",
                "fingerprint", "pad", "qr", "recv", "sotto", "send", "relay", "RelayHarness",
            ],
            exclude: ["Keyring/no_keyring.c"], swiftSettings: strict),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        // Needs every program: the documents are held to what they say of themselves.
        .testTarget(
            name: "DocumentTests",
            dependencies: [
                "SottoTool", "TestSupport", "keygen", "encrypt", "decrypt", "contact",
                "fingerprint", "pad", "qr", "send", "recv", "relay", "sotto",
            ],
            swiftSettings: strict),
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
