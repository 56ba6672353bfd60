import NTApi
import Testing

@Test func versionIsSemantic() {
    #expect(ntapiVersion.split(separator: ".").count == 3)
}

@Test func versionsOfOtherLibrariesAreNamed() {
    let parts = ntapiVersionText.split(separator: " ")
    #expect(parts.first == "ntapi/\(ntapiVersion)")
    #expect(parts.dropFirst().first?.hasPrefix("libcurl/") == true)
}
