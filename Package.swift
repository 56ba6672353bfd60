// swift-tools-version: 6.2
import PackageDescription

// Warnings are errors for those who work on the library: `make` sets the variable. A user's build goes on when a newer
// compiler warns.
let warnings: [SwiftSetting] =
    Context.environment["NTAPI_WARNINGS_AS_ERRORS"] == "1" ? [.treatAllWarnings(as: .error)] : []

let strict: [SwiftSetting] =
    warnings + [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .define("NTAPI_NO_LOGGING", .when(traits: ["NoLogging"])),
    ]

let package = Package(
    name: "ntapi",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "NTApi", targets: ["NTApi"]),
        .library(name: "NTApiFoundation", targets: ["NTApiFoundation"]),
        // For tests: it imports Testing.
        .library(name: "NTApiTesting", targets: ["NTApiTesting"]),
        // With the trait SwiftLog.
        .library(name: "NTApiLogging", targets: ["NTApiLogging"]),
        // With the trait HTTPTypes.
        .library(name: "NTApiHTTPTypes", targets: ["NTApiHTTPTypes"]),
        // With the trait Tracing.
        .library(name: "NTApiTracing", targets: ["NTApiTracing"]),
        // With the trait Redis.
        .library(name: "NTApiRedis", targets: ["NTApiRedis"]),
        // What CMakeLists.txt links into libntapi.so.
        .library(name: "NTApiABI", type: .static, targets: ["NTApiABI"]),
    ],
    traits: [
        .trait(name: "NoLogging", description: "Leaves the log lines out: the library writes none."),
        .trait(name: "SwiftLog", description: "NTApiLogging: log lines go to swift-log."),
        .trait(name: "HTTPTypes", description: "NTApiHTTPTypes: conversions to and from swift-http-types."),
        .trait(
            name: "Tracing",
            description: "NTApiTracing: spans with swift-distributed-tracing, and metrics with swift-metrics."),
        .trait(name: "Redis", description: "NTApiRedis: limits on a Redis server. It needs hiredis 1.2."),
    ],
    // Used with a trait only: without it SwiftPM neither fetches nor builds the package.
    dependencies: [
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"]), .brew(["jansson"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CHiredis", pkgConfig: "hiredis_ssl", providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"]), .brew(["openssl"])]),
        .systemLibrary(name: "CScan"),
        .systemLibrary(name: "CNTApiSystem"),
        .systemLibrary(name: "CNTApi", path: "include"),
        .target(
            name: "NTApi", dependencies: ["CCurl", "CJansson", "CZlib", "CScan", "CNTApiSystem"],
            swiftSettings: strict),
        .target(
            name: "NTApiABI", dependencies: ["NTApi", "CNTApi", "CJansson", "CNTApiSystem"], swiftSettings: strict),
        .target(name: "NTApiFoundation", dependencies: ["NTApi"], swiftSettings: strict),
        .target(name: "NTApiTesting", dependencies: ["NTApi"], swiftSettings: strict),
        .target(
            name: "NTApiLogging",
            dependencies: [
                "NTApi", .product(name: "Logging", package: "swift-log", condition: .when(traits: ["SwiftLog"])),
            ], swiftSettings: strict),
        .target(
            name: "NTApiHTTPTypes",
            dependencies: [
                "NTApi",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"])),
            ], swiftSettings: strict),
        .target(
            name: "NTApiTracing",
            dependencies: [
                "NTApi",
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Tracing"])),
            ], swiftSettings: strict),
        .target(
            name: "CNTApiRedis",
            dependencies: [
                .target(name: "CHiredis", condition: .when(traits: ["Redis"])),
                .target(name: "COpenSSL", condition: .when(traits: ["Redis"])),
            ],
            cSettings: [.define("NTAPI_REDIS", .when(traits: ["Redis"])), .define("_GNU_SOURCE")]),
        .target(
            name: "NTApiRedis",
            dependencies: ["NTApi", .target(name: "CNTApiRedis", condition: .when(traits: ["Redis"]))],
            swiftSettings: strict),
        .executableTarget(
            name: "weather", dependencies: ["NTApi"], path: "bindings/swift/examples/weather", swiftSettings: strict),
        .executableTarget(
            name: "byteclub", dependencies: ["NTApi"], path: "bindings/swift/examples/byteclub", swiftSettings: strict),
        .executableTarget(
            name: "qanda", dependencies: ["NTApi"], path: "bindings/swift/examples/qanda", swiftSettings: strict),
        .executableTarget(
            name: "tour", dependencies: ["NTApi"], path: "bindings/swift/examples/tour", swiftSettings: strict),
        .executableTarget(
            name: "transfer", dependencies: ["NTApi"], path: "bindings/swift/examples/transfer", swiftSettings: strict),
        .executableTarget(
            name: "fleet", dependencies: ["NTApi", "NTApiRedis"], path: "bindings/swift/examples/fleet",
            swiftSettings: strict),
        .testTarget(name: "NTApiTests", dependencies: ["NTApi", "CJansson"], swiftSettings: strict),
        .testTarget(
            name: "ExampleTests", dependencies: ["NTApi", "byteclub", "qanda", "weather"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
