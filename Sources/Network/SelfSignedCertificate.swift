import COpenSSL

/// A self-signed certificate and its key, for simulators and tests on this machine.
///
/// To trust it, a client uses ``certificate`` as its only authority. Uses P-256, which makes handshakes cheap.
package struct SelfSignedCertificate: Sendable {
    /// The default validity, in seconds from now: from an hour ago until 30 days from now.
    package static let usualTime: ClosedRange<Int> = -3_600...(30 * 86_400)

    /// The certificate in PEM.
    package let certificate: [UInt8]
    /// The private key in PEM (PKCS #8), unencrypted.
    ///
    /// Never print it.
    package let privateKey: [UInt8]

    /// Creates a certificate for names (`localhost`) and addresses (`127.0.0.1`) in subjectAltName.
    ///
    /// - Parameter time: The certificate's validity, in seconds from now.
    package init(
        names: [String] = ["localhost"], addresses: [String] = ["127.0.0.1", "::1"],
        validFor time: ClosedRange<Int> = usualTime
    ) throws(NetworkError) {
        guard let key = unsafe relay_EVP_generate_P256(), let x509 = unsafe X509_new() else {
            throw .tls(opensslErrorText())
        }
        defer {
            unsafe EVP_PKEY_free(key)
            unsafe X509_free(x509)
        }
        let alternatives = names.map { "DNS:" + $0 } + addresses.map { "IP:" + $0 }
        guard
            unsafe Self.fill(
                x509, key, names.first ?? "localhost", alternatives.joined(separator: ","), time),
            let certificate = unsafe Self.pem({ unsafe PEM_write_bio_X509($0, x509) }),
            let privateKey = unsafe Self.pem({
                unsafe PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil)
            })
        else { throw .tls(opensslErrorText()) }
        self.certificate = certificate
        self.privateKey = privateKey
    }

    private static func fill(
        _ x509: OpaquePointer, _ key: OpaquePointer, _ name: String, _ alternatives: String,
        _ time: ClosedRange<Int>
    ) -> Bool {
        var serial: UInt64 = 0
        guard unsafe RAND_bytes(&serial, Int32(MemoryLayout<UInt64>.size)) == 1 else { return false }
        unsafe X509_set_version(x509, 2)
        serial >>= 1
        unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial)
        unsafe X509_gmtime_adj(X509_getm_notBefore(x509), time.lowerBound)
        unsafe X509_gmtime_adj(X509_getm_notAfter(x509), time.upperBound)
        let subject = unsafe X509_get_subject_name(x509)
        unsafe X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0)
        // Clients find authorities by name, so a client that trusts two with the same name could try the wrong one.
        unsafe X509_NAME_add_entry_by_txt(subject, "serialNumber", MBSTRING_ASC, String(serial), -1, -1, 0)
        unsafe X509_set_issuer_name(x509, subject)
        unsafe X509_set_pubkey(x509, key)
        return unsafe add(NID_basic_constraints, "critical,CA:TRUE", to: x509)
            && add(NID_key_usage, "critical,digitalSignature,keyCertSign", to: x509)
            && add(NID_subject_alt_name, alternatives, to: x509)
            && X509_sign(x509, key, EVP_sha256()) > 0
    }

    private static func add(_ kind: Int32, _ value: String, to x509: OpaquePointer) -> Bool {
        guard let entry = unsafe X509V3_EXT_conf_nid(nil, nil, kind, value) else { return false }
        defer { unsafe X509_EXTENSION_free(entry) }
        return unsafe X509_add_ext(x509, entry, -1) == 1
    }

    private static func pem(_ write: (OpaquePointer) -> Int32) -> [UInt8]? {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return nil }
        defer { unsafe BIO_free(bio) }
        guard unsafe write(bio) == 1 else { return nil }
        var data: UnsafeMutablePointer<CChar>?
        let length = unsafe relay_BIO_get_mem_data(bio, &data)
        return unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: length))
    }
}
