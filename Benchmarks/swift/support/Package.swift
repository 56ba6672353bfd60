// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "support",
    platforms: [.macOS(.v15)],
    products: [.library(name: "BenchSupport", targets: ["BenchSupport"])],
    targets: [.target(name: "BenchSupport")],
    swiftLanguageModes: [.v6]
)
