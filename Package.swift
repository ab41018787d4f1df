// swift-tools-version: 6.1
import PackageDescription

// The floors of the house, bottom to top; a target depends only on lower floors,
// and Tests/ArchitectureTests reads every import to hold it to that.
//
//   0  CSodium CQREncode CZBar CPNG CJPEG     one module map each
//   1  Sotto                                  the core: values in, values out
//   2  SottoTool SottoWire SottoQR SottoState
//   3  SottoClient SottoServer                the only importers of NIO
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

let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
]

func program(
    _ name: String, _ dependencies: [Target.Dependency], link: [LinkerSetting] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: ["Sotto", "SottoTool", argumentParser] + dependencies,
        swiftSettings: strict, linkerSettings: link)
}

let package = Package(
    name: "sotto",
    products: [
        .library(name: "Sotto", targets: ["Sotto"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(
            name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CZBar", pkgConfig: "zbar", providers: [.apt(["libzbar-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg-dev"])]),

        .target(
            name: "Sotto",
            dependencies: [
                "CSodium",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: strict),

        .target(name: "SottoTool", dependencies: ["Sotto", argumentParser], swiftSettings: strict),
        .target(name: "SottoWire", dependencies: ["Sotto"], swiftSettings: strict),
        .target(
            name: "SottoQR", dependencies: ["Sotto", "CQREncode", "CZBar", "CPNG", "CJPEG"],
            swiftSettings: strict),
        .target(
            name: "SottoState", dependencies: ["Sotto", grdb, sqlite], swiftSettings: strict),

        .target(
            name: "SottoClient", dependencies: ["Sotto", "SottoWire", "SottoState"] + nio,
            swiftSettings: strict),
        .target(
            name: "SottoServer", dependencies: ["Sotto", "SottoWire", "SottoState"] + nio,
            swiftSettings: strict),

        program("keygen", [], link: fullyStatic),
        program("encrypt", [], link: fullyStatic),
        program("decrypt", ["SottoState"], link: fullyStatic),
        program("fingerprint", [], link: fullyStatic),
        program("pad", [], link: fullyStatic),
        program("qr", ["SottoQR"]),
        program("send", ["SottoClient", "SottoState", "SottoWire"]),
        program("recv", ["SottoClient", "SottoState", "SottoWire"]),
        program("relay", ["SottoServer", "SottoWire"]),
        program("sotto", [], link: fullyStatic),

        .systemLibrary(
            name: "CTestSupport", path: "Tests/CTestSupport", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "TestSupport", dependencies: ["Sotto", "CTestSupport"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "SottoTests", dependencies: ["Sotto", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "Sotto", "SottoState", "TestSupport", "keygen", "encrypt", "decrypt", "fingerprint",
                "pad",
                "sotto",
            ],
            swiftSettings: strict),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
