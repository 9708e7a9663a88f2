import APNs

@testable import Relay

/// Keys in the format of Apple's .p8 files, made only for these tests.
enum TestKey {
    /// A P-256 key.
    static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLo6hW2mJlyX095Vn
        UOZeIWsEXV+m8Sy+VTc6fImnnCGhRANCAATUUAeSQH2gcJ5euR+NMiMiftxKf9BO
        4rW4n6WyRwaK6yxUdy5cA37lh7NHAeY1NScEhd0fZhyVnCmwva4j3PF4
        -----END PRIVATE KEY-----

        """
    /// Another P-256 key.
    static let secondPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZC6SG8vHUGqhLNsI
        qroGhvsCpwStBnk/YzOvNkvz1j2hRANCAAS77Ua1gzDzikGWLWu2sd7o6A1nahow
        2TLZ9+S8c8W8bSKXSyU9ZbGZiRGGApUBeM9zPmSTSGLEC+Vy/Y+yvbDj
        -----END PRIVATE KEY-----

        """
    /// A key on another curve.
    static let p384PEM = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDbo5dJ/vROohxxNkAP
        kNBmyRlAI2QqONxHJ+Xi39KnrNsgK3zl4eYc+BHMznNtdsahZANiAATfaxlM9IZc
        /dbrX2vuqwonuK4qg+7Q20zlupQBNuLD/lSfQfZr/HwoWMB36BF1qRhWVtjTWOVa
        8AWQkXRkyofdWpMLE2ob+/WtnJimb8BYdo2I32fdX+AB+N0sNSYt548=
        -----END PRIVATE KEY-----

        """

    /// The first key with the identifiers of the first team.
    static let first = make("ABCDE12345", "KEY1234567", pem)
    /// The second key with the identifiers of another team.
    static let second = make("ZYXWV98765", "KEY7654321", secondPEM)

    private static func make(_ teamID: String, _ keyID: String, _ pem: String) -> AppKey {
        guard let key = try? AppKey(teamID: teamID, keyID: keyID, text: KeyText(pem)) else {
            preconditionFailure("a key of the tests is no key")
        }
        return key
    }
}
