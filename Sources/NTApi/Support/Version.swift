public let ntapiVersion = "0.1.0"
