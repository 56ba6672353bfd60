// swift-tools-version: 6.2
import PackageDescription

// The programs of docs/frameworks.md. They are a package of their own: NTApi knows neither Hummingbird nor NIO.
let package = Package(
    name: "frameworks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ntapi", path: "../../../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
    ],
    targets: [
        .executableTarget(
            name: "hummingbird-app",
            dependencies: [
                .product(name: "NTApi", package: "ntapi"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "hummingbird-app"),
        .executableTarget(
            name: "nio-server",
            dependencies: [
                .product(name: "NTApi", package: "ntapi"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "nio-server"),
    ],
    swiftLanguageModes: [.v6]
)
