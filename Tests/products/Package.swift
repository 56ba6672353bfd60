// swift-tools-version: 6.2
import PackageDescription

// Tests of the products beside NTApi, from outside of its package, as a program uses them. NTApiFoundation changes the
// whole process, so its tests cannot run in the process of NTApi's tests. NTAPI_ADAPTERS=0 leaves out the products that
// need other packages, and NTAPI_REDIS=0 leaves out NTApiRedis, which needs hiredis.
let hasAdapters = Context.environment["NTAPI_ADAPTERS"] != "0"

let hasRedis = Context.environment["NTAPI_REDIS"] != "0"
let traits = (hasAdapters ? ["SwiftLog", "HTTPTypes", "Tracing"] : []) + (hasRedis ? ["Redis"] : [])

func ifAdapters<Element>(_ elements: Element...) -> [Element] { hasAdapters ? elements : [] }

let package = Package(
    name: "products",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ntapi", path: "../..", traits: Set(traits.map { .init(name: $0) }))
    ]
        + ifAdapters(
            .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
            .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
            // The first version with InMemoryTracing.
            .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.3.0"),
            .package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0")),
    targets: [
        .testTarget(
            name: "ProductTests",
            dependencies: [
                .product(name: "NTApi", package: "ntapi"),
                .product(name: "NTApiFoundation", package: "ntapi"),
                .product(name: "NTApiTesting", package: "ntapi"),
            ]
                + (hasRedis ? [.product(name: "NTApiRedis", package: "ntapi")] : [])
                + ifAdapters(
                    .product(name: "NTApiLogging", package: "ntapi"),
                    .product(name: "NTApiHTTPTypes", package: "ntapi"),
                    .product(name: "NTApiTracing", package: "ntapi"),
                    .product(name: "Logging", package: "swift-log"),
                    .product(name: "HTTPTypes", package: "swift-http-types"),
                    .product(name: "Tracing", package: "swift-distributed-tracing"),
                    .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                    .product(name: "MetricsTestKit", package: "swift-metrics")),
            path: "Tests", exclude: ["recordings"],
            swiftSettings: traits.map { .define($0) })
    ],
    swiftLanguageModes: [.v6]
)
