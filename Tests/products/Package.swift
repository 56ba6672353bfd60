// swift-tools-version: 6.2
import PackageDescription

// Tests of the products beside NTApi, from outside of its package, as a program uses them. What NTApiFoundation changes holds
// for a whole process, so its tests cannot be in that of NTApi's.
let package = Package(
    name: "products",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "SwiftLog", description: "The tests of NTApiLogging."),
        .trait(name: "HTTPTypes", description: "The tests of NTApiHTTPTypes."),
    ],
    dependencies: [
        .package(
            name: "ntapi", path: "../..",
            traits: [
                .trait(name: "SwiftLog", condition: .when(traits: ["SwiftLog"])),
                .trait(name: "HTTPTypes", condition: .when(traits: ["HTTPTypes"])),
            ]),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
    ],
    targets: [
        .testTarget(
            name: "ProductTests",
            dependencies: [
                .product(name: "NTApi", package: "ntapi"),
                .product(name: "NTApiFoundation", package: "ntapi"),
                .product(name: "NTApiLogging", package: "ntapi", condition: .when(traits: ["SwiftLog"])),
                .product(name: "NTApiHTTPTypes", package: "ntapi", condition: .when(traits: ["HTTPTypes"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["SwiftLog"])),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"])),
            ], path: "Tests")
    ],
    swiftLanguageModes: [.v6]
)
