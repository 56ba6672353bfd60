// swift-tools-version: 6.2
import PackageDescription

// NTAPI_PACKAGE measures the sources of another working copy.
let ntapi = Context.environment["NTAPI_PACKAGE"] ?? "../../.."

let support = Target.Dependency.product(name: "BenchSupport", package: "support")
let library = Target.Dependency.product(name: "NTApi", package: "ntapi")
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "ours",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ntapi", path: ntapi), .package(path: "../support")],
    targets: [
        .executableTarget(name: "ntapi-swift", dependencies: [support, library], swiftSettings: strict),
        .executableTarget(name: "decode", dependencies: [support, library], swiftSettings: strict),
        .executableTarget(name: "json-bench", dependencies: [library], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
