import COpenSSL
import Glibc

/// The validity and issuer of a certificate, for diagnostics.
package struct Certificate: Sendable, Hashable {
    /// The start of the certificate's validity, in seconds since 1970.
    package let notBefore: Int64
    /// The end of the certificate's validity, in seconds since 1970.
    package let notAfter: Int64
    /// Whether the next certificate in the file issued this one; nil for the last one.
    package let isIssuedByNext: Bool?

    /// Creates a certificate from its parts.
    package init(notBefore: Int64, notAfter: Int64, isIssuedByNext: Bool?) {
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.isIssuedByNext = isIssuedByNext
    }

    /// Reads the certificates in a PEM file, in order; returns at least one.
    package static func chain(ofFile path: String) throws(NetworkError) -> [Certificate] {
        let pem = try contents(ofFile: path)
        defer { ERR_clear_error() }
        guard let bio = unsafe BIO_new_mem_buf(pem, Int32(pem.count)) else { throw .badCertificate(path) }
        var chain = unsafe [OpaquePointer]()
        defer {
            unsafe BIO_free(bio)
            unsafe chain.forEach { unsafe X509_free($0) }
        }
        while let next = unsafe PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) {
            unsafe chain.append(next)
        }
        var certificates: [Certificate] = []
        for index in unsafe chain.indices {
            let certificate = unsafe chain[index]
            let next = unsafe index + 1 < chain.count ? chain[index + 1] : nil
            guard let from = unsafe seconds(X509_get0_notBefore(certificate)),
                let to = unsafe seconds(X509_get0_notAfter(certificate))
            else { throw .badCertificate(path) }
            certificates.append(
                unsafe Certificate(
                    notBefore: from, notAfter: to,
                    isIssuedByNext: next.map { unsafe X509_check_issued($0, certificate) == X509_V_OK }))
        }
        guard !certificates.isEmpty else { throw .badCertificate(path) }
        return certificates
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return unsafe Int64(timegm(&parts))
    }
}
