// Returns the same garbage for every argument when optimised by Swift 6.3: the bytes of a variable are read through its
// own address as another type, and the optimiser drops the store to the variable. A correct compiler prints "right".

typealias Bytes = (UInt8, UInt8, UInt8, UInt8)

@inline(never)
func number(_ pointer: UnsafePointer<Bytes>) -> UInt32 {
    var bytes = pointer.pointee
    return withUnsafeBytes(of: &bytes) { UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
}

@main
struct Main {
    static func main() {
        let pointer = UnsafeMutablePointer<Bytes>.allocate(capacity: 1)
        var found: [UInt32] = []
        for byte: UInt8 in 1...3 {
            pointer.pointee = (byte, byte, byte, byte)
            found.append(number(pointer))
        }
        print(found == [0x0101_0101, 0x0202_0202, 0x0303_0303] ? "right" : "wrong: \(found)")
    }
}
