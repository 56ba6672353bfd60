// swift-tools-version: 6.2
import PackageDescription

// NTAPI_PACKAGE measures the sources of another working copy.
let ntapi = Context.environment["NTAPI_PACKAGE"] ?? "../../.."

let package = Package(
    name: "ours",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ntapi", path: ntapi), .package(path: "../support")],
    targets: [
        .executableTarget(
            name: "ntapi-swift",
            dependencies: [
                .product(name: "BenchSupport", package: "support"), .product(name: "NTApi", package: "ntapi"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
