internal import COpenSSL

/// Key agreement on the curve P-256.
///
/// Calls the curve arithmetic directly: OpenSSL 3.0's `EVP_PKEY` functions spend more time looking up their providers
/// than computing. All multiplications by a secret take constant time.
package enum P256 {
    /// The size of a private scalar and of a shared secret, in bytes.
    package static let scalarBytes = 32
    /// The size of a public key, in bytes: 04, x and y (SEC 1, section 2.3.3, uncompressed).
    package static let publicKeyBytes = 65

    /// A random private scalar.
    package static func randomScalar(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        while true {
            let scalar = RandomBytes.make(scalarBytes, using: &generator)
            if isScalar(scalar) { return scalar }
        }
    }

    /// Whether the bytes are a private key: 32 bytes, with 0 < scalar < the group's order.
    package static func isScalar(_ bytes: [UInt8]) -> Bool {
        bytes.count == scalarBytes && bytes.contains { $0 != 0 } && bytes.lexicographicallyPrecedes(order)
    }

    /// Whether bytes are a usable public key: uncompressed and on the curve.
    package static func isPublicKey(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == publicKeyBytes, bytes[0] == 4, let work = Work() else { return false }
        return work.decode(bytes)
    }

    /// The public key for a private scalar; `nil` if the scalar is out of range.
    package static func publicKey(of scalar: [UInt8]) -> [UInt8]? {
        guard isScalar(scalar), let work = Work() else { return nil }
        return work.multiplyBase(by: scalar)
    }

    /// ECDH: the x coordinate of the shared point; `nil` if the scalar or the public key is invalid.
    package static func sharedSecret(_ scalar: [UInt8], with publicKey: [UInt8]) -> [UInt8]? {
        guard isScalar(scalar), publicKey.count == publicKeyBytes, publicKey[0] == 4, let work = Work(),
            work.decode(publicKey)
        else { return nil }
        return work.multiplyPoint(by: scalar)
    }

    /// The number of points on the curve (SEC 2, section 2.4.2).
    private static let order: [UInt8] =
        [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8)
        + [0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51]

    /// The context and the point for one calculation.
    @safe private final class Work {
        private let context: OpaquePointer
        private let point: OpaquePointer

        init?() {
            guard let group = unsafe P256.group.pointer, let context = unsafe BN_CTX_secure_new() else {
                return nil
            }
            guard let point = unsafe EC_POINT_new(group) else {
                unsafe BN_CTX_free(context)
                return nil
            }
            unsafe self.context = context
            unsafe self.point = point
        }

        deinit {
            unsafe EC_POINT_clear_free(point)
            unsafe BN_CTX_free(context)
        }

        /// Sets the point; false if the bytes aren't a point on the curve.
        func decode(_ bytes: [UInt8]) -> Bool {
            defer { ERR_clear_error() }
            return unsafe EC_POINT_oct2point(P256.group.pointer, point, bytes, bytes.count, context) == 1
        }

        func multiplyBase(by scalar: [UInt8]) -> [UInt8]? {
            defer { ERR_clear_error() }
            let number = unsafe BN_bin2bn(scalar, Int32(scalar.count), nil)
            defer { unsafe BN_clear_free(number) }
            var bytes = [UInt8](repeating: 0, count: publicKeyBytes)
            guard unsafe EC_POINT_mul(P256.group.pointer, point, number, nil, nil, context) == 1,
                unsafe EC_POINT_point2oct(
                    P256.group.pointer, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, context)
                    == bytes.count
            else { return nil }
            return bytes
        }

        func multiplyPoint(by scalar: [UInt8]) -> [UInt8]? {
            defer { ERR_clear_error() }
            let number = unsafe BN_bin2bn(scalar, Int32(scalar.count), nil)
            defer { unsafe BN_clear_free(number) }
            let x = unsafe BN_new()
            defer { unsafe BN_clear_free(x) }
            var bytes = [UInt8](repeating: 0, count: scalarBytes)
            guard unsafe EC_POINT_mul(P256.group.pointer, point, nil, point, number, context) == 1,
                unsafe EC_POINT_get_affine_coordinates(P256.group.pointer, point, x, nil, context) == 1,
                unsafe BN_bn2binpad(x, &bytes, Int32(bytes.count)) == bytes.count
            else { return nil }
            return bytes
        }
    }

    /// OpenSSL's description of the curve.
    @safe private struct Group: @unchecked Sendable {  // why: nothing changes it after its creation
        let pointer: OpaquePointer?

        init() { unsafe pointer = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) }
    }

    private static let group = Group()
}

/// Random bytes from a generator.
package enum RandomBytes {
    /// Makes `count` bytes.
    package static func make(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            var word = generator.next()
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
