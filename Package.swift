// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
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
        // What CMakeLists.txt links into libntapi.so.
        .library(name: "NTApiABI", type: .static, targets: ["NTApiABI"]),
    ],
    traits: [.trait(name: "NoLogging", description: "Leaves the log lines out: the library writes none.")],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"]), .brew(["jansson"])]),
        .systemLibrary(name: "CScan"),
        .systemLibrary(name: "CNTApiSystem"),
        .systemLibrary(name: "CNTApi", path: "include"),
        .target(name: "NTApi", dependencies: ["CCurl", "CJansson", "CScan", "CNTApiSystem"], swiftSettings: strict),
        .target(
            name: "NTApiABI", dependencies: ["NTApi", "CNTApi", "CJansson", "CNTApiSystem"], swiftSettings: strict),
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
        .testTarget(name: "NTApiTests", dependencies: ["NTApi", "CJansson"], swiftSettings: strict),
        .testTarget(
            name: "ExampleTests", dependencies: ["NTApi", "byteclub", "qanda", "weather"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
